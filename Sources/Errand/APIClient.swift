#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A client of one server, which runs its calls.
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
    nonisolated let calls = CallsInFlight()
    private nonisolated let hub: EventHub
    private nonisolated let defaultTransport: DefaultTransport?
    private var closing: Promise<Void, Never>?

    /// Creates a client with that configuration.
    public init(_ configuration: Configuration) {
        var configuration = configuration
        // Whatever its name is, a key is hidden like a value with a well-known one.
        if let name = configuration.credentials?.name { configuration.secretNames.insert(name) }
        self.configuration = configuration
        let limiter = configuration.limiter ?? RateLimiter(configuration.rateLimit, time: configuration.time)
        let transport: any Transport
        if let given = configuration.transport {
            transport = given
            defaultTransport = nil
        } else {
            let own = DefaultTransport()
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
        if configuration.cache != nil, case .success(let pipeline) = pipeline {
            pipeline.provideBackground(calls: calls, events: hub)
        }
        interpreter = ResponseInterpreter(
            decoder: configuration.decoder, rejectionDetails: configuration.rejectionDetails,
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
    ///     of each attempt. It is called in order and on no actor, and the upload waits for it. The bytes are those
    ///     that the transport has taken, which may be a megabyte ahead of the network.
    @discardableResult
    @concurrent
    public nonisolated func run<Response>(
        _ endpoint: Endpoint<Response>, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> Response {
        try await answer(to: endpoint, onProgress).value
    }

    /// Runs the call for its effect, and ignores the body of a successful response.
    @discardableResult
    @concurrent
    public nonisolated func run(
        _ endpoint: Endpoint<NoContent>, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> NoContent {
        try await answer(to: endpoint, onProgress).value
    }

    /// Runs the call that your own type describes. The type of the result determines how the response is decoded:
    ///
    ///     let page: MoviePage = try await client.run(MovieRoute.popular(page: 1))
    @concurrent
    public nonisolated func run<Response: Decodable & Sendable>(
        _ route: some EndpointConvertible, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> Response {
        try await answer(to: Endpoint(route), onProgress).value
    }

    /// Runs the call that your own type describes, for its effect.
    @discardableResult
    @concurrent
    public nonisolated func run(
        _ route: some EndpointConvertible, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> NoContent {
        try await answer(to: Endpoint(route), onProgress).value
    }

    /// Runs the call and returns its response with the status, the headers, the number of attempts and the duration.
    @concurrent
    public nonisolated func reply<Response>(
        to endpoint: Endpoint<Response>, onProgress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ServiceError) -> Reply<Response> {
        try await answer(to: endpoint, onProgress)
    }

    /// Runs a call that goes on where another has ended: in the same session, or not at all.
    @concurrent
    nonisolated func reply<Response>(
        to endpoint: Endpoint<Response>, in session: UUID?
    ) async throws(ServiceError) -> Reply<Response> {
        try await answer(to: endpoint, nil, in: session)
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
    /// you passed to the client is not affected.
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
            return await closing.completion()
        }
        let closing = Promise<Void, Never>()
        self.closing = closing
        await calls.close()
        await defaultTransport?.end(for: ObjectIdentifier(hub))
        hub.finish()
        closing.complete(.success(()))
    }

    deinit {
        hub.finish()
    }
}

extension APIClient {
    /// Runs a call whose response is decoded. The call ends when that is done.
    ///
    /// Not inlined, like the steps that follow: see `Pipeline`.
    @inline(never)
    private nonisolated func answer<Response>(
        to endpoint: Endpoint<Response>, _ onProgress: UploadProgress.Report?, in session: UUID? = nil
    ) async throws(ServiceError) -> Reply<Response> {
        let call = try begin(endpoint, delivery: .whole, onUpload: onProgress)
        do throws(ServiceError) {
            return try await configuration.time.run { () async throws(ServiceError) -> Reply<Response> in
                let sent = try await send(endpoint, as: call, in: session)
                do throws(ServiceError) {
                    return try reply(from: sent.response, at: sent.url, in: sent.session, to: endpoint, of: call)
                } catch .decodingFailed where sent.response.provenance.isReplaceable {
                    // What was stored may be older than the type of the response.
                    let fresh = try await send(endpoint, as: call, in: sent.session, reloading: true)
                    return try reply(from: fresh.response, at: fresh.url, in: fresh.session, to: endpoint, of: call)
                }
            }
        } catch {
            throw end(call, with: error)
        }
    }

    /// Decodes the response, and ends the call.
    @inline(never)
    private nonisolated func reply<Response>(
        from response: HTTPResponse, at url: HTTPURL, in session: UUID?, to endpoint: Endpoint<Response>, of call: Call
    ) throws(ServiceError) -> Reply<Response> {
        call.note(.decoding)
        let value = try interpreter.value(
            Response.self, below: endpoint.envelope, in: response, by: endpoint.options.decoder, for: call
        ) {
            redactor(for: call)
        }
        let now = configuration.time.now
        try call.throwIfStopped(at: now)
        let reply = Reply(
            value: value, status: response.status, url: response.redirectedTo ?? url, headers: response.headers,
            attempts: call.attempts, duration: call.settings.started.duration(to: now), timings: response.timings,
            cache: response.provenance.cache, hasLeftOrigin: response.provenance.hasLeftOrigin, session: session)
        calls.end(call, reporting: .succeeded(attempts: reply.attempts, after: reply.duration))
        return reply
    }

    /// Begins a call. It lasts until it is ended explicitly.
    @inline(never)
    nonisolated func begin<Response>(
        _ endpoint: Endpoint<Response>, delivery: TransportContext.Delivery, acceptsCached: Bool = true,
        onUpload: UploadProgress.Report? = nil, eventIDs reach: EventIDReach = .ownOrigin
    ) throws(ServiceError) -> Call {
        if Task.isCancelled { throw .cancelled }
        let rules = configuration.rules(for: endpoint.options)
        let call = Call(
            settings(
                for: endpoint, rules: rules, delivery: delivery, acceptsCached: acceptsCached, onUpload,
                eventIDs: reach))
        do throws(ServiceError) {
            try calls.begin(call)
        } catch {
            throw call.naming(error)
        }
        call.report(.began)
        return call
    }

    /// Returns the settings of the next call.
    nonisolated func settings<Response>(
        for endpoint: Endpoint<Response>, rules: consuming CallRules, delivery: TransportContext.Delivery = .whole,
        acceptsCached: Bool = true, _ onUpload: UploadProgress.Report? = nil,
        eventIDs reach: EventIDReach = .ownOrigin
    ) -> CallSettings {
        CallSettings(
            id: calls.nextID(), method: endpoint.method, path: endpoint.path, delivery: delivery,
            acceptsCached: acceptsCached, rules: rules, time: configuration.time, events: hub, onUpload: onUpload,
            eventIDs: reach)
    }

    /// Binds a call to a session before its request is built.
    nonisolated func bind(_ call: Call, to session: UUID?) {
        guard let session else { return }
        call.bind(to: session)
        // The session may have ended before it was bound. Then nothing else would stop the call.
        if let reason = configuration.tokens?.live.end(of: session) { call.stop(reason) }
    }

    /// Continues a call whose endpoint was not known when it began. It keeps its number, its beginning and its session.
    nonisolated func continued<Response>(_ call: Call, with endpoint: Endpoint<Response>) -> Call {
        let next = Call(
            CallSettings(
                id: call.settings.id, method: endpoint.method, path: endpoint.path, delivery: call.settings.delivery,
                acceptsCached: call.settings.acceptsCached, rules: configuration.rules(for: endpoint.options),
                time: configuration.time, events: hub, started: call.settings.started), in: call.scope)
        if configuration.signs(next.rules), let session = call.session { next.bind(to: session) }
        calls.replace(call, by: next)
        return next
    }

    /// Builds the request and sends it through the layers. Returns the response, the URL of the request, and the
    /// session that signed it.
    ///
    /// A call that goes on where another has ended is sent in the same `session`, or not at all.
    nonisolated func send<Response>(
        _ endpoint: Endpoint<Response>, as call: Call, in session: UUID? = nil, reloading: Bool = false
    ) async throws(ServiceError) -> (response: HTTPResponse, url: HTTPURL, session: UUID?) {
        let transmission = try beginTransmission(of: call, in: session, reloading: reloading)
        let request = try await request(for: endpoint, as: call)
        let response = try await send(request, in: transmission)
        return (response, request.url, transmission.session)
    }

    @inline(never)
    private nonisolated func beginTransmission(
        of call: Call, in session: UUID?, reloading: Bool
    ) throws(ServiceError) -> Transmission {
        let layer = try pipeline.get().session
        return call.beginTransmission(
            in: session ?? layer.present(for: call.settings.rules.authentication), reloading: reloading)
    }

    /// Sends a request through the layers.
    nonisolated func send(
        _ request: HTTPRequest, in transmission: Transmission
    ) async throws(ServiceError) -> HTTPResponse {
        try await pipeline.get().send(request, in: transmission)
    }

    /// Finds the session that signs the request, before it is sent.
    nonisolated func sign(_ request: HTTPRequest, in transmission: Transmission) async throws(ServiceError) {
        try await pipeline.get().session.sign(request, in: transmission)
    }

    /// Builds the request.
    nonisolated func request<Response>(
        for endpoint: Endpoint<Response>, as call: Call
    ) async throws(ServiceError) -> HTTPRequest {
        let files = try await endpoint.body == nil ? BodyFiles() : call.files(of: endpoint.body)
        return try request(for: endpoint, as: call, with: files)
    }

    /// Builds the request.
    @inline(never)
    private nonisolated func request<Response>(
        for endpoint: Endpoint<Response>, as call: Call, with files: BodyFiles
    ) throws(ServiceError) -> HTTPRequest {
        let settings = call.settings
        if let problem = settings.rules.problem { throw .badSetting(problem) }
        return try pipeline.get().builder.request(for: endpoint, rules: settings.rules, files: files)
    }

    /// Builds the request once more, as another call would, if it might differ; `nil` if all calls add the same.
    nonisolated func requestLikeNextCall<Response>(
        for endpoint: Endpoint<Response>, as call: Call
    ) async throws(ServiceError) -> HTTPRequest? {
        let isSame = configuration.headersForEachCall == nil && configuration.parametersForEachCall == nil
        guard !isSame else { return nil }
        return try await request(for: endpoint, as: call)
    }

    /// Returns the error for a response that is not a success.
    nonisolated func error(of response: HTTPResponse, to call: Call) -> ServiceError {
        interpreter.error(of: response, redactor: redactor(for: call))
    }

    /// Ends a call that has failed. Returns the error for its caller.
    @inline(never)
    nonisolated func end(_ call: Call, with error: ServiceError) -> ServiceError {
        // After a cancellation, anything may fail; the cancellation is what ended the call.
        let error = Task.isCancelled ? .cancelled : call.naming(error)
        calls.end(call, reporting: .ended(error, attempts: call.attempts, after: call.settings.age))
        return error
    }

    /// The origin of the server; `nil` if it has no valid URL.
    nonisolated var server: String? { hub.server }

    nonisolated func redactor(for call: Call) -> Redactor {
        call.redactor(secretNames)
    }
}

extension APIClient: CustomStringConvertible, CustomReflectable {
    /// The server and the main rules, without secrets.
    public nonisolated var description: String { "APIClient(\(configuration))" }
    /// A mirror that shows only the description.
    public nonisolated var customMirror: Mirror { Mirror(self, children: ["client": description]) }
}
