/// One result that many tasks wait for, each of which can leave without disturbing the others.
///
/// The one who produces the result does not belong to any waiter: a flight lands even if everybody has left.
/// States of a waiter: not yet here (a cancellation before it arrives is seen by the check at the door), waiting
/// (its continuation is in the table), gone (landed or left; whoever takes the continuation out of the table resumes
/// it).
final class Flight<Value: Sendable, Failure: Error>: Sendable {
    typealias Outcome = Result<Value, Failure>

    private struct State {
        var outcome: Outcome?
        var waiters: [UInt64: CheckedContinuation<Outcome, Never>] = [:]
        var nextSeat: UInt64 = 0
    }

    private let state = Lock(State())

    /// What the flight brought, if it has landed.
    var outcome: Outcome? {
        state.withLock { $0.outcome }
    }

    /// How many are waiting now.
    var waiting: Int {
        state.withLock { $0.waiters.count }
    }

    /// Ends the flight and resumes all who wait. Only the first landing counts; returns how many were resumed, `nil`
    /// for a later landing.
    @discardableResult
    func land(_ outcome: Outcome) -> Int? {
        let waiters: [UInt64: CheckedContinuation<Outcome, Never>]? = state.withLock { state in
            guard state.outcome == nil else { return nil }
            state.outcome = outcome
            defer { state.waiters = [:] }
            return state.waiters
        }
        // In the order of arrival, so that those who came first go on first.
        for seat in waiters?.keys.sorted() ?? [] { waiters?[seat]?.resume(returning: outcome) }
        return waiters?.count
    }

    /// Waits for the result; leaves at once with `.cancelled` when the task is cancelled or the scope stopped.
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
                    // Seen here, under the lock: a handler that ran before this found no continuation to resume.
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

    /// Waits until the flight has landed, whatever it brought and even if the task is cancelled.
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
