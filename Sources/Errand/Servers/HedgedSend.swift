/// A request that is sent a second time if its response is late. The first good response counts, and the other request
/// is canceled.
extension Servers {
    /// Returns after which delay the request is sent a second time; `nil` for never.
    @inline(never)
    func hedgeDelay(of request: HTTPRequest, _ context: CallContext, on way: ServerWay) -> Duration? {
        guard let endpoint = way.endpoint, mayRepeat(in: context) else { return nil }
        let hasBytes = request.body.map { $0.bytes != nil } ?? true
        guard hasBytes, request.isSafelyRepeatable(pool.rules) else { return nil }
        return pool.hedgeDelay(of: endpoint)
    }

    /// Whether a request may be sent a second time: the body of the response is read as a whole, nobody watches an
    /// upload, and no middleware is watched, which is done for one send at a time.
    private func mayRepeat(in context: CallContext) -> Bool {
        let transmission = context.transmission
        return !context.isRedirected && transmission.settings.delivery == .whole
            && transmission.settings.upload == nil && (transmission.watch == nil || !hasMiddlewareBelow)
    }

    /// Sends a request, and once more after that delay from when the first is given to the transport, unless that has
    /// ended by then. Both are child tasks, so neither outlives the call.
    func hedged(
        _ request: HTTPRequest, _ context: CallContext, on way: ServerWay, after delay: Duration, next: @escaping Next
    ) async throws(ServiceError) -> HTTPResponse {
        let (race, time, transmission) = (HedgeRace(), context.time, context.transmission)
        var other: ServerWay?
        await withDiscardingTaskGroup { group in
            group.startTask {
                await race.run(.first, isGood: { isGood($0, on: way, context) }) { () async throws(ServiceError) in
                    try await next(request, context.entering(way))
                }
                way.begun?.open()
            }
            await way.begun?.opened()
            if let start = way.start, !race.hasEnded {
                let alarm = time.schedule(at: start.advanced(by: delay), for: .watch("a late response")) {
                    race.due.open()
                }
                await race.due.opened()
                alarm.cancel()
            }
            // One that tries its server is to show whether that responds, and is not replaced.
            if !transmission.scope.isStopped, !way.isTrial, race.beginSecond() {
                // From now on, the phase is that of two requests.
                if transmission.phase.comesAfterSending { transmission.noteActed() }
                let second = way.hedge()
                other = second
                group.startTask {
                    await race.run(
                        .second,
                        // With 409, a server says that the key has arrived with the first.
                        isGood: { isGood($0, on: second, context) && (request.method.isSafe || $0.status != 409) }
                    ) { () async throws(ServiceError) in
                        try await next(request, context.entering(second, isHedge: true))
                    }
                }
            }
            await race.over.opened()
            if let winner = race.end.winner { (winner == .first ? other : way)?.lose() }
            group.cancelAll()
        }
        return try result(of: race, on: way, other, context)
    }

    /// Whether the response ends the wait for the other request: its server is well, and a later response to the same
    /// request would be no other.
    private func isGood(_ response: HTTPResponse, on way: ServerWay, _ context: CallContext) -> Bool {
        way.outcome(of: response) == .good
            && (context.rules.accepts(response.status) || !context.rules.retry.isTransient(response))
    }

    @inline(never)
    private func result(
        of race: HedgeRace, on first: ServerWay, _ second: ServerWay?, _ context: CallContext
    ) throws(ServiceError) -> HTTPResponse {
        let transmission = context.transmission
        let (winner, isLate) = race.end
        if winner == .second, isLate, let endpoint = first.endpoint, let wait = first.wait(at: context.time.now) {
            // It took at least that long.
            pool.note(wait, of: endpoint)
        }
        guard let way = winner == .second ? second : first, let result = race.result(winner ?? .first) else {
            throw .cancelled
        }
        let loser = winner == .second ? first : second
        if let loser { transmission.noteWinner(way.sent, without: loser.sends) }
        let ended: Result<HTTPResponse, ServiceError>
        switch result {
        case .success(let response): ended = .success(way.end(response))
        case .failure(let error):
            way.end(error)
            ended = result
        }
        guard let loser else { return try ended.get() }
        // Both have failed. A deadline or a stop was meant for the first.
        if winner == nil, !transmission.scope.isStopped, let result = race.result(.second) {
            switch result {
            case .success(let response): _ = loser.end(response)
            case .failure(let error): loser.end(error)
            }
        }
        loser.drop()
        return try ended.get()
    }
}
