#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Answers requests from the cache where that is allowed, and stores responses.
///
/// It is below the redirects, so each request of a chain is looked up and stored under its own URL, and a condition
/// never travels to another one (K13). It is above everything that a send costs: a hit needs no network, no permit and
/// no token. So it sees requests unsigned, and learns from the transmission what was sent in the end.
struct CacheLayer: Layer {
    let cache: HTTPCache
    let tokens: TokenStore?
    /// What adds cookies below; `nil` if nothing does.
    let cookies: Cookies?
    let identity: IdentityFields
    /// What the client is to a server, whatever it requests.
    let client: CacheClient
    /// The names, in lower case, of headers that are added below with the same value to every request.
    let constants: Set<String>
    /// Whether middleware sees what this layer passes on.
    let hasMiddlewareBelow: Bool
    let background: BackgroundSends
    let time: any TimeSource

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        var rules = context.rules.cache
        if context.transmission.isReload { rules.mode = .reload }
        // The name of a call is that of its own URL.
        if context.isRedirected { rules.key = nil }
        let inquiry = CacheInquiry(request, rules: rules)
        let settings = context.transmission.settings
        guard inquiry.isHandled, settings.acceptsCached else {
            return try await pass(request, context, inquiry, next: next)
        }
        // First the position, then the question: what is removed between them is not used.
        let position = cache.position
        let cookies = expectedCookies(of: request, context)
        let key = key(of: request, context, cookies)
        var stored: StoredResponse?
        switch lookup(key, request) {
        case .found(let response): stored = response
        case .nothing: break
        case .unknown:
            stored = await cache.store.read(key, in: context.transmission.scope) { matches($0, request) }
            if stored == nil { warn(context) }
            try context.transmission.throwIfStopped()
        }
        let finding = Finding(
            inquiry: inquiry, key: key, cookies: cookies, stored: stored,
            isUsable: stored.map { isUsable($0, context.rules) } ?? false, position: position)
        if let response = answer(to: request, context, finding) { return await tagged(response, finding, rules) }
        // A body that is not decoded as a whole belongs to its reader (K16).
        if settings.delivery == .stream { return try await pass(request, context, inquiry, next: next) }
        if inquiry.prefersNetwork {
            if let response = try await answerInTime(to: request, context, finding) {
                return await tagged(response, finding, rules)
            }
            context.transmission.follow(nil)
        }
        return try await fetch(request, context, finding, next: next)
    }

    /// Says what the cache would do with a request now, for people. It waits for the disk.
    ///
    /// - Parameter isSessionKnown: Whether `session` is the one that a call would have. Another may have to be loaded.
    func outlook(for request: HTTPRequest, rules: CallRules, session: UUID?, isSessionKnown: Bool) -> String {
        let inquiry = CacheInquiry(request, rules: rules.cache)
        guard inquiry.isHandled else { return "no, because \(inquiry.bypassReason)" }
        // Memory has nothing of a session that has not been loaded, but a disk may.
        if !isSessionKnown, cache.outlivesProcess { return "not known before the session has been loaded" }
        let key = key(of: request, rules.cache, session: session)
        let found: StoredResponse? =
            switch lookup(key, request) {
            case .found(let response): response
            case .nothing: nil
            case .unknown: cache.store.look(at: key) { matches($0, request) }
            }
        guard let stored = found, isUsable(stored, rules) else {
            return inquiry.isLocal ? "nothing is stored, and nothing would be sent" : "nothing is stored; it is sent"
        }
        let now = CacheMoment(of: time)
        let age = stored.freshness.age(at: now).map { "\(Int64(wholeSeconds: $0)) s old" } ?? "of unknown age"
        switch inquiry.decision(on: stored, at: now) {
        case _ where inquiry.prefersNetwork && Self.canRefresh(request):
            return "the network first, then what is stored, \(age)"
        case _ where inquiry.prefersNetwork: return "the network, or what is stored if the server fails, \(age)"
        case .serve: return "hit, \(age)"
        case .serveStale(_, _, let isRefreshing):
            let isRefreshed = isRefreshing && Self.canRefresh(request)
            return "stale, \(age)" + (isRefreshed ? "; it would be refreshed in the background" : "")
        case .revalidate: return "stored, \(age); the server is asked whether that is current"
        case .fetch: return "stored, \(age), and not used; it is sent"
        case .refuse: return "stored, \(age), and not used; nothing would be sent"
        }
    }

    /// Whether a request would be answered, and nothing would be sent; or may be, as `outlook` says.
    func mayAnswer(_ request: HTTPRequest, rules: CallRules, session: UUID?, isSessionKnown: Bool) async -> Bool {
        let inquiry = CacheInquiry(request, rules: rules.cache)
        guard inquiry.isHandled else { return false }
        if !isSessionKnown, cache.outlivesProcess { return true }
        let key = key(of: request, rules.cache, session: session)
        let stored: StoredResponse?
        switch lookup(key, request) {
        case .found(let response): stored = response
        case .nothing: stored = nil
        case .unknown: stored = await cache.store.read(key, in: CallScope()) { matches($0, request) }
        }
        guard let stored, isUsable(stored, rules) else { return false }
        switch inquiry.decision(on: stored, at: CacheMoment(of: time)) {
        case .serve, .serveStale: return true
        case .revalidate, .fetch, .refuse: return false
        }
    }

    /// What was found for a request before it is sent on.
    struct Finding: Sendable {
        let inquiry: CacheInquiry
        let key: CacheKey
        /// The `Cookie` header that would be added to it.
        let cookies: String?
        let stored: StoredResponse?
        let isUsable: Bool
        /// The number of removals when the request began.
        let position: Int

        /// What is stored, unless it is the kind of response after which the call would ask again.
        var usable: StoredResponse? { isUsable ? stored : nil }
    }

    private func isUsable(_ stored: StoredResponse, _ rules: CallRules) -> Bool {
        // A copy that the server has not allowed is for those that keep it (K17).
        guard !stored.control.noStore || rules.cache.keepsCopy else { return false }
        return stored.status < 400
            || !rules.mayAskAgain(after: HTTPResponse(status: stored.status, headers: stored.headers))
    }

    // MARK: Without the server

    @inline(never)
    private func lookup(_ key: CacheKey, _ request: HTTPRequest) -> CacheLookup {
        cache.store.lookup(key) { matches($0, request) }
    }

    private func matches(_ variant: CacheVariant, _ request: HTTPRequest) -> Bool {
        variant.names.isEmpty || variant.matches(request.headers, isParted: identity.contains)
    }

    /// Returns what is stored, if it may be used now; `nil` if the request has to be sent.
    @inline(never)
    private func answer(to request: HTTPRequest, _ context: CallContext, _ finding: Finding) -> HTTPResponse? {
        if finding.inquiry.prefersNetwork { return nil }
        // The usual miss does not read the clock.
        guard let stored = finding.usable else { return finding.inquiry.isLocal ? .notCached : nil }
        switch finding.inquiry.decision(on: stored, at: CacheMoment(of: context.time)) {
        case .serve(let age): return serve(stored, request, context, finding, .hit, age: age)
        case .serveStale(let age, let reason, let isRefreshing):
            if isRefreshing { refresh(request, context, finding) }
            return serve(stored, request, context, finding, .stale, age: age, because: reason)
        case .refuse: return .notCached
        case .revalidate, .fetch: return nil
        }
    }

    func serve(
        _ stored: StoredResponse, _ request: HTTPRequest, _ context: CallContext, _ finding: Finding,
        _ kind: CacheStatus.Kind, age: Double, because reason: CacheStatus.Reason? = nil
    ) -> HTTPResponse {
        cache.count(kind)
        let status = CacheStatus(kind, age: .seconds(Int64(wholeSeconds: age)), reason: reason)
        context.transmission.report(.answeredFromCache(status))
        // A server that has just failed is not asked again at once.
        let isReplaceable = !finding.inquiry.isLocal && reason != .serverFailed
        return stored.response(
            withBody: request.method != .head, age: age, as: status, isReplaceable: isReplaceable)
    }

    /// Gives what has answered a call the tags of the call, so that they lead to it for the next one too.
    private func tagged(_ response: HTTPResponse, _ finding: Finding, _ rules: CacheRules) async -> HTTPResponse {
        guard !rules.tags.isEmpty, let stored = finding.stored, !rules.tags.isSubset(of: stored.tags),
            response.isFromCache
        else { return response }
        await cache.add(rules.tags, to: stored, at: finding.key, since: finding.position)
        return response
    }

    // MARK: With the server

    /// Sends a request that the cache does not answer, and removes what it has changed.
    @inline(never)
    private func pass(
        _ request: HTTPRequest, _ context: CallContext, _ inquiry: CacheInquiry, next: Next
    ) async throws(ServiceError) -> HTTPResponse {
        if inquiry.isLocal { return .notCached }
        do throws(ServiceError) {
            var response = try await next(request, context)
            await cache.remove(removals(of: request, context, inquiry, by: response))
            response.provenance.cache = CacheStatus(.miss, reason: inquiry.bypassReason)
            return response
        } catch {
            // The server may have acted on it without saying so.
            if context.transmission.wasSent { await cache.remove(removals(of: request, context, inquiry, by: nil)) }
            throw error
        }
    }

    /// Returns what the response to a request removes; `nil` stands for a send that has failed.
    private func removals(
        of request: HTTPRequest, _ context: CallContext, _ inquiry: CacheInquiry, by response: HTTPResponse?
    ) -> [CacheRemoval] {
        let rules = context.rules.cache
        // A POST that only reads has a name, which does not go along with a redirect.
        if inquiry.isRead || rules.key != nil && request.method == .post { return [] }
        let removals = request.removals(by: response)
        guard rules.removesOnlyOwn, !context.hasLeftOrigin, let session = context.transmission.session else {
            return removals
        }
        return removals.map { removal in
            if case .resource(.url(let url)) = removal { .own(url, session) } else { removal }
        }
    }

    /// Reports what keeps the cache from working, once.
    private func warn(_ context: CallContext, _ reason: CacheStatus.Reason? = nil) {
        context.transmission.warn { cache.takeWarning(reason) }
    }

    /// Sends a request, with the conditions by which the server can confirm what is stored, and stores the response.
    @inline(never)
    private func fetch(
        _ request: HTTPRequest, _ context: CallContext, _ finding: Finding, next: Next
    ) async throws(ServiceError) -> HTTPResponse {
        let transmission = context.transmission
        var context = context
        var condition = finding.inquiry.condition(for: finding.usable)
        while true {
            let (start, sends) = (context.time.now, transmission.sends)
            let sent = condition.map(request.confirming) ?? (finding.inquiry.isReload ? request.reloading : request)
            var response: HTTPResponse
            do throws(ServiceError) {
                response = try await next(sent, context)
            } catch {
                if let stale = answer(insteadOf: error, request, context, finding) {
                    return await tagged(stale, finding, context.rules.cache)
                }
                throw error
            }
            if let stale = answer(insteadOf: response, request, context, finding) {
                return await tagged(stale, finding, context.rules.cache)
            }
            let exchange = CacheExchange(
                request: request,
                sent: self.sent(in: transmission, after: sends, for: request, by: response).map {
                    withoutConditions($0, condition)
                },
                mayBeAskedAgain: context.rules.mayAskAgain(after: response),
                rules: context.rules.cache, earlierTags: finding.stored?.tags ?? [],
                cookies: cookies?.expected(finding.cookies, at: response.provenance.sentTo ?? request.url),
                signedWith: response.provenance.accessToken, isOfSession: finding.key.partition.session != nil,
                received: CacheMoment(of: context.time),
                delay: response.timings?.total ?? start.duration(to: context.time.now),
                sentAt: (transmission.sends > sends ? transmission.answeredSend : nil) ?? start, constants: constants,
                identity: identity)
            guard response.status == 304, let stored = condition else {
                let status = await keep(response, exchange, finding)
                if let reason = status.reason { warn(context, reason) }
                response.provenance.cache = status
                return response
            }
            guard let (updated, problem) = exchange.confirmed(stored, by: response) else {
                // The server means another response than the one that is stored: it has to send it.
                condition = nil
                context.isUrgent = true
                continue
            }
            return await confirm(stored, updated, problem, response, exchange, finding)
        }
    }

    /// Returns the request that was sent for this layer's; `nil` if none was, or if it is not known which of several
    /// has brought the response: a middleware may send one as another user, and then its own. What another server of
    /// the client has answered was sent for this layer's URL.
    private func sent(
        in transmission: Transmission, after sends: Int, for request: HTTPRequest, by response: HTTPResponse
    ) -> HTTPRequest? {
        if hasMiddlewareBelow, transmission.sends > sends + 1 { return nil }
        guard var sent = transmission.sent(after: sends) else { return nil }
        if sent.url == response.provenance.sentTo { sent.url = request.url }
        return sent
    }

    /// The request without the conditions that this layer has added.
    private func withoutConditions(_ request: HTTPRequest, _ condition: StoredResponse?) -> HTTPRequest {
        guard condition != nil else { return request }
        var request = request
        (request.headers["If-None-Match"], request.headers["If-Modified-Since"]) = (nil, nil)
        return request
    }

    /// Stores a response, or removes what it has made obsolete. Returns what became of it.
    @inline(never)
    private func keep(_ response: HTTPResponse, _ exchange: CacheExchange, _ finding: Finding) async -> CacheStatus {
        cache.count(.miss)
        // What another server would have answered is not known.
        guard finding.inquiry.allowsStoring, !response.provenance.leadsToServer else {
            await removeContradicted(by: response, finding)
            return CacheStatus(.miss, reason: .bypassed)
        }
        switch exchange.outcome(of: response) {
        case .store(let stored):
            // An insertion replaces only what depends on the same fields.
            if let old = finding.stored, old.variant != stored.variant {
                await cache.store.remove(old, at: finding.key)
            }
            let problem = await cache.insert(
                stored, at: finding.key, since: finding.position, sentAt: exchange.sentAt)
            return CacheStatus(.miss, reason: problem)
        case .leave(let reason):
            // What the server gives now is not what is stored; a failure says nothing about that. A copy belongs to the
            // calls that keep it.
            let isOthers = finding.stored?.control.noStore == true && !exchange.rules.keepsCopy
            if !isOthers, response.isSuccess || [404, 410].contains(response.status) {
                cache.noteUnstored(at: finding.key, sentAt: exchange.sentAt)
                if let old = finding.stored { await cache.store.remove(old, at: finding.key) }
            }
            return CacheStatus(.miss, reason: reason)
        }
    }

    /// Serves a response that the server has confirmed, and stores its new fields.
    @inline(never)
    private func confirm(
        _ stored: StoredResponse, _ updated: StoredResponse, _ problem: CacheStatus.Reason?, _ answer: HTTPResponse,
        _ exchange: CacheExchange, _ finding: Finding
    ) async -> HTTPResponse {
        cache.count(.revalidated)
        if updated.variant != stored.variant || problem != nil { await cache.store.remove(stored, at: finding.key) }
        var problem = problem
        if problem == nil {
            problem = await cache.insert(
                updated, at: finding.key, since: finding.position, sentAt: exchange.sentAt)
        }
        var response = updated.response(
            withBody: true, age: nil, as: CacheStatus(.revalidated, age: .zero, reason: problem))
        var provenance = answer.provenance
        provenance.cache = response.provenance.cache
        response.provenance = provenance
        return response
    }

    /// A HEAD says what a GET would have brought: if that is something else, what is stored has changed.
    private func removeContradicted(by response: HTTPResponse, _ finding: Finding) async {
        guard let stored = finding.stored, response.status == 200 else { return }
        let contradicts = ["ETag", "Last-Modified"].contains { name in
            guard let new = response.headers[name], let old = stored.headers[name] else { return false }
            return new != old
        }
        if contradicts { await cache.store.remove(stored, at: finding.key) }
    }
}

extension CacheMoment {
    init(of time: any TimeSource) {
        self.init(date: time.date, instant: time.now)
    }
}

extension HTTPResponse {
    /// The answer to a call that may only use the cache, which has nothing for it.
    fileprivate static var notCached: HTTPResponse {
        let message = #"{"message": "nothing usable is cached for this call, which may only use the cache"}"#
        var response = HTTPResponse(
            status: 504, headers: ["Content-Type": "application/json"], body: .bytes(Data(message.utf8)))
        response.provenance.cache = CacheStatus(.miss, reason: .onlyIfCached)
        return response
    }
}
