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
///     }
///
/// The texts are cut after 500 characters, and have neither secrets that the call sent nor control characters. Members
/// that an API adds are in the body: ``Rejection/decodeBody(as:)`` decodes them. A member of another type than the
/// standard says counts as missing.
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

    /// Reads a problem; `nil` if the response is called another type, or is no JSON object.
    init?(_ body: Data, _ headers: HTTPHeaders, shown: (String) -> String) {
        guard let type = headers["Content-Type"], MediaType(type).isNamed("application/problem+json"),
            let members = try? FastJSONDecoder().decode([String: JSONValue].self, from: body)
        else { return nil }
        func text(_ name: String) -> String? { members[name]?.string.map(shown) }
        self.type = text("type") ?? "about:blank"
        (title, detail, instance) = (text("title"), text("detail"), text("instance"))
        status = members["status"]?.integer
    }
}

extension Rejection {
    /// The server's description of the problem; `nil` unless the response is `application/problem+json`.
    public var problem: Problem? {
        Problem(body, headers) { shown.value?($0) ?? $0.printable }
    }
}
