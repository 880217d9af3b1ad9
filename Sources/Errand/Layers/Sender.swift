/// The last room before the network: checks what is really sent, bounds the attempt, and translates what the
/// transport throws.
struct Sender: Sendable {
    let transport: any Transport
    private let hearsOfStops: Bool
    let limiter: RateLimiter
    let origin: Origin
    let bodyLimit: Int
    let allowsCleartext: Bool
    private let secretHeaders: Set<String>

    init(
        transport: any Transport, limiter: RateLimiter, origin: Origin, bodyLimit: Int, allowsCleartext: Bool,
        secretHeaders: Set<String>
    ) {
        self.transport = transport
        hearsOfStops = transport is any LeashedTransport
        self.limiter = limiter
        self.origin = origin
        self.bodyLimit = bodyLimit
        self.allowsCleartext = allowsCleartext
        self.secretHeaders = secretHeaders
    }

    func send(_ request: HTTPRequest, _ context: CallContext) async throws(ServiceError) -> HTTPResponse {
        let call = context.call
        try HTTPSyntax.check(request)
        try request.checkCleartext(isAllowed: allowsCleartext, isSigned: false)
        let start = call.time.now
        do throws(ServiceError) {
            let response = try await call.held(timeout: start.advanced(by: call.rules.timeout)) {
                (leash: Leash) async throws(ServiceError) in
                guard !hearsOfStops else { return try await exchange(request, in: call, on: leash) }
                return try await leash.run { () async throws(ServiceError) in
                    try await exchange(request, in: call, on: leash)
                }
            }
            call.tell(
                .answered(
                    status: response.status, bytes: response.body.length ?? 0,
                    after: start.duration(to: call.time.now), timings: response.timings))
            heed(response, to: request, at: call.time)
            return response
        } catch {
            call.tell(.failed(error, after: start.duration(to: call.time.now)))
            throw error
        }
    }

    private func exchange(
        _ request: HTTPRequest, in call: Call, on leash: Leash
    ) async throws(ServiceError) -> HTTPResponse {
        let context = TransportContext(
            delivery: .whole, bodyLimit: bodyLimit, timeout: call.rules.timeout, time: call.time, reporter: call,
            leash: leash)
        call.tell(.sent(request.shown, attempt: call.read { $0.attempts }))
        call.update { state in
            state.phase = .waitingForResponse
            state.sent = request
            state.permit = nil
        }
        do {
            var response = try await transport.send(request, context: context)
            if response.body.bytes == nil { call.note(.receiving) }
            if !secretHeaders.isEmpty { response.headers.hide(secretHeaders) }
            response.body = .bytes(try await response.body.collect(upTo: bodyLimit, on: leash))
            return response
        } catch {
            throw ServiceError(error) { .transport(TransportFailure(.other, foreignName(of: $0))) }
        }
    }

    /// Keeps to what the server says of its limits. What another origin says, to which a redirect led, is not about
    /// this client's limiter.
    private func heed(_ response: HTTPResponse, to request: HTTPRequest, at time: any TimeSource) {
        guard request.url.origin == origin, let pause = ServerPacing.pause(after: response, date: time.date) else {
            return
        }
        limiter.pause(until: time.now.advanced(by: pause))
    }
}

extension HTTPRequest {
    /// Refuses to send a secret, or anything where that was not allowed, so that others can read it on the way.
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
