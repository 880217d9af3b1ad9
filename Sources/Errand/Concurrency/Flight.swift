/// One result that many tasks wait for. Each can leave without disturbing the others.
///
/// The task that produces the result belongs to no waiter: a flight lands even if all waiters have left.
///
/// States of a waiter: not registered (a cancellation that comes this early is checked under the lock, at
/// registration), waiting (its continuation is in the table), gone (landed or left: the code that removes a
/// continuation from the table resumes it).
final class Flight<Value: Sendable, Failure: Error>: Sendable {
    typealias Outcome = Result<Value, Failure>

    private struct State {
        var outcome: Outcome?
        var waiters: [UInt64: CheckedContinuation<Outcome, Never>] = [:]
        var nextSeat: UInt64 = 0
    }

    private let state = Lock(State())

    /// The outcome, if the flight has landed.
    var outcome: Outcome? {
        state.withLock { $0.outcome }
    }

    /// The number of waiters.
    var waiting: Int {
        state.withLock { $0.waiters.count }
    }

    /// Ends the flight and resumes all waiters. Only the first landing counts. Returns the number of waiters it
    /// resumed; `nil` for a later landing.
    @discardableResult
    func land(_ outcome: Outcome) -> Int? {
        let waiters: [UInt64: CheckedContinuation<Outcome, Never>]? = state.withLock { state in
            guard state.outcome == nil else { return nil }
            state.outcome = outcome
            defer { state.waiters = [:] }
            return state.waiters
        }
        // In order of arrival: the first waiters continue first.
        for seat in waiters?.keys.sorted() ?? [] { waiters?[seat]?.resume(returning: outcome) }
        return waiters?.count
    }

    /// Waits for the result. Throws `.cancelled` at once when the task is cancelled or the scope is stopped.
    func value(
        in scope: StopScope<Failure> = StopScope()
    ) async throws(Failure) -> Value where Failure: CancellationFailure {
        if let outcome { return try outcome.get() }
        let seat = state.withLock { state in
            state.nextSeat += 1
            return state.nextSeat
        }
        let outcome: Outcome = await scope.wait {
            await withCheckedContinuation { continuation in
                let early: Outcome? = state.withLock { state in
                    if let outcome = state.outcome { return outcome }
                    // Checked here, under the lock: a handler that ran before this found no continuation to resume.
                    if scope.isStopped { return .failure(.cancelled) }
                    state.waiters[seat] = continuation
                    return nil
                }
                if let early { continuation.resume(returning: early) }
            }
        } onStop: {
            self.state.withLock { $0.waiters.removeValue(forKey: seat) }?.resume(returning: .failure(.cancelled))
        }
        return try outcome.get()
    }

    /// Waits until the flight has landed, whatever its outcome, even if the task is cancelled.
    func landed() async {
        if outcome != nil { return }
        _ = await withCheckedContinuation { (continuation: CheckedContinuation<Outcome, Never>) in
            let early: Outcome? = state.withLock { state in
                if let outcome = state.outcome { return outcome }
                state.nextSeat += 1
                state.waiters[state.nextSeat] = continuation
                return nil
            }
            if let early { continuation.resume(returning: early) }
        }
    }
}
