import Errand
import Foundation

/// What a program may do in the cancellation handler of a task.
///
/// Swift locks a task while its handlers run, and while it is resumed. A thread that resumes it while holding a lock
/// that a handler needs never finishes.
package enum LockedTask {
    private static let (rounds, tasks) = (40, 64)

    /// Cancels tasks that all wait for the same thing, while `send` makes it. Returns whether both ends: a thread that
    /// has to wait for longer than a minute waits for ever.
    ///
    /// - Parameters:
    ///   - send: Makes what the tasks wait for.
    ///   - wait: Waits for it, in each task.
    ///   - use: Is called in the cancellation handler of each task.
    package static func canUse(
        while send: @escaping @Sendable () async -> Void, ends wait: @escaping @Sendable () async -> Void,
        _ use: @escaping @Sendable () -> Void
    ) async throws -> Bool {
        for _ in 0..<rounds {
            let waiting = (0..<tasks).map { _ in
                Task { await withTaskCancellationHandler(operation: wait, onCancel: use) }
            }
            // Most of them have begun to wait by then. One that has not yet begun does no harm.
            try await Task.sleep(for: .milliseconds(2))
            let ended = Noted(0)
            Task {
                await OwnThread.run { await send() }
                ended.update { $0 += 1 }
            }
            Task {
                await OwnThread.run { for task in waiting { task.cancel() } }
                ended.update { $0 += 1 }
            }
            let end = ContinuousClock.now + .seconds(60)
            while ended.value < 2 {
                guard ContinuousClock.now < end else { return false }
                try await Task.sleep(for: .milliseconds(1))
            }
            for task in waiting { await task.value }
        }
        return true
    }
}
