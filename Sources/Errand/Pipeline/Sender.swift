import ErrandJSON

/// The last layer before the transport: checks the final request, limits the time of the send, and translates the
/// transport's errors.
///
/// A class, because what waits in it would copy each of its many fields.
final class Sender: Sendable {
    let transport: any Transport
    private let features: TransportFeatures
    private let notice: Notice?
    let limiter: RateLimiter
    let boundary: OriginBoundary
    let bodyLimit: Int
    let cleartext: CleartextRule
    private let longestPause: Duration
    /// Whether the cache asks which of two answers is the later one.
    private let notesStarts: Bool
    /// The names of secret response headers; `nil` if the user adds none to the well-known ones.
    private let secretNames: SecretNames?
    /// Shows bodies in events; `nil` if none are shown.
    private let bodies: ShownBodies?

    init(
        transport: any Transport, limiter: RateLimiter, boundary: OriginBoundary, bodyLimit: Int,
        cleartext: CleartextRule,
        longestPause: Duration, notesStarts: Bool, secretNames: SecretNames?, bodies: ShownBodies?
    ) {
        self.transport = transport
        features = transport.features
        notice = transport.warning.map(Notice.shared)
        self.limiter = limiter
        self.boundary = boundary
        self.bodyLimit = bodyLimit
        self.cleartext = cleartext
        self.longestPause = longestPause
        self.notesStarts = notesStarts
        self.secretNames = secretNames
        self.bodies = bodies
    }

    func send(_ request: HTTPRequest, _ context: CallContext) async throws(ServiceError) -> HTTPResponse {
        let transmission = context.transmission
        try check(request, in: transmission)
        let start = transmission.time.now
        let send = makeSend(context)
        defer { send.end() }
        do throws(ServiceError) {
            let response = try await transmission.run(in: send.scope, at: start) {
                (_: CallScope) async throws(ServiceError) in
                try send.begin(at: start)
                let observesStops = features.contains(.observesStops)
                guard observesStops else { return try await exchangeInChild(request, context, send) }
                return try await exchange(request, context, send)
            }
            if let way = context.way { way.noteHead(at: send.head ?? transmission.time.now) }
            noteAnswer(response, to: request, context, since: start)
            if notesStarts { transmission.noteAnswered(since: start) }
            return response
        } catch {
            noteFailure(error, context, since: start)
            throw error
        }
    }

    @inline(never)
    private func makeSend(_ context: CallContext) -> Send {
        let transmission = context.transmission
        // A middleware may pass on a context of its own, without a permit.
        let permit =
            context.permit
            ?? Permit(
                of: limiter(of: transmission), cost: transmission.rules.permits, taken: nil,
                before: transmission.deadline)
        return Send(
            timeout: transmission.rules.timeout, until: transmission.deadline, time: transmission.time,
            reporter: context.isHedge ? HedgeReporter(transmission) : transmission, permit: permit,
            under: TokenStore.refreshing, features: features)
    }

    @inline(never)
    private func noteAnswer(
        _ response: HTTPResponse, to request: HTTPRequest, _ context: CallContext, since start: Instant
    ) {
        let transmission = context.transmission
        transmission.settings.upload?.finish()
        // With these statuses a server has left the request to another, or asks for another token. With any other it
        // may have acted on the request.
        switch response.status {
        case 307, 308, 401: break
        default: transmission.noteActed()
        }
        transmission.report(
            .answered(
                status: response.status, bytes: response.body.length ?? 0,
                after: start.duration(to: transmission.time.now), timings: response.timings))
        if transmission.settings.isHeard { reportContent(of: response, to: request, transmission) }
        applyPacing(of: response, to: request, context)
    }

    @inline(never)
    private func reportContent(of response: HTTPResponse, to request: HTTPRequest, _ transmission: Transmission) {
        if let text = bodies?.text(of: response.body, response.headers, of: transmission) {
            transmission.report(.answeredBody(text))
        }
        let deprecation = Deprecation.news(
            in: response.headers, of: transmission.settings.endpointNumber, at: request.url.origin,
            on: transmission.time.date
        ) {
            transmission.redactor(secretNames ?? .standard)
        }
        if let deprecation { transmission.report(.deprecated(deprecation)) }
    }

    @inline(never)
    private func noteFailure(_ error: ServiceError, _ context: CallContext, since start: Instant) {
        let transmission = context.transmission
        transmission.settings.upload?.finish()
        if error.mayHaveReachedServer { transmission.noteActed() }
        if context.way?.isLost == true { return }
        transmission.report(.failed(error, after: start.duration(to: transmission.time.now)))
    }

    /// Checks the request as the last middleware left it.
    @inline(never)
    private func check(_ request: HTTPRequest, in transmission: Transmission) throws(ServiceError) {
        do throws(ServiceError) {
            try request.checkSyntax()
            try request.checkCleartext(by: cleartext, isSigned: false)
        } catch {
            // A middleware may make a retry, a replay or a redirected request invalid; an earlier one was sent.
            throw transmission.wasSent ? error.markedAsSent(request.method) : error
        }
    }

