#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Runs the calls of one server.
///
///     let client = APIClient("https://api.example.com/v1") {
///         $0.tokens = tokens
///         $0.rateLimit = .requests(5, per: .seconds(1))
///     }
///     let friends = try await client.run(.friends(of: me.id))
///
/// Calls do not wait for each other on the actor, and an answer is decoded on none: however large it is, it delays no
/// other call. A call ends when its task is cancelled, within milliseconds, with `.cancelled`. What is wrong with the
/// base URL or the configuration is told by every call, as `.invalidRequest`.
public actor APIClient: ConfigurableClient {
    /// The rules of the client.
    public nonisolated let configuration: Configuration
    /// The limiter that the client keeps to; another client may be given it too.
    public nonisolated let limiter: RateLimiter

    /// What makes and sends requests; an error if the configuration makes no sense, which every call then tells.
    private nonisolated let pipeline: Result<Pipeline, ServiceError>
    private nonisolated let interpreter: ResponseInterpreter
    private nonisolated let secretNames: SecretNames
    nonisolated let calls = CallsInFlight()
    private nonisolated let hub: EventHub
    private nonisolated let ownTransport: (any Transport)?
    private var closing: Flight<Void, Never>?

    /// Makes a client with those rules.
    public init(_ configuration: Configuration) {
        self.configuration = configuration
        let limiter = configuration.limiter ?? RateLimiter(configuration.rateLimit, time: configuration.time)
        let transport = configuration.transport ?? Self.platformTransport
        self.limiter = limiter
        hub = EventHub(observer: configuration.observe)
        secretNames = SecretNames(adding: configuration.secretNames)
        ownTransport = configuration.transport == nil ? transport : nil
        pipeline = Result { () throws(ServiceError) in
            try Pipeline(configuration, limiter: limiter, transport: transport)
        }
        interpreter = ResponseInterpreter(
            decoder: configuration.decoder, rejectionDetails: configuration.rejectionDetails,
            acceptedContentTypes: configuration.acceptedContentTypes,
            time: configuration.time)
    }

    /// Runs the call and returns what it promises.
    ///
    /// Cancelling the task ends the call with `.cancelled`, whatever it is doing, and leaves nothing behind.
    @discardableResult
    @concurrent
    public nonisolated func run<Response>(_ endpoint: Endpoint<Response>) async throws(ServiceError) -> Response {
        try await answer(to: endpoint).value
    }

    /// Runs the call for its effect: whatever comes with a success is not read.
    @discardableResult
    @concurrent
    public nonisolated func run(_ endpoint: Endpoint<NoContent>) async throws(ServiceError) -> NoContent {
        try await answer(to: endpoint).value
    }

    /// Runs the call that a type of your own describes. What it returns is what you ask for:
    ///
    ///     let page: MoviePage = try await client.run(MovieRoute.popular(page: 1))
    @concurrent
    public nonisolated func run<Response: Decodable & Sendable>(
        _ route: some EndpointConvertible
    ) async throws(ServiceError) -> Response {
        try await answer(to: Endpoint(route)).value
    }

    /// Runs the call that a type of your own describes, for its effect.
    @discardableResult
    @concurrent
    public nonisolated func run(_ route: some EndpointConvertible) async throws(ServiceError) -> NoContent {
        try await answer(to: Endpoint(route)).value
    }

    /// Runs the call and returns what it promises, with the status, the headers and what it took.
    @concurrent
    public nonisolated func reply<Response>(
        to endpoint: Endpoint<Response>
    ) async throws(ServiceError) -> Reply<Response> {
        try await answer(to: endpoint)
    }

    /// The number of calls in flight: the present one, and each new one. A listener that is slow sees the latest.
    public nonisolated var activity: AsyncStream<Int> { calls.activity }

    /// What happens from now on, in order; ends when the client is shut down or gone. Each listener gets all events.
    ///
    /// Nothing is computed while nobody listens. A listener that falls ten thousand events behind misses the oldest.
    public nonisolated var events: AsyncStream<ClientEvent> {
        hub.stream(keeping: .bufferingNewest(10_000))
    }

    /// Cancels all calls that are in flight. New ones may begin. A call that refreshes a token goes on.
    public nonisolated func cancelAll() {
        calls.cancelAll()
    }

    /// Ends the client: new calls fail with `.invalidRequest(.clientShutDown)`, running ones are cancelled. When it
    /// returns, nothing of the client runs any more. A transport, a limiter or a token store that it was given is
    /// left alone.
    ///
    /// It waits for every call to end, so a middleware of the client must not wait for it.
    public func shutdown() async {
        if let closing { return await closing.landed() }
        let closing = Flight<Void, Never>()
        self.closing = closing
        await calls.close()
        await ownTransport?.shutdown()
        hub.finish()
        closing.land(.success(()))
    }

    /// What would be sent and by which rules, as text: a redacted cURL command, the limits, and whether it may be
    /// tried again and why.
    public nonisolated func explain<Response>(_ endpoint: Endpoint<Response>) -> String {
        let rules = configuration.rules(for: endpoint.options)
        do throws(ServiceError) {
            if let problem = rules.problem { throw .badSetting(problem) }
            let builder = try pipeline.get().builder
            if let problem = limiter.problem(withCost: rules.permits) { throw .badSetting(problem) }
            let request = try builder.request(for: endpoint, rules: rules, isSigned: configuration.signs(rules))
            return Explanation(request: request, rules: rules, configuration: configuration).text
        } catch {
            return "Nothing would be sent. \(error)"
        }
    }

    deinit {
        hub.finish()
    }
}

