import ErrandJSON
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A server's description of a problem, in the format of RFC 9457.
///
///     if let problem = rejection.problem, problem.type == "https://example.com/probs/out-of-credit" {
///         let account = try rejection.decodeBody(as: OutOfCredit.self)
///         print(account)
///     }
///
/// It is read from a body of at most 1 MiB. The texts are cut after 500 characters, and have neither secrets that the
/// call sent nor control characters. Members that an API adds are in the body: ``Rejection/decodeBody(as:)`` decodes
/// them. A member of another type than the standard says counts as missing.
public struct Problem: Sendable, Hashable {
    /// A URI that says which kind of problem it is, as the server has written it; `about:blank`, the default, says no
    /// more than the status.
    public let type: String
    /// A summary of this kind of problem.
    public let title: String?
    /// The status that the server meant; a proxy may have changed that of the response.
    public let status: Int?
    /// What is wrong this time.
    public let detail: String?
    /// A URI of this occurrence.
    public let instance: String?

    /// Reads a problem; `nil` if the response has another content type, is larger, or is not a JSON object.
    init?(_ body: Data, _ headers: HTTPHeaders, shown: (String) -> String) {
        guard let type = headers["Content-Type"], MediaType(type).isNamed("application/problem+json"),
            body.count <= ErrorBody.largestBody,
            // Why it is not one is of no interest: the status says what happened.
            let members = try? FastJSONDecoder().read(body, { $0.isObject ? try Members($0) : nil })
        else { return nil }
        self.type = members.texts["type"].map(shown) ?? "about:blank"
        (title, detail) = (members.texts["title"].map(shown), members.texts["detail"].map(shown))
        instance = members.texts["instance"].map(shown)
        status = members.status
    }

    /// The members that the standard names.
    private struct Members {
        private static let names = ["type", "title", "detail", "instance"]

        var texts: [String: String] = [:]
        var status: Int?

        init(_ node: JSONNode) throws {
            try node.forEachMember { name, value in
                if name == "status" {
                    status = status ?? value.integer()
                } else if Self.names.contains(name), texts[name] == nil {
                    texts[name] = try value.text()
                }
            }
        }
    }
}

extension Rejection {
    /// The server's description of the problem; `nil` unless the response is `application/problem+json`.
    public var problem: Problem? {
        Problem(body, headers) { shown.value?($0) ?? $0.printable }
    }
}
