/// One result that many tasks wait for. Each can leave without disturbing the others.
///
/// The task that produces the result belongs to no waiter: a promise completes even if all waiters have left.
///
/// States of a waiter: not registered (a cancellation that comes this early is checked under the lock, at
/// registration), waiting (its continuation is in the list), gone (completed or left: the code that removes a
/// continuation from the list resumes it). So each is resumed exactly once, which needs no check at run time.
final class Promise<Value: Sendable, Failure: Error>: Sendable {
    typealias Outcome = Result<Value, Failure>

    private typealias Continuation = UnsafeContinuation<Outcome, Never>

    /// Those who wait. Most promises have one waiter, who needs no table.
    private struct Waiters {
        private var first: (id: UInt64, continuation: Continuation)?
        private var others: [UInt64: Continuation] = [:]

        var count: Int { (first == nil ? 0 : 1) + others.count }

        mutating func add(_ continuation: Continuation, at id: UInt64) {
            if count == 0 { first = (id, continuation) } else { others[id] = continuation }
        }

        mutating func remove(at id: UInt64) -> Continuation? {
            guard let first, first.id == id else { return others.removeValue(forKey: id) }
            self.first = nil
            return first.continuation
        }

        /// Resumes all, in order of arrival: the first waiters continue first.
        func resume(returning outcome: Outcome) {
            first?.continuation.resume(returning: outcome)
            guard !others.isEmpty else { return }
            for (_, continuation) in others.sorted(by: { $0.key < $1.key }) { continuation.resume(returning: outcome) }
        }
    }

    private struct State {
        var outcome: Outcome?
        var waiters = Waiters()
        var nextID: UInt64 = 0
    }

    private let state = Lock(State())

    /// The outcome, if the promise has completed.
    var outcome: Outcome? {
        state.withLock { $0.outcome }
    }

    /// The number of waiters.
    var waiting: Int {
        state.withLock { $0.waiters.count }
    }

    /// Ends the promise and resumes all waiters. Only the first completion counts. Returns the number of waiters it
    /// resumed; `nil` for a later completion.
    @discardableResult
    func complete(_ outcome: Outcome) -> Int? {
        let waiters: Waiters? = state.withLock { state in
            guard state.outcome == nil else { return nil }
            state.outcome = outcome
            defer { state.waiters = Waiters() }
            return state.waiters
        }
        waiters?.resume(returning: outcome)
        return waiters?.count
    }

    /// Waits for the result. Throws `.cancelled` at once when the task is canceled or the scope is stopped.
    @_semantics("optimize.sil.specialize.generic.never")
    func value(
        in scope: StopScope<Failure> = StopScope()
    ) async throws(Failure) -> Value where Failure: CancellationFailure {
        if let outcome { return try outcome.get() }
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let outcome: Outcome = await scope.wait {
            await withUnsafeContinuation { continuation in
                let early: Outcome? = state.withLock { state in
                    if let outcome = state.outcome { return outcome }
                    // Checked here, under the lock: a handler that ran before this found no continuation to resume.
                    if scope.isStopped { return .failure(.cancelled) }
                    state.waiters.add(continuation, at: id)
                    return nil
                }
                if let early { continuation.resume(returning: early) }
            }
        } onStop: {
            self.state.withLock { $0.waiters.remove(at: id) }?.resume(returning: .failure(.cancelled))
        }
        return try outcome.get()
    }

    /// Returns a promise that has completed with that value.
    static func completed(_ value: Value) -> Promise {
        let promise = Promise()
        promise.complete(.success(value))
        return promise
    }

    /// Waits until the promise has completed, whatever its outcome, even if the task is canceled.
    func completion() async {
        if outcome != nil { return }
        _ = await withUnsafeContinuation { (continuation: Continuation) in
            let early: Outcome? = state.withLock { state in
                if let outcome = state.outcome { return outcome }
                state.nextID += 1
                state.waiters.add(continuation, at: state.nextID)
                return nil
            }
            if let early { continuation.resume(returning: early) }
        }
    }
}
