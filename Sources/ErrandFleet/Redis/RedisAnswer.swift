import Errand

/// One result that one task waits for, and that a thread, an alarm or a cancellation brings.
///
/// States: nothing has come and nobody waits, somebody waits, complete. The first result counts. Whoever takes the
/// continuation out of the state resumes it, without the lock.
final class RedisAnswer<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, FleetStoreError>

    private typealias Continuation = UnsafeContinuation<Outcome, Never>

    private enum State: Sendable {
        case empty
        case awaited(Continuation)
        case complete(Outcome)
    }

    private let state = Lock(State.empty)

    /// Whether a result has come, or nobody waits for one any more.
    var isComplete: Bool {
        state.withLock { state in
            guard case .complete = state else { return false }
            return true
        }
    }

    /// Brings the result. Returns whether it is the first.
    @discardableResult
    func complete(_ outcome: Outcome) -> Bool {
        let (isFirst, waiter): (Bool, Continuation?) = state.withLock { state in
            switch state {
            case .complete: return (false, nil)
            case .empty:
                state = .complete(outcome)
                return (true, nil)
            case .awaited(let continuation):
                state = .complete(outcome)
                return (true, continuation)
            }
        }
        waiter?.resume(returning: outcome)
        return isFirst
    }

    /// Waits for the result. Throws `.cancelled` at once when the task is canceled. Call it once.
    func value() async throws(FleetStoreError) -> Value {
        let outcome: Outcome = await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let early: Outcome? = state.withLock { state in
                    // A cancellation that came before has completed it.
                    if case .complete(let outcome) = state { return outcome }
                    state = .awaited(continuation)
                    return nil
                }
                if let early { continuation.resume(returning: early) }
            }
        } onCancel: {
            complete(.failure(.cancelled))
        }
        return try outcome.get()
    }
}

/// A command whose answer a task waits for.
final class RedisRequest: Sendable {
    let command: RedisCommand
    /// The key that it is about; `nil` if it is about none.
    let key: String?
    /// Whether it may be sent again after its answer was lost.
    let isRepeatable: Bool
    let answer = RedisAnswer<RedisValue>()

    init(_ command: RedisCommand, about key: String?, isRepeatable: Bool) {
        self.command = command
        self.key = key
        self.isRepeatable = isRepeatable
    }
}

/// A watch of a key, until it fails or its task is canceled.
final class RedisWatch: Sendable {
    let key: String
    let pass: RecordStream.Pass
    let end = RedisAnswer<Void>()

    init(of key: String, pass: @escaping RecordStream.Pass) {
        self.key = key
        self.pass = pass
    }
}
