#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A value with the response that contained it.
public struct Reply<Value: Sendable>: Sendable {
    /// The value.
    public let value: Value
    /// The response without its body. What it carries besides HTTP is an object: as fields of its own, all of that
    /// would take memory in each call that waits for its reply.
    private let response: HTTPResponse
    /// The URL that has sent the response: that of the request, or the last that a redirect led to.
    public let url: HTTPURL
    /// The number of attempts.
    public let attempts: Int
    /// The duration of the call, from beginning to end.
    public let duration: Duration
    /// The session that signed the request; `nil` if none did.
    let session: UUID?

    init(
        _ value: Value, from response: consuming HTTPResponse, at url: HTTPURL, attempts: Int, duration: Duration,
        session: UUID?
    ) {
        response.body = .empty
        self.value = value
        self.url = response.source ?? url
        self.response = response
        self.attempts = attempts
        self.duration = duration
        self.session = session
    }

    /// The status of the response.
    public var status: Int { response.status }
    /// The header fields of the response.
    public var headers: HTTPHeaders { response.headers }
    /// The version of the resource, for ``Endpoint/ifMatch(_:)``; `nil` unless there is exactly one `ETag`, and that is
    /// well-formed.
    public var etag: EntityTag? { headers.etag }
    /// The timings of the last exchange; `nil` if the transport does not report them.
    public var timings: Timings? { response.timings }
    /// How the cache took part; `nil` if the client has none.
    public var cache: CacheStatus? { response.provenance.cache }
    /// Whether a redirect led to another origin.
    var hasLeftOrigin: Bool { response.provenance.hasLeftOrigin }

    /// The URL of the response; `nil` if a redirect led to another origin, which must not choose what the client
    /// requests next with its credentials.
    var source: HTTPURL? { hasLeftOrigin ? nil : url }
}

extension Reply: CustomReflectable {
    /// A mirror that shows the value and the public properties.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "value": value, "status": status, "url": url, "headers": headers, "attempts": attempts,
                "duration": duration, "timings": timings as Any, "cache": cache as Any,
            ], displayStyle: .struct)
    }
}

extension Reply {
    /// Returns the absolute URL of the first link with that relation in the `Link` headers; `nil` if there is none, or
    /// if a redirect led to another origin, which must not choose what the client requests next.
    ///
    ///     if let last = reply.link("last") {
    ///         show(try await client.run(Endpoint<[User]>.get(url: last)))
    ///     }
    ///
    /// ``HTTPHeaders/links`` has all links as written. For lists that come in pages, see ``Paging/link``.
    public func link(_ relation: String) -> String? {
        guard let source, let target = headers.links.first(where: { $0.has(relation) })?.target else { return nil }
        // A link that is no URL is none.
        return try? source.resolving(target).absoluteString
    }
}
