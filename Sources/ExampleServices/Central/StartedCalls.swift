import Errand

/// The tasks of calls that outlive their views, so that they can be canceled.
final class StartedCalls: Sendable {
    private struct State {
        var cancellations: [Int: @Sendable () -> Void] = [:]
        var lastNumber = 0
    }

    private let state = Lock(State())

    /// Runs an operation in a task of its own. The task is forgotten when it ends.
    func start<Value: Sendable>(_ operation: @escaping @Sendable () async -> Value) -> Task<Value, Never> {
        state.withLock { state in
            state.lastNumber += 1
            let number = state.lastNumber
            // Under the lock, so that a task that ends at once is forgotten after it has been noted.
            let task = Task {
                let value = await operation()
                self.forget(number)
                return value
            }
            state.cancellations[number] = { task.cancel() }
            return task
        }
    }

    /// Cancels all tasks that have not ended.
    func cancelAll() {
        // Outside of the lock: a cancellation runs code of the call.
        for cancel in state.withLock({ Array($0.cancellations.values) }) { cancel() }
    }

    private func forget(_ number: Int) {
        _ = state.withLock { $0.cancellations.removeValue(forKey: number) }
    }
}
