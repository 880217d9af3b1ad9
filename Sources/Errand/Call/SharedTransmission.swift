/// A transmission that several calls share, or that belongs to none.
///
/// It runs in a task of its own, whose owner is the client: `shutdown()` stops the transmission and waits for its end.
/// A call that leaves does not disturb the others. When the last has left, the transmission is stopped, unless it was
/// started to finish without a call.
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
    private let state = Lock(State())

    init(_ transmission: Transmission, finishesAlone: Bool) {
        self.transmission = transmission
        self.finishesAlone = finishesAlone
    }

    /// Whether it goes on although its session has ended: calls wait for it that ask for that.
    var outlivesSession: Bool { !finishesAlone && transmission.outlivesSession }

    /// Joins the transmission, for a call that waits for its response then. Returns `false` if the transmission has
    /// been given up: then the call needs another.
    func join() -> Bool {
        state.withLock { state in
            if !state.isGivenUp { state.calls += 1 }
            return !state.isGivenUp
        }
    }

    /// Waits for the response, for a call that has joined and whose own transmission this replaces. The call leaves
    /// when the wait ends, in whatever way.
    func response(inPlaceOf own: Transmission) async throws(ServiceError) -> HTTPResponse {
        defer { leave() }
        own.follow(transmission)
        return try await own.run { (scope: CallScope) async throws(ServiceError) in
            try await response.value(in: scope)
        }
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
        Task(executorPreference: transmission.time.executor) {
            let outcome: Result<HTTPResponse, ServiceError>
            do throws(ServiceError) {
                outcome = .success(try await send())
            } catch {
                outcome = .failure(error)
            }
            isOver()
            self.response.complete(outcome)
            owner.end(self)
        }
    }

    private func leave() {
        let isLast = state.withLock { state in
            state.calls -= 1
            guard state.calls == 0, !finishesAlone else { return false }
            state.isGivenUp = true
            return true
        }
        // After its end, this does nothing.
        if isLast { transmission.stop(.cancelled) }
    }
}

/// Who has transmissions that run by themselves: the client.
protocol TransmissionOwner: AnyObject, Sendable {
    /// Keeps a transmission until its end, and stops it at its own. Throws if it has ended itself.
    func begin(_ transmission: SharedTransmission) throws(ServiceError)
    /// Notes that a transmission is over.
    func end(_ transmission: SharedTransmission)
}
