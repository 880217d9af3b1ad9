/// The last layer before the transport: checks the final request, limits the time of the send, and translates the
/// transport's errors.
struct Sender: Sendable {
    let transport: any Transport
    private let hearsOfStops: Bool
    private let notice: Notice?
    private let countsUploads: Bool
    let limiter: RateLimiter
    let origin: Origin
    let bodyLimit: Int
    let allowsCleartext: Bool
    private let longestPause: Duration
    /// The names of secret response headers; `nil` if the user adds none to the well-known ones.
    private let secretNames: SecretNames?

    init(
        transport: any Transport, limiter: RateLimiter, origin: Origin, bodyLimit: Int, allowsCleartext: Bool,
        longestPause: Duration, secretNames: SecretNames?
    ) {
        self.transport = transport
        let stoppable = transport as? any StoppableTransport
        hearsOfStops = stoppable != nil
        notice = stoppable?.notice
        countsUploads = stoppable?.countsUploads ?? false
        self.limiter = limiter
        self.origin = origin
        self.bodyLimit = bodyLimit
        self.allowsCleartext = allowsCleartext
        self.longestPause = longestPause
        self.secretNames = secretNames
    }

    func send(_ request: HTTPRequest, _ context: CallContext) async throws(ServiceError) -> HTTPResponse {
        let call = context.call
        try check(request, in: call)
        var (permit, start) = (context.permit, call.time.now)
        // A middleware may send twice with one permit, or wait for so long that another call has received it.
        while permit?.use(at: start) != true {
            permit = try await limiter.permit(for: call, isUrgent: true)
            start = call.time.now
        }
        let watch = SilenceWatch(
            timeout: call.rules.timeout, until: call.deadline, time: call.time, reporter: call, permit: permit)
        defer { watch.end() }
        do throws(ServiceError) {
            let response = try await call.run(in: watch.scope) { (_: CallScope) async throws(ServiceError) in
                try watch.begin(at: start)
                guard hearsOfStops else { return try await exchangeInChild(request, in: call, watch) }
                return try await exchange(request, in: call, watch)
            }
            noteAnswer(response, to: request, in: call, since: start)
            return response
        } catch {
            noteFailure(error, in: call, since: start)
            throw error
        }
    }

    @inline(never)
    private func noteAnswer(_ response: HTTPResponse, to request: HTTPRequest, in call: Call, since start: Instant) {
        call.upload?.finish()
        call.tell(
            .answered(
                status: response.status, bytes: response.body.length ?? 0,
                after: start.duration(to: call.time.now), timings: response.timings))
        heed(response, to: request, in: call)
    }

    /// Returns the request with a body whose progress is told to the caller.
    @inline(never)
    private func watched(_ request: HTTPRequest, in call: Call) -> HTTPRequest {
        guard !countsUploads, let upload = call.upload, let body = request.body, body.length != 0 else {
            return request
        }
        var request = request
        request.body = upload.watching(body)
        return request
    }

    @inline(never)
    private func noteFailure(_ error: ServiceError, in call: Call, since start: Instant) {
        call.upload?.finish()
        call.tell(.failed(error, after: start.duration(to: call.time.now)))
    }

    /// Checks the request as the last middleware left it.
    @inline(never)
    private func check(_ request: HTTPRequest, in call: Call) throws(ServiceError) {
        do throws(ServiceError) {
            try ServiceError.checking { () throws(HTTPFault) in try HTTPSyntax.check(request) }
            try request.checkCleartext(isAllowed: allowsCleartext, isSigned: false)
        } catch {
            // A middleware may make a retry, a replay or a redirected request invalid; an earlier one was sent.
            throw call.read { $0.sent == nil } ? error : error.markedAsSent(request.method)
        }
    }

    @inline(never)
    private func exchangeInChild(
        _ request: HTTPRequest, in call: Call, _ watch: SilenceWatch
    ) async throws(ServiceError) -> HTTPResponse {
        try await watch.scope.runInChild { () async throws(ServiceError) in
            try await exchange(request, in: call, watch)
        }
    }

    private func exchange(
        _ request: HTTPRequest, in call: Call, _ watch: SilenceWatch
    ) async throws(ServiceError) -> HTTPResponse {
        noteSent(request, in: call)
        let context = TransportContext(
            delivery: call.delivery, bodyLimit: call.delivery == .stream ? .max : bodyLimit, watch: watch,
            client: ObjectIdentifier(call.events))
        do {
            let response = try await transport.send(watched(request, in: call), context: context)
            // The usual case, without another function that waits.
            guard call.delivery == .whole, secretNames == nil, let length = response.body.bytes?.count,
                length <= bodyLimit
            else { return try await complete(response, of: call, watch) }
            return response
        } catch {
            throw ServiceError(error) { .transport(TransportFailure(.other, foreignName(of: $0))) }
        }
    }

    /// Returns the response with its body as bytes, unless the caller reads it.
    private func complete(_ response: HTTPResponse, of call: Call, _ watch: SilenceWatch) async throws -> HTTPResponse {
        var response = response
        if response.body.bytes == nil { watch.note(.receiving) }
        if let secretNames { response.headers.hide(secretNames) }
        // Only the caller reads the body of a stream, but the body of an error is needed here.
        if call.delivery == .stream, response.isSuccess { return response }
        response.body = .bytes(
            try await response.body.collect(upTo: bodyLimit, in: watch.scope, telling: watch.noteProgress))
        return response
    }

    @inline(never)
    private func noteSent(_ request: HTTPRequest, in call: Call) {
        if let notice, call.isHeard, let warning = notice.take() { call.tell(.warned(warning)) }
        call.tell(.sent(request.redacted, attempt: call.read { $0.attempts }))
        call.update { state in
            state.phase = .waitingForResponse
            state.sentFirst = state.sentFirst ?? state.sent
            state.sent = request
        }
    }

    /// Pauses the limiter if the server asks for it. A redirect may lead to another origin, whose limits have nothing
    /// to do with this client's limiter.
    private func heed(_ response: HTTPResponse, to request: HTTPRequest, in call: Call) {
        guard RetryAfterHeaders.canBe(in: response.headers), request.url.origin == origin else { return }
        let pacing = RetryAfterHeaders(of: response, date: call.time.date, ceiling: longestPause)
        if let asked = pacing.ignored { call.tell(.ignoredPause(asked)) }
        if let pause = pacing.pause { limiter.pause(until: call.time.now.advanced(by: pause)) }
    }
}

extension HTTPRequest {
    /// Refuses to send credentials unencrypted to another machine, and any request unless the client allows it.
    func checkCleartext(isAllowed: Bool, isSigned: Bool) throws(ServiceError) {
        guard url.origin.isExposed else { return }
        if isSigned || headers["Authorization"] != nil {
            let reason = "a token is sent over https or to this machine only, not to \(url.origin)"
            throw .invalidRequest(InvalidRequest(.cleartext, reason))
        }
        guard isAllowed else {
            let reason = "\(url.origin) is not encrypted; use https, or set `allowsCleartext`"
            throw .invalidRequest(InvalidRequest(.cleartext, reason))
        }
    }
}
