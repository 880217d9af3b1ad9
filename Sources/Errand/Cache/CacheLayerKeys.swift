#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension CacheLayer {
    /// Returns the `Cookie` header that would be added to a request; `nil` for none.
    @inline(never)
    func expectedCookies(of request: HTTPRequest, _ context: CallContext) -> String? {
        cookies?.expectedHeader(
            for: request, of: context.transmission.cookieOwner, at: context.time.date,
            hasLeftOrigin: context.hasLeftOrigin)
    }

    /// Returns the place of the response to a request that would carry those cookies.
    @inline(never)
    func key(of request: HTTPRequest, _ context: CallContext, _ cookies: String?) -> CacheKey {
        // A hop that has left the origin is not signed, and the name of a call is that of its own URL.
        let session = context.hasLeftOrigin ? nil : context.transmission.session
        let rules = context.rules.cache
        let name = context.isRedirected ? nil : rules.key
        return key(of: request, name: name, server: rules.server, session: session, cookies: cookies)
    }

    /// Returns the place of the response to the request of a call that has not begun.
    func key(of request: HTTPRequest, _ rules: CacheRules, session: UUID?) -> CacheKey {
        let cookies = cookies?.expectedHeader(for: request, of: session, at: time.date)
        return key(of: request, name: rules.key, server: rules.server, session: session, cookies: cookies)
    }

    private func key(
        of request: HTTPRequest, name: String?, server: String?, session: UUID?, cookies: String?
    ) -> CacheKey {
        CacheKey(
            resource: CacheKey.Resource(request, name: name),
            partition: CacheKey.Partition(
                session: session,
                credentials: digest(of: request, isNamed: name != nil, server: server, cookies: cookies),
                outlivesProcess: client.outlivesProcess && (session == nil || (tokens?.outlivesProcess ?? true))))
    }

    /// Returns a digest of what says who asks, and whom: the client, the request, the server that the call has named,
    /// and the jar, which adds its cookies later; `nil` if nothing does.
    private func digest(of request: HTTPRequest, isNamed: Bool, server: String?, cookies: String?) -> [UInt8]? {
        let (who, own) = (client.text(isNamed: isNamed), identity.identity(in: request.headers))
        guard own != nil || cookies != nil || server != nil else { return client.digest(isNamed: isNamed) }
        let all = [who, own, server.map { "server: \($0)" }, cookies.map { "cookie jar: \($0)" }].compactMap(\.self)
        return cache.digest(of: all.joined(separator: "\n"))
    }
}

extension CacheKey.Resource {
    /// The resource that a request asks for: what its call has named, or else its URL. A QUERY asks by its body too, so
    /// it has a name that no call can have.
    init(_ request: HTTPRequest, name: String?) {
        if let name {
            self = .named(name, request.url.origin)
        } else if request.method == .query {
            let type = ["Content-Type", "Content-Encoding"].map { request.headers[$0] ?? "" }
            let content = Data(SHA256.hash(of: request.body?.bytes ?? Data())).base64EncodedString()
            let parts = ["\u{0}QUERY", request.url.absoluteString] + type + [content]
            self = .named(parts.joined(separator: "\n"), request.url.origin)
        } else {
            self = .url(request.url)
        }
    }
}
