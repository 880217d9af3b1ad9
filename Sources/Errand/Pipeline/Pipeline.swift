#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The layers of a client and the user's middleware, composed into one function when the client is created.
///
/// The order is the design. From top to bottom:
/// - call middleware sees each call once, before any layer of the library, and once more when the server is asked
///   because a stored response cannot be decoded;
/// - a call that begins before the store has loaded its session waits for that;
/// - calls whose requests are equal share what follows, if the configuration says so; it belongs to no call then;
/// - a retry repeats everything below it, and holds no permit during its pauses;
/// - a replay after a 401 is above the redirects: it repeats the request, not the last redirect;
/// - each request of a redirect chain is looked up in the cache and stored on its own, and a hit needs nothing below;
/// - each is a send of its own; without a network it fails or waits, and takes no permit;
/// - with several servers, or a breaker, it fails if none may be asked; admission chooses one later, when it has the
///   permit;
/// - it waits until fewer of them are under way than the limit on these allows, before it takes a permit: one that has
///   a permit goes out;
/// - admission is below: there, and only there, a send waits for its permit, unsigned, and is then signed with the
///   current token, unless a redirect has led to another origin;
/// - cookies are added after that, because other calls may have received new ones while a call waited;
/// - attempt middleware sees each request that is handed to the transport, including replays and redirects;
/// - the sender checks the request, limits its time and calls the transport.
///
/// The deadline is not a layer: it limits every wait, see `Interruptible`.
///
/// A call that waits in one layer holds the frames of all layers above. What a function builds for a moment has its
/// place in such a frame too, so what a layer does before and after `next` is in functions of their own that are not
/// inlined: a call that waits takes less than half of the memory then.
///
/// A class, because every call carries it: copying a struct would retain each of its many fields.
final class Pipeline: Sendable {
    let builder: RequestBuilder
    let session: SessionLayer
    /// What is known about the servers; `nil` if there is nothing to know, with one server, no breaker and no hedging.
    let servers: ServerPool?
    /// The layer of the cache; `nil` if there is none.
    private let cache: CacheLayer?
    /// Starts what layers send beside the calls; the client provides the function.
    let background = BackgroundSends()
    private let first: Middleware.Next
    /// The layers of a transmission, which are those below the session.
    private let transmission: Middleware.Next

