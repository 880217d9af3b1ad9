/// A request that is sent a second time if its response is late. The first good response counts, and the other request
/// is canceled.
extension Servers {
    /// Returns after which delay the request is sent a second time; `nil` for never.
    @inline(never)
    func hedgeDelay(of request: HTTPRequest, _ context: CallContext) -> Duration? {
        guard pool.isHedging, context.mayHedge else { return nil }
        let hasBytes = request.body.map { $0.bytes != nil } ?? true
        guard hasBytes, request.isSafelyRepeatable(pool.rules) else { return nil }
        return pool.hedgeDelay(of: endpoint(of: context))
    }

    /// A number for the endpoint: its method, and its path without interpolated values.
    private func endpoint(of context: CallContext) -> Int {
        var hasher = Hasher()
        hasher.combine(context.transmission.settings.method)
        context.transmission.settings.path.hashPattern(into: &hasher)
        return hasher.finalize()
    }

    /// Notes how long a response took, for the delays of later requests.
    @inline(never)
    func noteLatency(on way: ServerWay, _ context: CallContext) {
        guard pool.isHedging, let latency = way.latency else { return }
        pool.note(latency, of: endpoint(of: context))
    }

    /// Sends a request, and once more after that delay from when the first has its permit, unless that has ended by
    /// then. Both are child tasks, so neither outlives the call.
    func hedged(
        _ request: HTTPRequest, _ context: CallContext, on way: ServerWay, after delay: Duration, next: @escaping Next
    ) async throws(ServiceError) -> HTTPResponse {
        let (race, time) = (HedgeRace(), context.time)
        await withDiscardingTaskGroup { group in
            group.startTask {
                await race.run(.first) { () async throws(ServiceError) in
                    try await next(request, context.entering(way))
                } isGood: {
                    way.outcome(of: $0) == .good
                }
                way.begun.complete(.success(time.now))
            }
            await way.begun.completion()
            if case .success(let start) = way.begun.outcome, !race.hasEnded {
                let alarm = time.schedule(at: start.advanced(by: delay), for: .watch("a late response")) {
                    race.due.complete(.success(()))
                }
                await race.due.completion()
                alarm.cancel()
            }
            if race.beginSecond() {
                let second = way.hedge()
                race.setSecond(second)
                group.startTask {
                    await race.run(.second) { () async throws(ServiceError) in
                        try await next(request, context.entering(second, isHedge: true))
                    } isGood: {
                        // Its key has arrived with the first.
                        second.outcome(of: $0) == .good && (request.method.isSafe || $0.status != 409)
                    }
                }
            }
            await race.over.completion()
            group.cancelAll()
        }
        return try result(of: race, on: way, context)
    }

    @inline(never)
    private func result(
        of race: HedgeRace, on first: ServerWay, _ context: CallContext
    ) throws(ServiceError) -> HTTPResponse {
        let (transmission, second) = (context.transmission, race.second)
        switch race.winner {
        case .first?: second?.drop()
        case .second?:
            // It took at least that long.
            if case .success(let start) = first.begun.outcome {
                pool.note(start.duration(to: context.time.now), of: endpoint(of: context))
            }
            first.drop()
        case nil:
            // Both have failed.
            switch race.result(.second) {
            case .success(let response)?: _ = second?.end(response)
            case .failure(let error)?: second?.end(error)
            case nil: second?.drop()
            }
        }
        let winner = race.winner ?? .first
        guard let way = winner == .first ? first : second, let result = race.result(winner) else { throw .cancelled }
        if let sent = way.sent { transmission.noteAnswered(sent) }
        switch result {
        case .success(let response):
            let ended = way.end(response)
            noteLatency(on: way, context)
            return ended
        case .failure(let error):
            way.end(error)
            throw error
        }
    }
}

extension CallContext {
    /// Whether its request may be sent a second time: the body of the response is read as a whole, and nobody watches
    /// an upload.
    fileprivate var mayHedge: Bool {
        !isHedge && !isRedirected && transmission.settings.delivery == .whole && transmission.settings.upload == nil
    }
}

/// Two requests of which the first good response counts. A failure waits for the other.
private final class HedgeRace: Sendable {
    enum Entrant: Sendable {
        case first, second
    }

    private struct State {
        var results: [Entrant: Result<HTTPResponse, ServiceError>] = [:]
        var winner: Entrant?
        var hasSecond = false
        var second: ServerWay?

        var isOver: Bool { winner != nil || results.count == (hasSecond ? 2 : 1) }
    }

    private let state = Lock(State())
    /// Completes when the response is late, or when there is nothing to wait for any more.
    let due = Promise<Void, Never>()
    /// Completes when there is a winner, or when all have ended.
    let over = Promise<Void, Never>()

    var winner: Entrant? { state.withLock { $0.winner } }

    var second: ServerWay? { state.withLock { $0.second } }

    /// Whether the first request has ended.
    var hasEnded: Bool { state.withLock { $0.results[.first] != nil } }

    func result(_ entrant: Entrant) -> Result<HTTPResponse, ServiceError>? { state.withLock { $0.results[entrant] } }

    /// Begins the second request, unless the first has ended. Returns whether it begins.
    func beginSecond() -> Bool {
        state.withLock { state in
            state.hasSecond = state.results.isEmpty
            return state.hasSecond
        }
    }

    func setSecond(_ way: ServerWay) { state.withLock { $0.second = way } }

    func run(
        _ entrant: Entrant, _ send: () async throws(ServiceError) -> HTTPResponse, isGood: (HTTPResponse) -> Bool
    ) async {
        var result: Result<HTTPResponse, ServiceError>
        var hasWon = false
        do throws(ServiceError) {
            let response = try await send()
            (result, hasWon) = (.success(response), isGood(response))
        } catch {
            result = .failure(error)
        }
        let isOver = state.withLock { [result, hasWon] state in
            state.results[entrant] = result
            if hasWon, state.winner == nil { state.winner = entrant }
            return state.isOver
        }
        due.complete(.success(()))
        if isOver { over.complete(.success(())) }
    }
}
