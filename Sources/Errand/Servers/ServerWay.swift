/// The way of one send to its server: chosen once, and ended once.
final class ServerWay: SendWay {
    /// The server that was chosen, and the URL there.
    private typealias Choice = (index: Int, ticket: ServerHealth.Ticket, url: HTTPURL)

    private struct State {
        var choice: Choice?
        /// Whether what the request says about its server is known.
        var isOver = false
        /// The request that was given to the transport, and how often that happened.
        var sent: HTTPRequest?
        var sends = 0
        /// When the first was given to it, if requests may be sent twice.
        var start: Instant?
        /// Whether the other request has brought the response.
        var isLost = false
        /// When the head of the response arrived.
        var head: Instant?
    }

    private let pool: ServerPool
    private let transmission: Transmission
    private let asker: ServerRecords.Asker
    private let request: HTTPRequest
    private let longestPause: Duration
    /// A number for the endpoint, if requests may be sent twice.
    let endpoint: Int?
    /// Whether it is the second request.
    private let isHedge: Bool
    private let state = Lock(State())
    /// Completes when the request is given to the transport; `nil` if nobody waits for that.
    let begun: Latch?

    init(
        pool: ServerPool, transmission: Transmission, asker: ServerRecords.Asker, request: HTTPRequest,
        longestPause: Duration, endpoint: Int?, isHedge: Bool = false
    ) {
        (self.pool, self.transmission, self.asker, self.request) = (pool, transmission, asker, request)
        (self.longestPause, self.endpoint, self.isHedge) = (longestPause, endpoint, isHedge)
        begun = endpoint == nil ? nil : Latch()
    }

    /// Returns the way of a second request: to another server, if there is one and the request may go there.
    func hedge() -> ServerWay {
        var asker = asker
        asker.mayTry = false
        if let first = state.withLock({ $0.choice?.index }) { asker.failed.insert(first) }
        return ServerWay(
            pool: pool, transmission: transmission, asker: asker, request: request, longestPause: longestPause,
            endpoint: endpoint, isHedge: true)
    }

    /// Whether the request tries its server.
    var isTrial: Bool { state.withLock { $0.choice?.ticket.isTrial ?? false } }

    /// Returns the server that would be asked now. Throws if none may be.
    func check() throws(ServiceError) -> Int {
        let now = transmission.time.now
        switch pool.look(for: asker, at: now) {
        case .success(let index): return index
        case .failure(let refusal): throw error(of: refusal, at: now)
        }
    }

    /// Whether the request may go to no other server.
    var isBound: Bool { asker.bound != nil }

    func point(_ request: inout HTTPRequest) throws(ServiceError) {
        let now = transmission.time.now
        switch pool.choose(for: asker, at: now) {
        case .success((let index, let ticket)):
            if isHedge, !pool.spendOnHedge() {
                pool.end(index, ticket, .neutral, in: transmission)
                throw .cancelled
            }
            if let url = pool.list.url(request.url, at: index) { request.url = url }
            let url = request.url
            state.withLock { $0.choice = (index, ticket, url) }
            if asker.bound == nil { transmission.noteServer(index) }
            if isHedge { transmission.tell { .hedged(pool.list.addresses[index].text) } }
        case .failure(let refusal):
            throw error(of: refusal, at: now)
        }
    }

    func noteSent(_ request: HTTPRequest) {
        let now = begun == nil ? nil : transmission.time.now
        state.withLock { state in
            state.sent = request
            state.sends += 1
            state.start = state.start ?? now
        }
        begun?.open()
    }

    func noteHead(at instant: Instant) { state.withLock { $0.head = instant } }

    var canPause: Bool {
        // A call that is bound to its server would go on asking it.
        guard asker.bound == nil, let index = state.withLock({ $0.choice?.index }) else { return false }
        return !pool.isLast(index)
    }

    private func error(of refusal: ServerRecords.Refusal, at now: Instant) -> ServiceError {
        let isOne = asker.bound != nil || pool.list.addresses.count == 1
        let servers = isOne ? "\(pool.list.addresses[refusal.index].text) has" : "all servers have"
        let message = "\(servers) failed too often"
        var failure = TransportFailure(.circuitOpen, message, mayHaveReachedServer: false)
        failure.pause.value = refusal.until.map { max(now.duration(to: $0), .zero) }
        return .transport(failure)
    }