    init(
        _ configuration: Configuration, limiter: RateLimiter, transport: any Transport, owner: any TransmissionOwner
    ) throws(ServiceError) {
        builder = try RequestBuilder(configuration)
        let connectivity = configuration.connectivity ?? transport.connectivity
        let sender = Sender(
            transport: transport, limiter: limiter, boundary: builder.boundary,
            bodyLimit: configuration.responseByteLimit, cleartext: configuration.cleartext,
            longestPause: configuration.longestServerPause, notesStarts: configuration.cache != nil,
            secretNames: configuration.secretNames.isEmpty ? nil : builder.secretNames,
            bodies: ShownBodies(configuration.bodiesInEvents, builder.secretNames))
        // From the bottom to the top. Not as a list of layers: each would be called through two functions more, which
        // wait along with it.
        var next: Middleware.Next = { (request: HTTPRequest, context: CallContext) async throws(ServiceError) in
            try await sender.send(request, context)
        }
        for middleware in configuration.attemptMiddlewares.reversed() {
            next = Self.entering(MiddlewareLayer(middleware: middleware, boundary: builder.boundary), then: next)
        }
        let constants = Set(configuration.constantHeaders.map { $0.lowercased() })
        let identity = IdentityFields(builder.secretNames, anonymous: configuration.anonymousHeaders)
        if configuration.sharesEqualRequests, !configuration.attemptMiddlewares.isEmpty {
            next = Self.entering(WatchedSends(), then: next)
        }
        let cookies = configuration.cookies.map { [builder] in
            Cookies(jar: $0, servers: builder.servers, tokens: configuration.tokens)
        }
        if let cookies {
            cookies.jar.startLoading(by: configuration.time)
            configuration.tokens?.live.add(cookies.jar)
            next = Self.entering(cookies, then: next)
        }
        let admission = Admission(
            limiter: limiter, tokens: configuration.tokens, boundary: builder.boundary,
            limitNotice: configuration.limiter == nil ? configuration.limitNotice : nil,
            marksSigned: configuration.cache != nil, mayBeRerouted: !configuration.attemptMiddlewares.isEmpty)
        next = Self.entering(admission, then: next)
        if let gate = ConcurrencyGate(configuration.concurrency) { next = Self.entering(gate, then: next) }
        servers = builder.servers.pool(configuration)
        if let servers {
            let layer = Servers(
                pool: servers, longestPause: configuration.longestServerPause,
                hasMiddlewareBelow: !configuration.attemptMiddlewares.isEmpty,
                probe: Self.probe(configuration, builder, background))
            next = Self.entering(layer, then: next)
        }
        let check = OnlineCheck(connectivity: connectivity, rule: configuration.offline)
        next = Self.entering(check, then: next)
        if let cache = configuration.cache { configuration.tokens?.live.add(cache) }
        cache = configuration.cache.map { [builder, background] cache in
            CacheLayer(
                cache: cache, tokens: configuration.tokens, cookies: cookies, identity: identity,
                client: CacheClient(
                    transport: transport.identity, query: builder.identityInQuery, in: cache),
                constants: constants, hasMiddlewareBelow: !configuration.attemptMiddlewares.isEmpty,
                background: background, time: configuration.time)
        }
        if let cache { next = Self.entering(cache, then: next) }
        let redirects = Redirects(
            secretNames: builder.secretNames, boundary: builder.boundary, cleartext: configuration.cleartext)
        next = Self.entering(redirects, then: next)
        if let tokens = configuration.tokens { next = Self.entering(Replay(tokens: tokens), then: next) }
        next = Self.entering(Retry(quota: RetryQuota(), tokens: configuration.tokens), then: next)
        transmission = next
        if configuration.sharesEqualRequests {
            let sharing = Sharing(owner: owner, cookies: cookies, identity: identity, constants: constants)
            next = Self.entering(sharing, then: next)
        }
        session = SessionLayer(tokens: configuration.tokens, cleartext: configuration.cleartext)
        next = Self.entering(session, then: next)
        for middleware in configuration.callMiddlewares.reversed() {
            next = Self.entering(MiddlewareLayer(middleware: middleware, boundary: builder.boundary), then: next)
        }
        first = next
    }

    /// Returns what checks servers beside the calls; `nil` if nothing does.
    private static func probe(
        _ configuration: Configuration, _ builder: RequestBuilder, _ background: BackgroundSends
    ) -> ServerProbe? {
        guard let path = configuration.servers.probe else { return nil }
        var options = CallOptions()
        options.authentication = .none
        options.timeout = .init(duration: configuration.timeout ?? .seconds(30))
        options.deadline = .unlimited
        // No call waits for it.
        options.ignoresConcurrency = true
        let endpoint = Endpoint<Data>.get(path).authentication(.none)
        return ServerProbe(path, rules: configuration.rules(for: options), background) {
            // Then calls check the servers, and each that cannot be sent says why.
            try? builder.request(for: endpoint.untyped, key: nil, files: BodyFiles())
        }
    }

    /// Says to which of several servers a request would go now; `nil` if there is nothing to choose.
    func serverOutlook(for request: HTTPRequest, rules: CallRules, at now: Instant) -> (text: String, url: HTTPURL)? {
        servers?.outlook(for: request, isNamed: rules.server != nil, at: now)
    }

    /// Sends a request through all layers.
    func send(_ request: HTTPRequest, in transmission: Transmission) async throws(ServiceError) -> HTTPResponse {
        try await first(request, CallContext(transmission))
    }

