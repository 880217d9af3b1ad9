import Errand

/// Tasks that wait until something has been counted often enough: the requests of a transport, the sleepers of a clock.
///
/// A wait ends when the count is reached, when its task is canceled, or when the owner gives up, because a wait for
/// what never comes must not hang in silence.
final class CountWaiters: Sendable {
    /// A task that waits.
    struct Waiter: Sendable {
        let count: Int
        /// The line of the test that waits.
        let location: TestFailure.Location
        fileprivate let id: UInt64
        fileprivate let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var waiters: [Waiter] = []
        var lastID: UInt64 = 0
        /// Whether the owner has given up: from then on there are no waiters.
        var isOver = false
    }

    private let state = Lock(State())

    /// Whether a task waits.
    var isAwaited: Bool { state.withLock { !$0.waiters.isEmpty } }

    /// Waits until `present` returns at least `count`. Returns early if the task is canceled.
    ///
    /// - Parameters:
    ///   - count: The count that the caller waits for.
    ///   - location: The line of the test that waits.
    ///   - present: Returns the count. It is called once the waiter is registered, so no change goes unnoticed.
    func wait(atLeast count: Int, at location: TestFailure.Location, present: () -> Int) async {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // Checked under the lock: a handler that ran before this found no waiter to resume.
                    guard !state.isOver, !Task.isCancelled else { return true }
                    let waiter = Waiter(count: count, location: location, id: id, continuation: continuation)
                    state.waiters.append(waiter)
                    return false
                }
                if isOver { continuation.resume() } else { resume(upTo: present()) }
            }
        } onCancel: {
            take { $0.id == id }.forEach { $0.continuation.resume() }
        }
    }

    /// Resumes the tasks that wait for at most `count`.
    func resume(upTo count: Int) {
        take { $0.count <= count }.forEach { $0.continuation.resume() }
    }

    /// Resumes all tasks once `report` has returned, which is called with them in order. From then on no task waits.
    func giveUp(_ report: ([Waiter]) -> Void) {
        let waiters = state.withLock { state in
            state.isOver = true
            defer { state.waiters = [] }
            return state.waiters
        }
        report(waiters)
        waiters.forEach { $0.continuation.resume() }
    }

    private func take(_ isTaken: (Waiter) -> Bool) -> [Waiter] {
        state.withLock { state in
            guard !state.waiters.isEmpty else { return [] }
            let taken = state.waiters.filter(isTaken)
            if !taken.isEmpty { state.waiters.removeAll(where: isTaken) }
            return taken
        }
    }
}
