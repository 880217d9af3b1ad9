#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A request that the cache has sent on, and its response: decides what is stored.
struct CacheExchange {
    /// Responses with these statuses are not stored, whatever they say: they are about the request, its signature or
    /// the client's rate, or they are parts of something (RFC 9111, 3; RFC 6585).
    private static let unstored: Set<Int> = [206, 304, 401, 407, 412, 416, 421, 425, 428, 429, 431, 511]
    /// The statuses whose meaning for caches is known here.
    private static let understood: Set<Int> = [
        200, 203, 204, 300, 301, 302, 303, 307, 308, 400, 403, 404, 405, 410, 414, 500, 501, 502, 503, 504,
    ]

    /// The request as the cache has received it, before conditions were added.
    let request: HTTPRequest
    /// The request as it was handed to the transport; `nil` if none was, because a middleware has answered.
    let sent: HTTPRequest?
    /// Whether the call may ask again after this response.
    var mayBeAskedAgain = false
    let rules: CacheRules
    /// The tags of what is stored already: whoever calls next need not know them.
    var earlierTags: Set<String> = []
    /// The `Cookie` header that a jar was about to add; `nil` for none.
    var cookies: String?
    /// The access token that has signed the request on its way; `nil` if none has.
    let signedWith: String?
    /// Whether the response belongs to a session. What is set beside it, such as a cookie, does too.
    var isOfSession = false
    let received: CacheMoment
    /// How long the server took to answer.
    let delay: Duration
    /// When the request was sent, and not when it began to wait for that.
    var sentAt = Instant.zero
    /// The names, in lower case, of headers that are added on the way with the same value to every request.
    var constants: Set<String> = []
    /// Which headers may say who asks.
    let identity: IdentityFields

    /// What a response becomes.
    enum Outcome {
        case store(StoredResponse)
        case leave(CacheStatus.Reason)
    }

    /// Decides on a new response.
    func outcome(of response: HTTPResponse) -> Outcome {
        guard !Self.unstored.contains(response.status), response.status >= 200, !mayBeAskedAgain else {
            return .leave(.status)
        }
        guard let body = response.body.bytes.map({ exact($0, response.headers) }) else { return .leave(.bypassed) }
        let stored = stored(response.headers, status: response.status, body: body)
        guard case .store(let new) = stored else { return stored }
        if !isUseful(new) { return .leave(.noLifetime) }
        // The body may belong to the cookie, as a form does to its protection, and the cookie is not kept: whoever is
        // given the one lacks the other.
        return isOfSession || response.headers["Set-Cookie"] == nil ? stored : .leave(.setsCookie)
    }

    /// The body in memory of its own size: one whose length was not announced, or that was decoded, may have twice as
    /// much.
    private func exact(_ body: Data, _ headers: HTTPHeaders) -> Data {
        if headers["Content-Encoding"] == nil, headers["Content-Length"] == String(body.count) { return body }
        return body.subdata(in: body.startIndex..<body.endIndex)
    }

    /// Decides on the response that a 304 has confirmed: its fields replace those that are stored (RFC 9111, 3.2).
    ///
    /// Returns `nil` if the 304 is about another response than the one that is stored.
    func confirmed(_ stored: StoredResponse, by response: HTTPResponse) -> (StoredResponse, CacheStatus.Reason?)? {
        if let tag = response.headers.etag, let own = stored.etag, !tag.matchesWeakly(own) { return nil }
        // Without a tag, the date is what tells one response from another (RFC 9111, 4.3.4).
        if response.headers.etag == nil, let date = response.headers["Last-Modified"],
            let own = stored.lastModified, date != own
        {
            return nil
        }
        var headers = stored.headers
        // Both are about the exchange that has brought them.
        headers["Age"] = nil
        headers["Date"] = HTTPDate.text(received.date)
        headers.merge(
            HTTPHeaders((StoredResponse.storable(response.headers) ?? [:]).filter { !Self.describesBody($0.name) }))
        switch self.stored(headers, status: stored.status, body: stored.body) {
        case .store(let updated): return (updated, nil)
        case .leave(let reason):
            return (copy(of: stored, headers), reason)
        }
    }

    /// Fields that describe the stored bytes, which a 304 does not change.
    private static func describesBody(_ name: String) -> Bool {
        ["content-length", "content-encoding", "content-type", "content-range"].contains(name.lowercased())
    }

    private func copy(of stored: StoredResponse, _ headers: HTTPHeaders) -> StoredResponse {
        StoredResponse(
            url: stored.url, status: stored.status, headers: headers, body: stored.body, freshness: stored.freshness,
            control: stored.control, variant: stored.variant, tags: stored.tags)
    }

