#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How a call begins, is built and sent, and ends.
extension APIClient {
    /// Runs a call and returns the value of its response.
    @inline(__always)
    nonisolated func value<Response: Decodable & Sendable>(
        _ type: Response.Type, of endpoint: UntypedEndpoint, _ onProgress: UploadProgress.Report?
    ) async throws(ServiceError) -> Response {
        try await answer(to: endpoint, onProgress) { (sent, call) throws(ServiceError) in
            try value(type, from: sent, to: endpoint, of: call)
        }
    }

    /// Runs a call and returns its response with what is known about it.
    @inline(__always)
    nonisolated func reply<Response: Decodable & Sendable>(
        _ type: Response.Type, of endpoint: UntypedEndpoint, _ onProgress: UploadProgress.Report? = nil,
        in session: UUID? = nil
    ) async throws(ServiceError) -> Reply<Response> {
        try await answer(to: endpoint, onProgress, in: session) { (sent, call) throws(ServiceError) in
            try reply(type, from: sent, to: endpoint, of: call)
        }
    }

    /// Decodes the response, ends the call, and returns what its caller wants.
    private typealias Reading<Result> = (Sent, Call) throws(ServiceError) -> Result

    /// Runs a call whose response is decoded. The call ends when that is done.
    ///
    /// Not inlined, like the steps that follow: see `Pipeline`.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    private nonisolated func answer<Result: Sendable>(
        to endpoint: UntypedEndpoint, _ onProgress: UploadProgress.Report?, in session: UUID? = nil,
        _ read: Reading<Result>
    ) async throws(ServiceError) -> Result {
        let call = try begin(endpoint, delivery: .whole, onUpload: onProgress)
        do throws(ServiceError) {
            return try await configuration.time.run { () async throws(ServiceError) -> Result in
                let sent = try await send(endpoint, as: call, in: session)
                do throws(ServiceError) {
                    if sent.response.isLarge, isOnTransport { return try await readElsewhere(sent, of: call, read) }
                    return try read(sent, call)
                } catch {
                    // What was stored may be older than the type of the response.
                    guard case .decodingFailed = error, sent.response.isReplaceable else { throw error }
                    return try await reload(endpoint, as: call, in: sent.session, read)
                }
            }
        } catch {
            throw end(call, with: error)
        }
    }

    /// Whether the task runs on the thread that has the transport's connections.
    private nonisolated var isOnTransport: Bool {
        guard let executor else { return false }
        return withUnsafeCurrentTask { $0?.unownedTaskExecutor == executor.asUnownedTaskExecutor() }
    }

    /// Decodes a large response where that holds up no connections.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    private nonisolated func readElsewhere<Result: Sendable>(
        _ sent: Sent, of call: Call, _ read: Reading<Result>
    ) async throws(ServiceError) -> Result {
        try await withTaskExecutorPreference(globalConcurrentExecutor) { () async throws(ServiceError) in
            try read(sent, call)
        }
    }

    /// Asks the server again, and decodes its response.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    private nonisolated func reload<Result: Sendable>(
        _ endpoint: UntypedEndpoint, as call: Call, in session: UUID?, _ read: Reading<Result>
    ) async throws(ServiceError) -> Result {
        try read(try await send(endpoint, as: call, in: session, reloading: true), call)
    }

    /// What a call has sent, and the response.
    struct Sent {
        let response: HTTPResponse
        /// The URL of the request.
        let url: HTTPURL
        /// The session that signed the request; `nil` if none did.
        let session: UUID?
    }

    /// Decodes the response, and ends the call.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    private nonisolated func value<Response: Decodable & Sendable>(
        _ type: Response.Type, from sent: Sent, to endpoint: UntypedEndpoint, of call: Call
    ) throws(ServiceError) -> Response {
        let value = try decoded(type, from: sent, to: endpoint, of: call)
        _ = try endDecoded(call)
        return value
    }

    /// Decodes the response, and ends the call.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    private nonisolated func reply<Response: Decodable & Sendable>(
        _ type: Response.Type, from sent: Sent, to endpoint: UntypedEndpoint, of call: Call
    ) throws(ServiceError) -> Reply<Response> {
        let value = try decoded(type, from: sent, to: endpoint, of: call)
        let (attempts, duration) = try endDecoded(call)
        return Reply(
            value, from: sent.response, at: sent.url, attempts: attempts, duration: duration, session: sent.session)
    }

    private nonisolated func decoded<Response: Decodable & Sendable>(
        _ type: Response.Type, from sent: Sent, to endpoint: UntypedEndpoint, of call: Call
    ) throws(ServiceError) -> Response {
        call.note(.decoding)
        return try interpreter.value(
            type, below: endpoint.envelope, in: sent.response, by: endpoint.ownOptions?.decoder, for: call,
            hasGraphQLErrors: endpoint.hasGraphQLErrors
        ) {
            redactor(for: call)
        }
    }

    /// Ends a call whose response was decoded.
    @inline(never)
    private nonisolated func endDecoded(_ call: Call) throws(ServiceError) -> (attempts: Int, duration: Duration) {
        let now = configuration.time.now
        try call.throwIfStopped(at: now)
        let (attempts, duration) = (call.attempts, call.settings.started.duration(to: now))
        calls.end(call, reporting: .succeeded(attempts: attempts, after: duration))
        return (attempts, duration)
    }

    /// Begins a call. It lasts until it is ended explicitly.
    @inline(never)
    nonisolated func begin(
        _ endpoint: UntypedEndpoint, delivery: TransportContext.Delivery, acceptsCached: Bool = true,
        onUpload: UploadProgress.Report? = nil, eventIDs reach: EventIDReach = .ownOrigin
    ) throws(ServiceError) -> Call {
        if Task.isCancelled { throw .cancelled }
        let rules = rules(for: endpoint.ownOptions)
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
    nonisolated func settings(
        for endpoint: UntypedEndpoint, rules: BoxedRules, delivery: TransportContext.Delivery = .whole,
        acceptsCached: Bool = true, _ onUpload: UploadProgress.Report? = nil,
        eventIDs reach: EventIDReach = .ownOrigin
    ) -> CallSettings {
        CallSettings(
            id: calls.nextID(), method: endpoint.method, path: endpoint.path, delivery: delivery,
            acceptsCached: acceptsCached, rules: rules, time: configuration.time, events: hub, onUpload: onUpload,
            eventIDs: reach)
    }

    /// Reports something that is about no call of its own, or about one that is over.
    nonisolated func warn(_ text: String, about endpoint: String) {
        guard hub.hasListeners else { return }
        hub.send(
            ClientEvent(
                call: calls.nextID(), endpoint: endpoint, at: configuration.time.now, kind: .warned(text.printable)))
    }

    /// Binds a call to a session before its request is built.
    nonisolated func bind(_ call: Call, to session: UUID?) {
        guard let session else { return }
        call.bind(to: session)
        // The session may have ended before it was bound. Then nothing else would stop the call.
        if let reason = configuration.tokens?.live.end(of: session) { call.stop(reason) }
    }

    /// Continues a call whose endpoint was not known when it began. It keeps its number, its beginning and its session.
    nonisolated func continued(_ call: Call, with endpoint: UntypedEndpoint) -> Call {
        let next = Call(
            CallSettings(
                id: call.settings.id, method: endpoint.method, path: endpoint.path, delivery: call.settings.delivery,
                acceptsCached: call.settings.acceptsCached, rules: rules(for: endpoint.ownOptions),
                time: configuration.time, events: hub, started: call.settings.started), in: call.scope)
        if configuration.signs(next.rules), let session = call.session { next.bind(to: session) }
        calls.replace(call, by: next)
        return next
    }

    /// Builds the request and sends it through the layers.
    ///
    /// A call that goes on where another has ended is sent in the same `session`, or not at all.
    @inline(never)
    nonisolated func send(
        _ endpoint: UntypedEndpoint, as call: Call, in session: UUID? = nil, reloading: Bool = false
    ) async throws(ServiceError) -> Sent {
        let transmission = try beginTransmission(of: call, in: session, reloading: reloading)
        let request = try await request(for: endpoint, as: call)
        let response = try await send(request, in: transmission)
        return Sent(response: response, url: request.url, session: transmission.session)
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
    nonisolated func request(
        for endpoint: UntypedEndpoint, as call: Call
    ) async throws(ServiceError) -> HTTPRequest {
        guard endpoint.body != nil else { return try request(for: endpoint, as: call, with: BodyFiles()) }
        var request = try request(for: endpoint, as: call, with: await call.files(of: endpoint.body))
        if let options = endpoint.ownOptions { try await call.addDigests(options, to: &request) }
        return request
    }

    /// Builds the request.
    @inline(never)
    private nonisolated func request(
        for endpoint: UntypedEndpoint, as call: Call, with files: BodyFiles
    ) throws(ServiceError) -> HTTPRequest {
        let settings = call.settings
        if let problem = settings.rules.problem { throw .badSetting(problem) }
        return try pipeline.get().builder.request(for: endpoint, key: settings.rules.idempotencyKey, files: files)
    }

    /// Builds the request to look up in the cache, and opens no file for that. Returns `nil` if it cannot be built:
    /// then no call was sent, and nothing is stored.
    nonisolated func requestToLookUp(for endpoint: UntypedEndpoint, by rules: CallRules) -> HTTPRequest? {
        try? pipeline.get().builder.request(for: endpoint, key: rules.idempotencyKey, files: BodyFiles())
    }

    /// Builds the request once more, as another call would, if it might differ; `nil` if all calls add the same.
    nonisolated func requestLikeNextCall(
        for endpoint: UntypedEndpoint, as call: Call
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

extension HTTPResponse {
    /// Whether it takes too long to decode the body to keep a thread with connections for that.
    fileprivate var isLarge: Bool { body.bytes.map { $0.count > 64 << 10 } ?? false }
}
