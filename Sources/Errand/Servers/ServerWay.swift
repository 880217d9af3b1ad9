#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The way of one send to its server: chosen once, and ended once.
final class ServerWay: SendWay {
    private struct State {
        var server: (index: Int, ticket: ServerHealth.Ticket)?
        var url: HTTPURL?
        /// The request that was given to the transport.
        var sent: HTTPRequest?
        /// When the head of the response arrived.
        var head: Instant?
    }

    private let pool: ServerPool
    private let transmission: Transmission
    private let asker: ServerRecords.Asker
    private let request: HTTPRequest
    private let longestPause: Duration
    /// What the request is sent instead of; `nil` if it is the first.
    private let other: ServerWay?
    private let state = Lock(State())
    /// Completes when the request has its permit and its server.
    let begun = Promise<Instant, Never>()

    init(
        pool: ServerPool, transmission: Transmission, asker: ServerRecords.Asker, request: HTTPRequest,
        longestPause: Duration, hedging other: ServerWay? = nil
    ) {
        (self.pool, self.transmission, self.asker, self.request) = (pool, transmission, asker, request)
        (self.longestPause, self.other) = (longestPause, other)
    }

    /// Returns the way of a second request: to another server, if there is one and the request may go there.
    func hedge() -> ServerWay {
        var asker = asker
        asker.mayTry = false
        if let first = state.withLock({ $0.server?.index }) { asker.failed.insert(first) }
        return ServerWay(
            pool: pool, transmission: transmission, asker: asker, request: request, longestPause: longestPause,
            hedging: self)
    }

    /// Throws if no server may be asked now.
    func check() throws(ServiceError) {
        let now = transmission.time.now
        if case .failure(let refusal) = pool.read({ $0.look(for: asker, at: now) }) {
            throw error(of: refusal, at: now)
        }
    }

    func point(_ request: inout HTTPRequest) throws(ServiceError) {
        if other != nil, !pool.spendOnHedge() { throw .cancelled }
        let now = transmission.time.now
        switch pool.choose(for: asker, at: now) {
        case .success((let index, let ticket)):
            if let url = pool.list.url(request.url, at: index) { request.url = url }
            let url = request.url
            state.withLock { $0 = State(server: (index, ticket), url: url) }
            if asker.bound == nil { transmission.noteServer(index) }
            begun.complete(.success(now))
            if other != nil { transmission.tell { .hedged(pool.list.addresses[index].text) } }
        case .failure(let refusal):
            throw error(of: refusal, at: now)
        }
    }

    func noteSent(_ request: HTTPRequest) { state.withLock { $0.sent = request } }

    func noteHead(at instant: Instant) { state.withLock { $0.head = instant } }

    var canPause: Bool {
        // A call that is bound to its server would go on asking it.
        guard asker.bound == nil, let server = state.withLock({ $0.server }) else { return false }
        return pool.read { !$0.isLast(server.index) }
    }

    private func error(of refusal: ServerRecords.Refusal, at now: Instant) -> ServiceError {
        let isOne = asker.bound != nil || pool.list.addresses.count == 1
        let what = isOne ? "\(pool.list.addresses[refusal.index].text) has failed" : "all servers have failed"
        var failure = TransportFailure(.circuitOpen, "\(what) too often", mayHaveReachedServer: false)
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
        var response = pool.list.addresses.count > 1 ? translated(response, from: url) : response
        guard url != request.url else { return response }
        response.provenance.sentTo = url
        return response
    }

    /// Returns the response with a redirect as the layers above understand it, which see the client's own URL. One
    /// within the server leads to that URL, and to any server; one to another server of the list leads there.
    private func translated(_ response: HTTPResponse, from url: HTTPURL) -> HTTPResponse {
        guard (300..<400).contains(response.status), let location = response.headers["Location"],
            let target = try? url.resolving(location), let source = pool.list.index(of: url),
            let index = pool.list.index(of: target)
        else { return response }
        var response = response
        if index != source {
            response.provenance.leadsToServer = true
        } else if source != 0 {
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
        report(pool.end(server.index, server.ticket, .neutral, by: transmission.time), of: server.index)
    }

    /// The request that was given to the transport; `nil` if none was.
    var sent: HTTPRequest? { state.withLock { $0.sent } }

    /// How long the head of the response took; `nil` if it has not arrived.
    var latency: Duration? {
        guard case .success(let start) = begun.outcome, let head = state.withLock({ $0.head }) else { return nil }
        return start.duration(to: head)
    }

    private func take() -> (index: Int, ticket: ServerHealth.Ticket, url: HTTPURL)? {
        state.withLock { state in
            guard let server = state.server, let url = state.url else { return nil }
            state.server = nil
            return (server.index, server.ticket, url)
        }
    }

    /// Whether the request was sent to that server. A middleware may have answered by itself, or led it elsewhere.
    private func wasAsked(_ url: HTTPURL) -> Bool {
        state.withLock { $0.sent?.url.origin == url.origin }
    }

    private func finish(_ index: Int, _ ticket: ServerHealth.Ticket, _ outcome: ServerHealth.Outcome) {
        report(pool.end(index, ticket, outcome, by: transmission.time), of: index)
        switch outcome {
        case .good, .neutral: return
        case .bad, .pause: break
        }
        guard asker.bound == nil else { return }
        let mayGoOn = (!transmission.mayHaveActed || request.isSafelyRepeatable(pool.rules))
        var failed = asker.failed.union([index])
        let now = transmission.time.now
        let goesOn = mayGoOn && pool.read { $0.hasAnother(than: failed, at: now) }
        if failed.count == pool.list.addresses.count { failed = [] }
        transmission.noteFailed(failed, goesOn: goesOn)
    }

    private func report(_ change: ServerHealth.Change?, of index: Int) {
        guard let change else { return }
        transmission.tell {
            let server = pool.list.addresses[index].text
            return switch change {
            case .setAside(let pause, let cause):
                cause.isFinal ? .breakerOpened(server, for: pause) : .serverSetAside(server, for: pause)
            case .returned: .serverReturned(server)
            }
        }
    }
}

extension HTTPResponse {
    /// What the response says about its server.
    fileprivate func outcome(date: Date, longestPause: Duration) -> ServerHealth.Outcome {
        switch status {
        case 503:
            guard let pause = RetryAfterHeaders.retryAfter(in: headers, date: date) else { return .bad(.refusal) }
            // One that is too long is ignored.
            return pause > .zero && pause <= longestPause ? .pause(pause) : .bad(.refusal)
        case 502, 504: return .bad(.refusal)
        default: return HTTPStatus.meansUnreachable(status) ? .bad(.refusal) : .good
        }
    }
}

extension ServiceError {
    /// What the failure of a request says about the server that was asked.
    fileprivate var outcome: ServerHealth.Outcome {
        switch self {
        case .timedOut(let timeout):
            switch (timeout.bound, timeout.phase) {
            case (.attempt, .connecting), (.attempt, .waitingForResponse), (.attempt, .receiving),
                (.deadline, .connecting), (.deadline, .waitingForResponse):
                .bad(.silence)
            default: .neutral
            }
        case .transport(let failure):
            switch failure.kind {
            case .refused, .tls, .untrustedCertificate, .malformed: .bad(.silence)
            // A connection that ends between two requests, or turns some of them away, says nothing about its server.
            case .reset: failure.mayHaveReachedServer ? .bad(.silence) : .neutral
            case .truncated: .bad(.refusal)
            case .dns, .unreachable: .bad(.noWay)
            default: .neutral
            }
        default: .neutral
        }
    }
}