    /// Ends the request with a response. Returns that with the URL that it came from.
    @inline(never)
    func end(_ response: HTTPResponse) -> HTTPResponse {
        guard let server = take() else { return response }
        let url = server.url
        let outcome = wasAsked(url) ? self.outcome(of: response) : .neutral
        finish(server.index, server.ticket, outcome)
        if outcome == .good { noteSuccess(response) }
        var response = pool.list.addresses.count > 1 ? translated(response, from: url, at: server.index) : response
        if url != request.url { response.provenance.sentTo = url }
        return response
    }

    /// Notes a response for the delays of later requests, and for the budget of second ones.
    private func noteSuccess(_ response: HTTPResponse) {
        guard let endpoint else { return }
        if response.isSuccess { pool.payForHedge() }
        let (start, head) = state.withLock { ($0.start, $0.head) }
        if let start, let head { pool.note(start.duration(to: head), of: endpoint) }
    }

    /// Returns the response with a redirect as the layers above understand it, which see the client's own URL. One
    /// within the server leads to that URL, and to any server; one to another server of the list leads there.
    private func translated(_ response: HTTPResponse, from url: HTTPURL, at source: Int) -> HTTPResponse {
        // A target that is no URL is refused where redirects are followed.
        guard (300..<400).contains(response.status), let location = response.headers["Location"],
            let target = try? url.resolving(location), let index = pool.list.index(of: target)
        else { return response }
        var response = response
        if index != source {
            response.provenance.leadsToServer = true
        } else if url != request.url {
            response.headers["Location"] = (pool.list.ownURL(for: target) ?? target).absoluteString
        }
        return response
    }

    /// Ends the request with an error.
    @inline(never)
    func end(_ error: ServiceError) {
        guard let server = take() else { return }
        finish(server.index, server.ticket, wasAsked(server.url) ? error.outcome : .neutral)
    }

    /// What the response says about its server.
    func outcome(of response: HTTPResponse) -> ServerHealth.Outcome {
        response.outcome(date: transmission.time.date, longestPause: longestPause)
    }

    /// Ends the request without a word about its server, because another one has brought the response.
    func drop() {
        guard let server = take() else { return }
        pool.end(server.index, server.ticket, .neutral, in: transmission)
    }

    /// The request that was given to the transport; `nil` if none was.
    var sent: HTTPRequest? { state.withLock { $0.sent } }

    /// How often a request was given to the transport.
    var sends: Int { state.withLock { $0.sends } }

    /// Whether the other request has brought the response.
    var isLost: Bool { state.withLock { $0.isLost } }

    /// Notes that the other request has brought the response.
    func lose() { state.withLock { $0.isLost = true } }

    /// How long the response has taken until now; `nil` if the request was not sent.
    func wait(at now: Instant) -> Duration? { start?.duration(to: now) }

    /// When the request was first given to the transport; `nil` if it was not.
    var start: Instant? { state.withLock { $0.start } }

    /// Returns the server that was chosen, once; `nil` if none was.
    private func take() -> Choice? {
        state.withLock { state in
            guard !state.isOver, let choice = state.choice else { return nil }
            state.isOver = true
            return choice
        }
    }

    /// Whether the request was sent to that server. A middleware may have answered by itself, or led it elsewhere.
    private func wasAsked(_ url: HTTPURL) -> Bool {
        state.withLock { $0.sent?.url.origin == url.origin }
    }

    private func finish(_ index: Int, _ ticket: ServerHealth.Ticket, _ outcome: ServerHealth.Outcome) {
        pool.end(index, ticket, outcome, in: transmission)
        switch outcome {
        case .good, .neutral: return
        case .bad, .pause, .turnedAway: break
        }
        guard asker.bound == nil else { return }
        let mayGoOn = !transmission.mayHaveActed || request.isSafelyRepeatable(pool.rules)
        var failed = asker.failed.union([index])
        let now = transmission.time.now
        let goesOn = mayGoOn && pool.hasAnother(than: failed, at: now)
        if failed.count == pool.list.addresses.count { failed = [] }
        transmission.noteFailed(failed, goesOn: goesOn)
    }
}