    @inline(never)
    private func exchangeInChild(
        _ request: HTTPRequest, _ context: CallContext, _ send: Send
    ) async throws(ServiceError) -> HTTPResponse {
        try await send.scope.runInChild { () async throws(ServiceError) in
            try await self.exchange(request, context, send)
        }
    }

    @inline(never)
    private func exchange(
        _ request: HTTPRequest, _ context: CallContext, _ send: Send
    ) async throws(ServiceError) -> HTTPResponse {
        let transmission = context.transmission
        if !features.contains(.usesPermits), !send.usePermit() { try await send.takePermit() }
        // As late as possible: the process may have been stopped, or the call may have waited for a permit.
        try send.checkLock()
        do {
            let response = try await transport.send(
                beginSending(request, context), context: transportContext(of: transmission, send))
            // The usual case, without another function that waits.
            if isComplete(response, of: transmission) { return response }
            return try await complete(response, of: transmission, send)
        } catch {
            throw translated(error)
        }
    }

    @inline(never)
    private func transportContext(of transmission: Transmission, _ send: Send) -> TransportContext {
        let settings = transmission.settings
        return TransportContext(
            delivery: settings.delivery, bodyLimit: settings.delivery == .stream ? .max : bodyLimit, send: send,
            client: TransportContext.Client(settings.events))
    }

    @inline(never)
    private func isComplete(_ response: HTTPResponse, of transmission: Transmission) -> Bool {
        guard transmission.settings.delivery == .whole, secretNames == nil, !response.mayHaveUnsortedMarks,
            let length = response.body.bytes?.count
        else { return false }
        return length <= bodyLimit
    }

    @inline(never)
    private func translated(_ error: any Error) -> ServiceError {
        ServiceError(error) { .transport(TransportFailure(.other, foreignName(of: $0))) }
    }

    /// Returns the response with its body as bytes, unless the caller reads it.
    @inline(never)
    private func complete(
        _ response: HTTPResponse, of transmission: Transmission, _ send: Send
    ) async throws -> HTTPResponse {
        var response = response
        if response.mayHaveUnsortedMarks { response.sortMarks() }
        if response.body.bytes == nil { send.note(.receiving) }
        if let secretNames { response.headers.hide(secretNames) }
        // Only the caller reads the body of a stream, but the body of an error is needed here.
        if transmission.settings.delivery == .stream, transmission.rules.accepts(response.status) { return response }
        response.body = .bytes(
            try await response.body.collect(upTo: bodyLimit, in: send.scope, reporting: send.noteProgress))
        return response
    }

    /// Returns the request as it is sent: with the headers of the current trace, if there is one, and with a body whose
    /// progress is reported to the caller.
    @inline(never)
    private func beginSending(_ request: HTTPRequest, _ context: CallContext) -> HTTPRequest {
        let transmission = context.transmission
        var request = request
        if let trace = TraceContext.current, !context.hasLeftOrigin {
            trace.add(to: &request.headers, time: context.time)
        }
        if let notice { transmission.warn { notice.take() } }
        transmission.report(.sent(request.redacted, attempt: transmission.attempts))
        transmission.noteSent(request, signedWith: context.accessToken)
        if let bodies, transmission.settings.isHeard,
            let text = bodies.text(of: request.body, request.headers, of: transmission)
        {
            transmission.report(.sentBody(text))
        }
        context.way?.noteSent(request)
        let countsUploads = features.contains(.countsUploads)
        if !countsUploads, let upload = transmission.settings.upload, let body = request.body, body.length != 0 {
            request.body = upload.watching(body)
        }
        return request
    }

    /// Pauses the limiter if the server asks for it. A redirect may lead to another origin, whose limits have nothing
    /// to do with this client's limiter. One of several servers that is not available pauses itself only.
    private func applyPacing(of response: HTTPResponse, to request: HTTPRequest, _ context: CallContext) {
        guard RetryAfterHeaders.canBe(in: response.headers), boundary.isOwn(request.url.origin) else { return }
        let transmission = context.transmission
        let pacing = RetryAfterHeaders(of: response, date: transmission.time.date, ceiling: longestPause)
        if let asked = pacing.ignored { transmission.report(.ignoredPause(asked)) }
        guard let pause = pacing.pause, response.status != 503 || context.way?.canPause != true else { return }
        let end = transmission.time.now.advanced(by: pause)
        limiter(of: transmission).pauseForServer(until: end, isRefusal: response.isThrottled)
    }

    private func limiter(of transmission: Transmission) -> RateLimiter { transmission.rules.limiter ?? limiter }
}

extension HTTPResponse {
    /// Whether a field may have a long run of combining marks that is not in canonical order.
    fileprivate var mayHaveUnsortedMarks: Bool {
        headers.contains { CombiningMarks.mayBeUnsorted($0.value) }
    }

    /// Brings long runs of combining marks in each field into canonical order.
    ///
    /// A middleware may compare a field with a text, or use it as a key. Then the standard library sorts the marks, in
    /// seconds for a field of 90 KB, unless they are in order. The field is equal to the one that was sent.
    @inline(never)
    fileprivate mutating func sortMarks() {
        headers = HTTPHeaders(
            headers.fields.map { field in
                var field = field
                field.value = CombiningMarks.sorted(field.value)
                return field
            })
    }
}
