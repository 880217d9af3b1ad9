/// A transmission that several calls share, or that belongs to none.
///
/// It runs in a task of its own, whose owner is the client: `shutdown()` stops the transmission and waits for its end.
/// A call that leaves does not disturb the others. When the last has left, the transmission is stopped, unless it was
/// started to finish without a call.
///
/// What it sends may turn out to be only for the call that began it, because a middleware says who asks. Then the
/// others are told at once, and send their own requests.
///
/// States: running, given up (the last call has left; no other can join), over.
final class SharedTransmission: Sendable {
    private struct State {
        var calls = 0
        var isGivenUp = false
    }

    let transmission: Transmission
    /// Whether it was started to finish without a call.
    let finishesAlone: Bool
    private let response = Promise<HTTPResponse, ServiceError>()
    /// What the calls receive that have joined: the response, or `nil` if it is not for them.
    private let joined: Joined
    private let state = Lock(State())

    typealias Joined = Promise<HTTPResponse?, ServiceError>

    /// - Parameter joined: Completes with `nil` as soon as the response is known to be only for the call that began it.
    init(_ transmission: Transmission, finishesAlone: Bool, joined: Joined = Joined()) {
        self.transmission = transmission
        self.finishesAlone = finishesAlone
        self.joined = joined
    }

    /// Whether the response is only for the call that began it.
    private var isPersonal: Bool {
        if case .success(nil) = joined.outcome { true } else { false }
    }

    /// Whether it goes on although its session has ended: calls wait for it that ask for that.
    var outlivesSession: Bool { !finishesAlone && transmission.outlivesSession }

    /// Joins the transmission, for a call that waits for its response then. Returns `false` if the transmission has
    /// been given up or is not for others: then the call needs another.
    func join() -> Bool {
        guard !isPersonal else { return false }
        return state.withLock { state in
            if !state.isGivenUp { state.calls += 1 }
            return !state.isGivenUp
        }
    }

    /// Waits for the response, for the call that began the transmission and joined it: its own is replaced. The call
    /// leaves when the wait ends, in whatever way.
    func response(inPlaceOf own: Transmission) async throws(ServiceError) -> HTTPResponse {
        defer { leave(own) }
        own.follow(transmission)
        return try await own.run { (scope: CallScope) async throws(ServiceError) in
            try await response.value(in: scope)
        }
    }

    /// The same for any other call. Returns `nil` if the response is not for it: then the call sends its own request.
    func responseForOthers(inPlaceOf own: Transmission) async throws(ServiceError) -> HTTPResponse? {
        defer { leave(own) }
        own.follow(transmission)
        let response = try await own.run { (scope: CallScope) async throws(ServiceError) in
            try await joined.value(in: scope)
        }
        if response == nil { own.follow(nil) }
        return response
    }

    /// Waits for the end, whatever the response is.
    func ended() async {
        await response.completion()
    }

    /// Runs the transmission, which its owner keeps, in a task of its own. Calls `isOver` before those who wait
    /// continue: what begins then needs another transmission.
    func start(
        for owner: any TransmissionOwner, _ send: @escaping @Sendable () async throws(ServiceError) -> HTTPResponse,
        isOver: @escaping @Sendable () -> Void = {}
    ) {
        transmission.time.startTask {
            let outcome: Result<HTTPResponse, ServiceError>
            do throws(ServiceError) {
                outcome = .success(try await send())
            } catch {
                outcome = .failure(error)
            }
            isOver()
            self.joined.complete(outcome.map(Optional.some))
            self.response.complete(outcome)
            owner.end(self)
        }
    }

    /// Leaves it. The last call stops it, for its own reason: a deadline counts against a server.
    private func leave(_ own: Transmission) {
        let isLast = state.withLock { state in
            state.calls -= 1
            guard state.calls == 0, !finishesAlone else { return false }
            state.isGivenUp = true
            return true
        }
        // After its end, this does nothing.
        if isLast { transmission.stop(own.scope.isOutOfTime ? transmission.timedOut(.deadline) : .cancelled) }
    }
}

/// Who has transmissions that run by themselves: the client.
protocol TransmissionOwner: AnyObject, Sendable {
    /// Keeps a transmission until its end, and stops it at its own. Throws if it has ended itself.
    func begin(_ transmission: SharedTransmission) throws(ServiceError)
    /// Notes that a transmission is over.
    func end(_ transmission: SharedTransmission)
}
