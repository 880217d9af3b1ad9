#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Chooses the server of each send, and learns from its end. While no server may be asked, a send fails before it
/// waits for anything.
///
/// The layers above see the client's own URL, so that a stored response belongs to it, whichever server has sent it.
/// The choice is made late, in admission, when the send has its permit: a server may fail while others wait for
/// theirs.
struct Servers: Layer {
    let pool: ServerPool
    /// The longest pause that a server may ask for.
    let longestPause: Duration

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: @escaping Next) async throws(ServiceError)
        -> HTTPResponse
    {
        guard let way = try way(of: request, context) else { return try await next(request, context) }
        do throws(ServiceError) {
            return way.end(try await next(request, entering(context, on: way)), longestPause: longestPause)
        } catch {
            way.end(error)
            throw error
        }
    }

    @inline(never)
    private func entering(_ context: CallContext, on way: ServerWay) -> CallContext {
        var context = context
        context.way = way
        return context
    }

    /// Returns the way of a request to its server; `nil` if it goes elsewhere. Throws if none may be asked.
    @inline(never)
    private func way(of request: HTTPRequest, _ context: CallContext) throws(ServiceError) -> ServerWay? {
        guard let asker = asker(of: request, context) else { return nil }
        let way = ServerWay(pool: pool, transmission: context.transmission, asker: asker, request: request)
        try way.check()
        return way
    }

    private func asker(of request: HTTPRequest, _ context: CallContext) -> ServerRecords.Asker? {
        guard let index = pool.list.index(of: request.url) else { return nil }
        let transmission = context.transmission
        let isBound =
            context.isRedirected || transmission.rules.server != nil || index != 0
            || pool.list.first.remainder(of: request.url) == nil
        if isBound { return ServerRecords.Asker(bound: index, mayTry: false) }
        let memory = transmission.servers
        let canRepeat = request.body?.isReplayable ?? true
        // It might take effect twice.
        if transmission.mayHaveActed, !request.method.isIdempotent, !pool.rules.shareKeys, let last = memory.last {
            return ServerRecords.Asker(bound: last, mayTry: false)
        }
        let hasAttempts = transmission.attempts < transmission.rules.retry.attempts
        return ServerRecords.Asker(
            failed: memory.failed, mayTry: hasAttempts && canRepeat && request.isSafelyRepeatable(pool.rules))
    }
}

extension HTTPRequest {
    /// Whether it may be sent to another server after one may have received it.
    fileprivate func isSafelyRepeatable(_ rules: ServerRules) -> Bool {
        method.isIdempotent || rules.shareKeys && isRepeatable
    }
}

/// The way of one send to its server: chosen once, and ended once.
final class ServerWay: SendWay {
    private struct State {
        var server: (index: Int, ticket: ServerHealth.Ticket)?
        var url: HTTPURL?
    }

    private let pool: ServerPool
    private let transmission: Transmission
    private let asker: ServerRecords.Asker
    private let request: HTTPRequest
    private let sends: Int
    private let state = Lock(State())

    init(pool: ServerPool, transmission: Transmission, asker: ServerRecords.Asker, request: HTTPRequest) {
        (self.pool, self.transmission, self.asker, self.request) = (pool, transmission, asker, request)
        sends = transmission.sends
    }

    /// Throws if no server may be asked now.
    func check() throws(ServiceError) {
        let now = transmission.time.now
        if case .failure(let refusal) = pool.read({ $0.look(for: asker, at: now) }) {
            throw refused(by: refusal.index, refusal.cause, until: refusal.until, at: now)
        }
    }

    func point(_ request: inout HTTPRequest) throws(ServiceError) {
        leave()
        let now = transmission.time.now
        switch pool.choose(for: asker, at: now) {
        case .ask(let index, let ticket):
            if asker.bound == nil, let url = pool.list.url(request.url, at: index) { request.url = url }
            let url = request.url
            state.withLock { $0 = State(server: (index, ticket), url: url) }
            transmission.noteServer(index)
        case .none(let index, let cause, let until):
            throw refused(by: index, cause, until: until, at: now)
        }
    }

    var canPause: Bool {
        guard let server = state.withLock({ $0.server }) else { return false }
        return pool.read { !$0.isLast(server.index) }
    }

    private func refused(
        by index: Int, _ cause: ServerHealth.Cause, until: Instant?, at now: Instant
    ) -> ServiceError {
        let count = pool.list.addresses.count
        let what = count == 1 ? "\(pool.list.first.text) has failed" : "each of the \(count) servers has failed"
        var failure = TransportFailure(
            .circuitOpen, "\(what) too often, and is not asked for a while", mayHaveReachedServer: false)
        failure.pause.value = until.map { max(now.duration(to: $0), .zero) }
        return .transport(failure)
    }

    /// Ends the request with a response. Returns that with the URL that it came from.
    @inline(never)
    func end(_ response: HTTPResponse, longestPause: Duration) -> HTTPResponse {
        guard let server = take() else { return response }
        let url = server.url
        var outcome = ServerHealth.Outcome.neutral
        if wasAsked(url) { outcome = response.outcome(date: transmission.time.date, longestPause: longestPause) }
        finish(server.index, server.ticket, outcome)
        guard url != request.url else { return response }
        var response = response
        response.provenance.sentTo = url
        // It is resolved against the client's own URL, from which the base path may differ.
        if (300..<400).contains(response.status), let location = response.headers["Location"],
            let target = try? url.resolving(location)
        {
            response.headers["Location"] = target.absoluteString
        }
        return response
    }

    /// Ends the request with an error.
    @inline(never)
    func end(_ error: ServiceError) {
        guard let server = take() else { return }
        finish(server.index, server.ticket, wasAsked(server.url) ? error.outcome : .neutral)
    }

    /// Gives up a choice that was made before the request could be signed.
    private func leave() {
        guard let server = take() else { return }
        report(pool.end(server.index, server.ticket, .neutral, by: transmission.time), of: server.index)
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
        transmission.sends > sends && transmission.server == url.origin
    }

    private func finish(_ index: Int, _ ticket: ServerHealth.Ticket, _ outcome: ServerHealth.Outcome) {
        report(pool.end(index, ticket, outcome, by: transmission.time), of: index)
        switch outcome {
        case .good, .neutral: return
        case .bad, .pause: break
        }
        let mayGoOn = asker.bound == nil && (!transmission.mayHaveActed || request.isSafelyRepeatable(pool.rules))
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
            case .setAside(let pause, .breaker): .breakerOpened(server, for: pause)
            case .setAside(let pause, _): .serverSetAside(server, for: pause)
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
            case .reset: .bad(failure.mayHaveReachedServer ? .silence : .refusal)
            case .truncated: .bad(.refusal)
            case .dns, .unreachable: .bad(.noWay)
            default: .neutral
            }
        default: .neutral
        }
    }
}
