#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What chooses the bytes that a server answers with: the address, the session and the headers. A part belongs to all
/// of them, and a download that differs in one begins again (`D15`): equal tags do not suffice, because many a server
/// counts the versions of each user's file from 1.
///
/// Every header counts, because any may choose the answer, except:
/// - well-known ones that differ in each request, such as its identifier, unless `Vary` names them;
/// - those for which a client's closure returns two values when it is asked twice in a row. So do not common
///   parameters.
///
/// A session counts by its identifier, which is saved with its token and outlives it. An `Authorization` that is not
/// the session's counts like any other header.
struct DownloadSource: Sendable, Hashable {
    /// What is known before the request is sent.
    private let facts: [String]
    /// The names of the headers that differ each time.
    private let changing: Set<String>
    private let isSigned: Bool

    /// - Parameters:
    ///   - request: The request that the client has built for the endpoint.
    ///   - again: Another one, if the client adds something to each call.
    ///   - session: The session that signs it.
    ///   - isQueryCounted: `false` if the query is a signature, which is another one each time.
    init(
        of endpoint: Endpoint<Data>, as request: HTTPRequest, and again: HTTPRequest?, session: UUID?,
        isQueryCounted: Bool
    ) {
        let again = again ?? request
        changing = Set(
            (request.headers.fields + again.headers.fields).map(\.name)
                .filter { request.headers.values($0) != again.headers.values($0) }.map { $0.lowercased() })
        isSigned = session != nil
        var facts = ["\(request.method) \(request.url.place)", session?.uuidString ?? ""]
        if isQueryCounted {
            let stable = Set(again.url.parameters)
            facts += request.url.parameters.filter { stable.contains($0) && !endpoint.addsPassing($0) }
        }
        self.facts = facts + Self.facts(of: request.headers, except: changing.union(Self.passing))
    }

    /// Returns a hash of what is known before the request is sent.
    func hash(with key: String) -> String { Self.hash(facts, with: key) }

    /// Returns a hash of what is known with the response: where it comes from, and which headers were sent, with those
    /// that middlewares have added.
    func hash(of response: HTTPHeaders, from place: String, to sent: HTTPHeaders, with key: String) -> String {
        let varying = Set(
            response.values("Vary").flatMap { $0.lowercased().split { ", \t".contains($0) } }.map(String.init))
        var ignored = changing
        if !varying.contains("*") { ignored.formUnion(Self.passing.subtracting(varying)) }
        if isSigned { ignored.insert("authorization") }
        return Self.hash([place] + Self.facts(of: sent, except: ignored.union(Self.ofDownloads)), with: key)
    }

    private static func facts(of headers: HTTPHeaders, except ignored: Set<String>) -> [String] {
        // In the order of their names; a name that repeats keeps the order of its values.
        Set(headers.map { $0.name.lowercased() }).subtracting(ignored).sorted().map { name in
            "\(name): \(headers.values(name).joined(separator: "\n"))"
        }
    }

    /// The key is as long as a block of the hash has room for, and no fact holds a NUL.
    private static func hash(_ facts: [String], with key: String) -> String {
        FileDigest.hexadecimal(SHA256.hash(of: Data("\(key)\0\(facts.joined(separator: "\0"))".utf8)))
    }

    /// The headers that a download sets by itself.
    private static let ofDownloads: Set<String> = ["accept-encoding", "if-range", "range"]

    /// The well-known headers that differ in each request, or with each version of an app, and choose no answer. A
    /// signature proves who asks; who that is, another header says.
    private static let passing: Set<String> = [
        "b3", "baggage", "correlation-id", "date", "dpop", "idempotency-key", "nonce", "request-id", "sentry-trace",
        "signature", "signature-input", "timestamp", "traceparent", "tracestate", "uber-trace-id", "user-agent",
        "x-amz-date", "x-amzn-trace-id", "x-b3-flags", "x-b3-parentspanid", "x-b3-sampled", "x-b3-spanid",
        "x-b3-traceid", "x-client-request-id", "x-cloud-trace-context", "x-correlation-id", "x-datadog-parent-id",
        "x-datadog-sampling-priority", "x-datadog-trace-id", "x-ms-client-request-id", "x-nonce", "x-request-id",
        "x-signature", "x-timestamp", "x-trace-id",
    ]
}

extension Endpoint {
    /// Returns whether the parameter is one that clients add to each call, and that chooses no answer.
    fileprivate func addsPassing(_ parameter: String) -> Bool {
        let name = String(parameter.prefix { $0 != "=" })
        return target == nil && ["nonce", "signature", "timestamp", "ts"].contains(name.lowercased())
            && !query.items.contains { $0.name == name }
    }
}

extension HTTPURL {
    /// The URL without its query, which may be a signature.
    var place: String { origin.description + path }

    /// The parameters of the query, as they are written.
    fileprivate var parameters: [String] { query?.split(separator: "&").map(String.init) ?? [] }
}