    private func stored(_ headers: HTTPHeaders, status: Int, body: Data) -> Outcome {
        let control = CacheControl(headers.values("Cache-Control"))
        let isCopy = rules.keepsCopy && isOfSession && (200..<300).contains(status)
        guard !control.noStore || isCopy, !control.mustUnderstand || Self.understood.contains(status),
            let storable = StoredResponse.storable(headers)
        else {
            return .leave(.forbidden)
        }
        guard let names = CacheVariant.names(in: headers) else { return .leave(.varies) }
        guard let sent, isAsReceived(sent, varyingOn: names) else { return .leave(.addedBelow) }
        let freshness = CacheFreshness(headers, status: status, control: control, delay: delay, received: received)
        let isExplicit = control.maxAge != nil || control.isForStoring || headers["Expires"] != nil
        let lifetime = rules.lifetime(of: freshness, status: status)
        guard isExplicit || CacheFreshness.isStoredByDefault(status) || lifetime > 0 else {
            return .leave(.noLifetime)
        }
        return .store(
            StoredResponse(
                url: request.url, status: status, headers: storable, body: body,
                freshness: freshness, control: control,
                variant: .of(request.headers, varyingOn: names, isParted: identity.contains),
                tags: rules.tags.union(earlierTags)
            ))
    }

    /// A response that is neither fresh nor can be confirmed would only take place, unless the call accepts stale ones.
    private func isUseful(_ response: StoredResponse) -> Bool {
        rules.lifetime(of: response) > 0 || response.hasValidator && request.method != .post || rules.acceptsStale
            || (response.control.staleIfError ?? 0) > 0 || (response.control.staleWhileRevalidate ?? 0) > 0
    }

    /// Whether the layers below have left everything as it was on which the response depends: the method, the URL, the
    /// fields that it varies on, and all fields that may say who asks. What a session or a jar adds by itself is
    /// covered by the partition (K3, K7): the very token, and not whatever is in its place.
    private func isAsReceived(_ sent: HTTPRequest, varyingOn names: [String]) -> Bool {
        var covered = constants
        if let signedWith, let scheme = sent.headers.scheme(ofToken: signedWith) {
            covered.insert("authorization")
            // A token that is bound to a key is sent with a proof, which is another one each time.
            if scheme.lowercased() == "dpop" { covered.insert(TokenProver.header.lowercased()) }
        }
        let hasOwnCookies = request.headers["Cookie"] != nil || constants.contains("cookie")
        guard hasOwnCookies || sent.headers["Cookie"] == cookies else { return false }
        if !hasOwnCookies { covered.insert("cookie") }
        return identity.isSame(request, sent, except: covered)
            && names.allSatisfy { name in
                covered.contains(name)
                    || CacheVariant.value(of: name, in: sent.headers)
                        == CacheVariant.value(of: name, in: request.headers)
            }
    }
}

extension HTTPHeaders {
    /// Returns the scheme before that token in the only `Authorization` field; `nil` if something else is there.
    fileprivate func scheme(ofToken token: String) -> Substring? {
        let values = values("Authorization")
        guard values.count == 1, let value = values.first, value.hasSuffix(" \(token)") else { return nil }
        return Substring(value.utf8.dropLast(token.utf8.count + 1))
    }
}

extension HTTPRequest {
    /// The same request with the conditions by which a server can confirm the stored response.
    func confirming(_ stored: StoredResponse) -> HTTPRequest {
        var request = self
        if let tag = stored.etag { request.headers["If-None-Match"] = tag.description }
        if let date = stored.lastModified { request.headers["If-Modified-Since"] = date }
        return request
    }

    /// The same request with a directive for the caches on the way, unless it has one.
    var reloading: HTTPRequest {
        var request = self
        if request.headers["Cache-Control"] == nil { request.headers["Cache-Control"] = "no-cache" }
        return request
    }

    /// Statuses of a gateway, behind which the server may have acted on a request.
    private static let unknownOutcomes: Set<Int> = [502, 504]

    /// Returns what the response to the request removes from a cache (K6); `nil` stands for a send that has failed
    /// after the server may have acted on it.
    func removals(by response: HTTPResponse?) -> [CacheRemoval] {
        // Every method may change something that is not known to be safe.
        guard !method.isSafe else { return [] }
        guard let response, !Self.unknownOutcomes.contains(response.status) else { return [.resource(.url(url))] }
        guard (200..<400).contains(response.status) else { return [] }
        var urls = [url]
        for name in ["Location", "Content-Location"] {
            // What is no URL names nothing.
            guard let text = response.headers[name], let other = try? url.resolving(text), other.origin == url.origin,
                !urls.contains(other)
            else { continue }
            urls.append(other)
        }
        let groups = CacheGroups.names(in: response.headers.values("Cache-Group-Invalidation"))
        return urls.map { .resource(.url($0)) } + groups.sorted().map { .group($0, url.origin) }
    }
}
