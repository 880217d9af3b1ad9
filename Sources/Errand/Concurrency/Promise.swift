/// One result that many tasks wait for. Each can leave without disturbing the others.
///
/// The task that produces the result belongs to no waiter: a promise completes even if all waiters have left.
final class Promise<Value: Sendable, Failure: Error>: Sendable {
    typealias Outcome = Result<Value, Failure>

    private let result = Lock<Outcome?>(nil)
    /// Opens when the result is there. A latch has no type parameter, so all that waits is compiled once.
    let latch = Latch()

    /// The outcome, if the promise has completed.
    var outcome: Outcome? { result.withLock { $0 } }

    /// The number of waiters.
    var waiting: Int { latch.waiting }

    /// Ends the promise and resumes all waiters. Only the first completion counts. Returns the number of waiters it
    /// resumed; `nil` for a later completion.
    @discardableResult
    func complete(_ outcome: Outcome) -> Int? {
        let isFirst = result.withLock { result in
            guard result == nil else { return false }
            result = outcome
            return true
        }
        return isFirst ? latch.open() : nil
    }

    /// Waits for the result. Throws `.cancelled` at once when the task is canceled or the scope is stopped.
    @_semantics("optimize.sil.specialize.generic.never")
    func value(
        in scope: StopScope<Failure> = StopScope()
    ) async throws(Failure) -> Value where Failure: CancellationFailure {
        if let outcome { return try outcome.get() }
        // Whether it has opened, the outcome says.
        try? await latch.opened(in: scope)
        return try (outcome ?? .failure(.cancelled)).get()
    }

    /// Returns a promise that has completed with that value.
    static func completed(_ value: Value) -> Promise {
        let promise = Promise()
        promise.complete(.success(value))
        return promise
    }

    /// Waits until the promise has completed, whatever its outcome, even if the task is canceled.
    func completion() async {
        await latch.opened()
    }
}