extension APIClient {
    /// Runs a call whose response is wanted as a value: it ends when that is decoded.
    private nonisolated func answer<Response>(
        to endpoint: Endpoint<Response>
    ) async throws(ServiceError) -> Reply<Response> {
        let call = try begin(endpoint, delivery: .whole)
        do throws(ServiceError) {
            let (response, url) = try await send(endpoint, as: call)
            call.note(.decoding)
            let value = try interpreter.value(
                Response.self, below: endpoint.envelope, in: response, by: endpoint.options.decoder
            ) {
                redactor(for: call)
            }
            let reply = Reply(
                value: value, status: response.status, headers: response.headers,
                attempts: call.read { $0.attempts }, duration: call.age, timings: response.timings,
                source: response.hasLeftOrigin ? nil : response.redirectedTo ?? url)
            calls.end(call, telling: .succeeded(attempts: reply.attempts, after: reply.duration))
            return reply
        } catch {
            throw end(call, with: error)
        }
    }

    /// Begins a call, which lasts until somebody ends it.
    nonisolated func begin<Response>(
        _ endpoint: Endpoint<Response>, delivery: TransportContext.Delivery
    ) throws(ServiceError) -> Call {
        if Task.isCancelled { throw .cancelled }
        let call = Call(
            id: calls.nextID(), method: endpoint.method, path: endpoint.path, delivery: delivery,
            rules: configuration.rules(for: endpoint.options), time: configuration.time, events: hub)
        try calls.begin(call)
        call.tell(.began)
        return call
    }

    /// Builds the request and sends it through the layers; the response with the URL that was asked.
    nonisolated func send<Response>(
        _ endpoint: Endpoint<Response>, as call: Call
    ) async throws(ServiceError) -> (response: HTTPResponse, url: HTTPURL) {
        if let problem = call.rules.problem { throw .badSetting(problem) }
        let pipeline = try pipeline.get()
        let session = try await session(for: call)
        let request = try pipeline.builder.request(for: endpoint, rules: call.rules, isSigned: session != nil)
        return (try await pipeline.send(request, as: call, signedFor: session), request.url)
    }

    /// What a response means that is not a success.
    nonisolated func error(of response: HTTPResponse, to call: Call) -> ServiceError {
        interpreter.error(of: response, redactor: redactor(for: call))
    }

    /// Ends a call that has failed; the error that its caller gets.
    nonisolated func end(_ call: Call, with error: ServiceError) -> ServiceError {
        // Whatever broke when the caller left, it is the leaving that ended the call.
        let error = Task.isCancelled ? .cancelled : error
        calls.end(call, telling: .ended(error, attempts: call.read { $0.attempts }, after: call.age))
        return error
    }

    private nonisolated func redactor(for call: Call) -> Redactor {
        call.redactor(secretNames)
    }

    /// The session that is there when the call begins, and that signs it; `nil` for a call that is not signed.
    private nonisolated func session(for call: Call) async throws(ServiceError) -> UUID? {
        guard call.rules.authentication != .none else { return nil }
        guard let tokens = configuration.tokens else {
            guard call.rules.authentication == .optional else { throw .signInRequired }
            return nil
        }
        // A call that the store's own refresh makes cannot wait for that refresh.
        guard !tokens.isRefreshingHere else { return nil }
        if let present = tokens.presentSession { return present }
        call.note(.waitingForToken)
        do throws(ServiceError) {
            return try await call.runInChild { () async throws(ServiceError) in try await tokens.session() }
        } catch .signInRequired where call.rules.authentication == .optional {
            return nil
        }
    }

    private static var platformTransport: any Transport {
        #if os(Linux)
        CurlTransport()
        #elseif URLSession || canImport(Darwin)
        URLSessionTransport()
        #else
        UnavailableTransport(
            advice: "none is built in on this platform; set `transport` in the client's configuration, or try the "
                + "package trait URLSession")
        #endif
    }
}

extension APIClient: CustomStringConvertible, CustomReflectable {
    /// The server and the first rules; no secret.
    public nonisolated var description: String { "APIClient(\(configuration))" }
    /// Shows the description only.
    public nonisolated var customMirror: Mirror { Mirror(self, children: ["client": description]) }
}
