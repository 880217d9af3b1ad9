#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Adds the cookies of a jar to each send, and keeps those that each response sets: also that of a redirect, and one
/// that refuses the token.
///
/// It is below admission: a call may wait long for its permit, and another call may get a new cookie meanwhile. It is
/// also below the redirects, so that a cookie is chosen for each hop, and goes to no host that it was not set for.
struct Cookies: Layer {
    let jar: CookieJar
    /// The servers of the client.
    let servers: ServerList
    /// The store of the sessions that sign the client's requests.
    let tokens: TokenStore?

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        guard reaches(request.url, hasLeftOrigin: context.hasLeftOrigin) else {
            return try await next(request, context)
        }
        let transmission = context.transmission
        if !jar.isLoaded {
            try await transmission.run { (scope: CallScope) async throws(ServiceError) in
                try await jar.load(by: transmission.time, in: scope)
            }
        }
        let response = try await next(adding(to: request, in: transmission), context)
        keep(response, to: request, context)
        return response
    }

    /// Returns whether the client sends cookies to that URL: to its own hosts, and to the sites of the jar. After a
    /// redirect to another origin, only the sites count.
    private func reaches(_ url: HTTPURL, hasLeftOrigin: Bool) -> Bool {
        if !hasLeftOrigin, servers.addresses.contains(where: { $0.origin.host == url.origin.host }) { return true }
        return jar.sites.contain(CookieHost(url.origin.host))
    }

    /// Returns the `Cookie` header that would be added to a request now; `nil` if none would. The layers above tell
    /// requests apart by it. While the jar is not loaded, it is empty, as no header is. If the request may go to one of
    /// several servers, it has what each of them would get.
    func expectedHeader(
        for request: HTTPRequest, of owner: UUID?, at now: Date, hasLeftOrigin: Bool = false
    ) -> String? {
        guard request.headers["Cookie"] == nil, reaches(request.url, hasLeftOrigin: hasLeftOrigin) else { return nil }
        guard jar.isLoaded else { return "" }
        let own = jar.expectedHeader(for: request.url, of: owner, at: now)
        guard servers.addresses.count > 1, servers.isForAny(request.url) else { return own }
        let all = servers.addresses.indices.map { index in
            servers.url(request.url, at: index).flatMap { jar.expectedHeader(for: $0, of: owner, at: now) }
        }
        return all.allSatisfy { $0 == nil } ? nil : all.map { $0 ?? "" }.joined(separator: "\n")
    }

    /// Returns what an expected header says about the server of that URL; `nil` for none.
    func expected(_ header: String?, at url: HTTPURL) -> String? {
        guard let header, servers.addresses.count > 1, let index = servers.index(of: url) else { return header }
        let parts = header.split(separator: "\n", omittingEmptySubsequences: false)
        guard parts.count == servers.addresses.count else { return header }
        return parts[index].isEmpty ? nil : String(parts[index])
    }

    @inline(never)
    private func adding(to request: HTTPRequest, in transmission: Transmission) -> HTTPRequest {
        // A header of the endpoint's own is sent as it is.
        guard request.headers["Cookie"] == nil,
            let header = jar.header(for: request.url, of: owner(in: transmission), by: transmission.time)
        else { return request }
        var request = request
        request.headers.add(name: "Cookie", value: header)
        return request
    }

    @inline(never)
    private func keep(_ response: HTTPResponse, to request: HTTPRequest, _ context: CallContext) {
        let transmission = context.transmission
        let values = response.headers.values("Set-Cookie")
        var refusal: CookieRefusal?
        // A middleware may have led the request elsewhere, and that server speaks for itself only.
        if !values.isEmpty, context.server.map({ $0 == request.url.origin }) ?? true {
            refusal = jar.store(values, from: request.url, of: owner(in: transmission), by: transmission.time)
        }
        transmission.warn { jar.takeFileWarning() }
        if let refusal { transmission.warn { jar.takeWarning(of: refusal, from: request.url) } }
    }

    private func owner(in transmission: Transmission) -> CookieOwner? {
        if let session = transmission.session {
            return CookieOwner(session: session, outlivesProcess: tokens?.outlivesProcess ?? true)
        }
        guard let run = transmission.settings.refreshRun, let session = run.session else { return nil }
        return CookieOwner(session: session, outlivesProcess: run.outlivesProcess)
    }
}

/// The session that cookies belong to.
struct CookieOwner: Sendable, Hashable {
    let session: UUID
    /// Whether the next process knows the session. Otherwise it could not remove its cookies, and they are not saved.
    let outlivesProcess: Bool
}

extension Transmission {
    /// The session that the cookies of the sends belong to; `nil` if they belong to none. The calls that exchange the
    /// token of a session are not signed, but belong to it.
    var cookieOwner: UUID? { session ?? settings.refreshRun?.session }
}
