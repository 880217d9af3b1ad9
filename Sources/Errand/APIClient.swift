#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A client of one server, or of several with the same API, which runs their calls.
///
///     let client = APIClient("https://api.example.com/v1") {
///         $0.tokens = tokens
///         $0.rateLimit = .requests(5, per: .seconds(1))
///     }
///     let friends = try await client.run(.friends(of: me.id))
///
/// Calls do not wait for each other on the actor, and responses are decoded on no actor, so a large response delays no
/// other call. When its task is canceled, a call ends within milliseconds with `.cancelled`; one that is decoding its
/// response ends soon after with ``FastJSONDecoder``, and with other decoders when that is done. An invalid base URL or
/// configuration makes every call fail with `.invalidRequest`.
public actor APIClient {
    /// The configuration of the client.
    public nonisolated let configuration: Configuration
    /// The rate limiter of the client. You can share it with other clients.
    public nonisolated let limiter: RateLimiter

    /// The layers of the client; an error, which every call throws, if the configuration is invalid.
    nonisolated let pipeline: Result<Pipeline, ServiceError>
    nonisolated let interpreter: ResponseInterpreter
    nonisolated let secretNames: SecretNames
    /// The rules of calls without options of their own.
    private nonisolated let standardRules: BoxedRules
    nonisolated let calls = CallsInFlight()
    nonisolated let hub: EventHub
    private nonisolated let defaultTransport: DefaultTransport?
    private var closing: Latch?

    /// Creates a client with that configuration.
    public init(_ configuration: Configuration) {
        var configuration = configuration
        // Whatever its name is, a key is hidden like a value with a well-known one.
        if let name = configuration.credentials?.name { configuration.secretNames.insert(name) }
        self.configuration = configuration
        standardRules = BoxedRules(configuration.rules(for: CallOptions()))
        let limiter =
            configuration.limiter
            ?? RateLimiter(
                configuration.rateLimit, time: configuration.time, isDefault: configuration.limitNotice != nil)
        let transport: any Transport
        if let given = configuration.transport {
            transport = given
            defaultTransport = nil
        } else {
            let own = DefaultTransport(trusting: configuration.developmentCertificate)
            transport = own.transport
            defaultTransport = own
        }
        self.limiter = limiter
        secretNames = SecretNames(adding: configuration.secretNames)
        let pipeline = Result { [calls, configuration] () throws(ServiceError) in
            try Pipeline(configuration, limiter: limiter, transport: transport, owner: calls)
        }
        self.pipeline = pipeline
        configuration.tokens?.live.add(calls)
        let origin = if case .success(let pipeline) = pipeline { pipeline.builder.origin } else { nil as Origin? }
        hub = EventHub(of: origin?.description, observer: configuration.observe)
        if case .success(let pipeline) = pipeline {
            pipeline.provideBackground(calls: calls, events: hub, time: configuration.time)
        }
        interpreter = ResponseInterpreter(
            decoder: configuration.decoder, errorDetails: configuration.errorDetails,
            acceptedContentTypes: configuration.acceptedContentTypes,
            time: configuration.time)
    }

    /// Creates a client for the server at that URL.
    ///
    ///     let client = APIClient("https://api.example.com/v1") {
    ///         $0.rateLimit = .requests(5, per: .seconds(1))
    ///     }
    ///
    /// The closure runs at once, and may use what is isolated where you call this: `isolation` is the caller's actor.
    public init(
        _ baseURL: String, isolation: isolated (any Actor)? = #isolation,
        _ configure: (inout Configuration) -> Void = { _ in }
    ) {
        // Without the parameter it would count as isolated to the new actor, and accept no closure of another one.
        self.init(ServerEnvironment(name: "server", baseURL: baseURL), isolation: isolation, configure)
    }

    /// Creates a client for the server at that URL.
    public init(
        _ baseURL: URL, isolation: isolated (any Actor)? = #isolation,
        _ configure: (inout Configuration) -> Void = { _ in }
    ) {
        self.init(baseURL.absoluteString, isolation: isolation, configure)
    }

    /// Creates a client for a named server.
    public init(
        _ environment: ServerEnvironment, isolation: isolated (any Actor)? = #isolation,
        _ configure: (inout Configuration) -> Void = { _ in }
    ) {
        var configuration = Configuration(environment)
        configure(&configuration)
        self.init(configuration)
    }

    /// Runs the call and returns its response.
    ///
    /// Canceling the task ends the call with `.cancelled`, whatever it is waiting for, and leaves nothing behind.
    ///
    /// - Parameters:
    ///   - endpoint: The call.
    ///   - onProgress: Receives how much of the request's body has been sent, at most ten times a second and at the end
    ///     of each send. It is called in order and on no actor, and the upload waits for it. The bytes are those
    ///     that the transport has taken, which may be a megabyte ahead of the network.
    @discardableResult
    @concurrent
    public nonisolated func run<Response>(
        _ endpoint: Endpoint<Response>, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> Response {
        try await value(Response.self, of: endpoint.untyped, onProgress)
    }

    /// Runs the call for its effect, and ignores the body of a successful response.
    @discardableResult
    @concurrent
    public nonisolated func run(
        _ endpoint: Endpoint<NoContent>, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> NoContent {
        try await value(NoContent.self, of: endpoint.untyped, onProgress)
    }

    /// Runs the call that your own type describes. The type of the result determines how the response is decoded:
    ///
    ///     let page: MoviePage = try await client.run(MovieRoute.popular(page: 1))
    @concurrent
    public nonisolated func run<Response: Decodable & Sendable>(
        _ route: some EndpointConvertible, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> Response {
        try await value(Response.self, of: Endpoint<Response>(route).untyped, onProgress)
    }

    /// Runs the call that your own type describes, for its effect.
    @discardableResult
    @concurrent
    public nonisolated func run(
        _ route: some EndpointConvertible, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> NoContent {
        try await value(NoContent.self, of: Endpoint<NoContent>(route).untyped, onProgress)
    }

    /// Runs the call and returns its response with the status, the headers, the number of attempts and the duration.
    @concurrent
    public nonisolated func reply<Response>(
        to endpoint: Endpoint<Response>, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> Reply<Response> {
        try await reply(Response.self, of: endpoint.untyped, onProgress)
    }

    /// Runs a call that goes on where another has ended: in the same session, or not at all.
    @concurrent
    nonisolated func reply<Response>(
        to endpoint: Endpoint<Response>, in session: UUID?
    ) async throws(ServiceError) -> Reply<Response> {
        try await reply(Response.self, of: endpoint.untyped, in: session)
    }

    /// An executor that runs tasks on the threads that have their connections; `nil` if the transport has none, as on
    /// Apple's platforms.
    ///
    ///     await withTaskExecutorPreference(client.executor) {
    ///         await withDiscardingTaskGroup { group in
    ///             for id in ids { group.addTask { await visit(id) } }
    ///         }
    ///     }
    ///
    /// A call of such a task is not handed to another thread and back, which saves a part of its processor time. All
    /// such tasks share the threads of the transport. It is for tasks that mostly make calls, such as a crawler's or
    /// those of a server that asks others; <doc:Concurrency> has figures. What runs there holds up the connections of
    /// its thread, so it must not block or compute for long. What takes a tenth of a second is reported as
    /// ``ClientEvent/Kind/warned(_:)``, once a minute. Responses of more than 64 KiB are decoded elsewhere.
    ///
    /// What is isolated to an actor, such as the main actor, runs there as ever. `Task { }` does not inherit the
    /// preference; the child tasks of a group do. With `nil`, the operation runs as without it.
    public nonisolated var executor: (any TaskExecutor)? {
        (configuration.transport ?? defaultTransport?.transport)?.executor
    }

    /// The servers of the client: which of them are asked, and which are set aside.
    ///
    ///     for server in client.servers.snapshot { print(server) }
    public nonisolated var servers: ServersInUse {
        let pool = if case .success(let pipeline) = pipeline { pipeline.servers } else { nil as ServerPool? }
        return ServersInUse(pool: pool, time: configuration.time)
    }

    /// The number of running calls, now and whenever it changes. A slow listener receives only the latest number.
    public nonisolated var activity: AsyncStream<Int> { calls.activity }

    /// The events of the client from now on, in order. The stream ends when the client is shut down or released. Each
    /// listener receives all events.
    ///
    /// Without listeners, events cost nothing. Listeners receive the events of five milliseconds together, because
    /// waking a listener for each would cost more than a call. A listener that falls 10,000 events behind misses the
    /// oldest.
    public nonisolated var diagnostics: AsyncStream<ClientEvent> {
        hub.stream
    }

    /// Cancels all running calls except those that refresh a token. New calls may begin.
    public nonisolated func cancelAll() {
        calls.cancelAll()
    }

    /// Shuts down the client: new calls fail with `.invalidRequest` of the subject `.clientShutDown`, running calls are
    /// canceled. When it returns, nothing of the client runs any more. A transport, a limiter or a token store that
    /// you passed to the client is not shut down.
    ///
    /// A token refresh that makes its calls with this client finishes first, because its token would be lost if the
    /// server has just replaced it. That takes no longer than the `refreshTimeout` of the store. Then wait for the
    /// store to save the token: ``TokenStore/waitUntilSaved()``.
    ///
    /// It waits for every call to end, so the client's own middleware must not wait for it.
    public func shutdown() async {
        calls.endGrace()
        if let closing {
            // A shutdown that waits for a refresh must not be waited for by that refresh.
            if calls.isFinishing(TokenStore.refreshing) { return }
            return await closing.opened()
        }
        let closing = Latch()
        self.closing = closing
        await calls.close()
        let client = TransportContext.Client(hub)
        await defaultTransport?.end(for: client)
        await configuration.transport?.endSends(of: client)
        hub.finish()
        closing.open()
    }

    /// Refuses new calls, and shuts down the client once its running calls have finished, at the latest after `limit`.
    ///
    ///     await client.shutdown(within: .seconds(10))
    ///
    /// New calls fail at once, as after ``shutdown()``. Running calls continue, with their retries, redirects and the
    /// token refreshes that they need; so do streams. Those that still run after `limit` are canceled, as by
    /// ``shutdown()``. If this task is canceled or ``shutdown()`` is called in the meantime, they are canceled then.
    ///
    /// A list that is read page by page makes a call for each page, and an event stream one for each connection: they
    /// end with the current one.
    ///
    /// It waits for every call to end, so the client's own middleware must not wait for it.
    public func shutdown(within limit: Duration) async {
        let time = configuration.time
        await calls.finish(until: time.now.advanced(by: limit), time: time)
        await shutdown()
    }

    /// Returns the rules of a call with those options; `nil` for none.
    nonisolated func rules(for options: CallOptions?) -> BoxedRules {
        options.map { BoxedRules(configuration.rules(for: $0)) } ?? standardRules
    }

    deinit {
        hub.finish()
    }
}

extension APIClient {
    /// Removes what the cache has stored for that call, for all users, so that the next one is not answered from it.
    /// That one may still join an equal request that is under way, if the client shares such requests.
    ///
    ///     await client.removeCached(.friends(of: me.id))
    ///
    /// The URL is that of a call that begins now, with the common parameters of the client. If the endpoint has a name
    /// in the cache, ``Endpoint/cache(key:)``, what is stored under that name is removed. Without a cache, and for a
    /// call that could not be sent, there is nothing to remove.
    @concurrent
    public nonisolated func removeCached<Response>(_ endpoint: Endpoint<Response>) async {
        let endpoint = endpoint.untyped
        guard let cache = configuration.cache, endpoint.body?.isInMemory ?? true else { return }
        let rules = rules(for: endpoint.ownOptions).rules
        guard let request = requestToLookUp(for: endpoint, by: rules),
            request.body == nil || CacheInquiry(request, rules: rules.cache).isRead
        else { return }
        await cache.remove(.resource(CacheKey.Resource(request, name: rules.cache.key)))
    }
}

// Calls that do not compile, with a reason. Without these, the compiler would choose the overload for `NoContent` when
// the type of a result does not fit, and report that `NoContent` cannot be assigned to it.

extension APIClient {
    /// Reports that a type is no response.
    @available(*, unavailable, message: "the type of a response has to conform to Decodable and Sendable")
    public nonisolated func run<Response>(
        _ endpoint: Endpoint<NoContent>, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> Response {
        throw .cancelled
    }

    /// Reports that a type is no response.
    @available(*, unavailable, message: "the type of a response has to conform to Decodable and Sendable")
    public nonisolated func run<Response>(
        _ route: some EndpointConvertible, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> Response {
        throw .cancelled
    }

    /// Reports that the response has another type.
    @available(*, unavailable, message: "the endpoint's response has another type than this result")
    public nonisolated func run<Response, Other>(
        _ endpoint: Endpoint<Response>, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> Other {
        throw .cancelled
    }
}

extension APIClient: OpaqueReflectable {
    /// The server and the main rules, without secrets.
    public nonisolated var description: String { "APIClient(\(configuration))" }
}