    /// Says what the cache would do with a request now; `nil` without a cache. It waits for the disk.
    func cacheOutlook(for request: HTTPRequest, rules: CallRules) -> String? {
        cache?.outlook(
            for: request, rules: rules, session: session.present(for: request, rules.authentication),
            isSessionKnown: session.isKnown(for: request, rules.authentication))
    }

    /// Whether the cache would answer the request now, and nothing would be sent; or may, because only a call loads the
    /// session that something on the disk may belong to.
    func mayBeCached(_ request: HTTPRequest, rules: CallRules) async -> Bool {
        await cache?.mayAnswer(
            request, rules: rules, session: session.present(for: request, rules.authentication),
            isSessionKnown: session.isKnown(for: request, rules.authentication)) ?? false
    }

    /// Sends a request of which the session is known through the layers of a transmission.
    func transmit(_ request: HTTPRequest, _ context: CallContext) async throws(ServiceError) -> HTTPResponse {
        try await transmission(request, context)
    }

    private static func entering(_ layer: some Layer, then next: @escaping Middleware.Next) -> Middleware.Next {
        { (request: HTTPRequest, context: CallContext) async throws(ServiceError) -> HTTPResponse in
            try await layer.intercept(request, context, next: next)
        }
    }
}

/// A user's middleware as a layer. Its errors are translated here, and nowhere else, and here a request that it leads
/// to another origin is noticed (C64).
///
/// The library's own layers enter a scope where they wait. Middleware may wait for anything, so it runs in a child
/// task, which can be canceled. Middleware below it is already in that child.
///
/// The child costs a change of threads when it ends: the caller's task is resumed on another one, and nothing else is
/// there to hide that while a program makes one call at a time. The caller's own task would do without, but a stop from
/// outside (a deadline, `cancelAll()`, `shutdown()`) reaches foreign waits only by canceling the task that waits, and
/// a task that is canceled stays so: the deadline of one call would cancel everything that its caller does next.
/// Whether a middleware waits for anything but `next` cannot be known before it does, and a wait that has begun stays
/// in its task.
private struct MiddlewareLayer: Layer {
    let middleware: any Middleware
    let boundary: OriginBoundary

    func intercept(
        _ request: HTTPRequest, _ context: CallContext, next: @escaping Next
    ) async throws(ServiceError) -> HTTPResponse {
        guard !context.isInMiddleware else { return try await response(to: request, context, next: next) }
        var context = context
        context.isInMiddleware = true
        let inChild = context
        return try await context.transmission.runInChild { () async throws(ServiceError) in
            try await response(to: request, inChild, next: next)
        }
    }

    private func response(
        to request: HTTPRequest, _ context: CallContext, next: @escaping Next
    ) async throws(ServiceError) -> HTTPResponse {
        do {
            return try await middleware.intercept(request, context) {
                (passed: HTTPRequest, given: CallContext) async throws(ServiceError) -> HTTPResponse in
                if boundary.contains(passed.url.origin) { return try await next(passed, given) }
                var (passed, given) = (passed, given)
                boundary.cross(&passed, &given, since: request)
                return try await next(passed, given)
            }
        } catch {
            throw ServiceError(error) { error in
                let message = "\(String(reflecting: type(of: middleware))) threw \(foreignName(of: error))"
                let wasSent = context.transmission.wasSent
                return .transport(TransportFailure(.middleware, message, mayHaveReachedServer: wasSent))
            }
        }
    }
}

extension ServerList {
    /// Returns what keeps what is known about the servers; `nil` if there is nothing to know.
    fileprivate func pool(_ configuration: Configuration) -> ServerPool? {
        let (breaker, hedging) = (configuration.breaker, configuration.hedging)
        guard addresses.count > 1 || breaker.limits != nil || hedging.limits != nil else { return nil }
        return ServerPool(self, rules: configuration.servers, breaker: breaker, hedging: hedging)
    }
}
