#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a client is to a server, whatever it requests: the way that its transport takes, with a client certificate or a
/// proxy for instance, and, for a resource with a name in place of its URL, what it adds to each query.
///
/// Clients that differ in that share a cache, and nothing in it (K7).
struct CacheClient: Sendable {
    /// For what is found by its URL, which has the query.
    private let found: (text: String, digest: [UInt8])?
    private let named: (text: String, digest: [UInt8])?
    /// Whether the next process knows the client again.
    let outlivesProcess: Bool

    /// - Parameters:
    ///   - transport: The identity of the transport; `nil` if it is not known. Then the client is like no other.
    ///   - query: What the client adds to the query of each call; `nil` for nothing.
    init(transport: String?, query: String?, in cache: HTTPCache) {
        let way = transport ?? UUID().uuidString
        let (first, second) = (way.isEmpty ? nil : "transport: \(way)", query.map { "query: \($0)" })
        func digested(_ parts: [String?]) -> (text: String, digest: [UInt8])? {
            let parts = parts.compactMap(\.self)
            guard !parts.isEmpty else { return nil }
            let text = parts.joined(separator: "\n")
            return (text, cache.digest(of: text))
        }
        found = digested([first])
        named = digested([first, second])
        outlivesProcess = transport != nil
    }

    /// Returns it as a text; `nil` if it is like any other.
    func text(isNamed: Bool) -> String? { isNamed ? named?.text : found?.text }

    /// Returns the digest of the text.
    func digest(isNamed: Bool) -> [UInt8]? { isNamed ? named?.digest : found?.digest }
}
