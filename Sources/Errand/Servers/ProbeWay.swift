/// The way of a probe to the server that it checks.
final class ProbeWay: SendWay {
    private struct State {
        /// What was known when it began, and the URL; `nil` if it has not begun.
        var begun: (ticket: ServerHealth.Ticket, url: HTTPURL)?
        /// The request that was given to the transport.
        var sent: HTTPRequest?
    }

    private let index: Int
    private let pool: ServerPool
    private let transmission: Transmission
    private let longestPause: Duration
    private let state = Lock(State())

    init(to index: Int, _ pool: ServerPool, _ transmission: Transmission, longestPause: Duration) {
        (self.index, self.pool, self.transmission, self.longestPause) = (index, pool, transmission, longestPause)
    }

    func point(_ request: inout HTTPRequest) throws(ServiceError) {
        // While this has waited for its permit, a call may have tried the server.
        guard let ticket = pool.beginProbe(of: index, at: transmission.time.now) else { throw .cancelled }
        if let url = pool.list.url(request.url, at: index) { request.url = url }
        let url = request.url
        state.withLock { $0.begun = (ticket, url) }
    }

    func noteSent(_ request: HTTPRequest) { state.withLock { $0.sent = request } }

    func noteHead(at instant: Instant) {}

    var sent: HTTPRequest? { state.withLock { $0.sent } }
    var isLost: Bool { false }
    var canPause: Bool { true }

    /// Ends the probe. Only a success says that the server is well.
    func end(_ response: HTTPResponse) {
        let outcome = response.outcome(date: transmission.time.date, longestPause: longestPause)
        end(outcome == .good && !response.isSuccess ? .bad(.refusal) : outcome)
    }

    /// Ends the probe with an error.
    func end(_ error: ServiceError) { end(error.outcome) }

    private func end(_ outcome: ServerHealth.Outcome) {
        let (begun, sent) = state.withLock { ($0.begun, $0.sent) }
        guard let begun else { return }
        // A middleware may have answered by itself, or led it elsewhere.
        pool.end(index, begun.ticket, sent?.url.origin == begun.url.origin ? outcome : .neutral, in: transmission)
    }
}
