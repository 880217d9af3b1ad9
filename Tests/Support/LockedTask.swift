import Foundation

/// What a program may do in the cancellation handler of a task.
///
/// Swift locks a task while its handlers run, and while it is resumed. Whoever resumes it while they hold a lock, which
/// a handler needs, never ends.
package enum LockedTask {
    /// Cancels a task that waits in `wait`. While its handler runs, `resume` makes what it waits for, on another
    /// thread. Returns whether `use` can be called meanwhile.
    package static func canUse(
        while resume: @escaping @Sendable () -> Void, ends wait: @escaping @Sendable () async -> Void,
        _ use: @escaping @Sendable () -> Void
    ) async throws -> Bool {
        let isUsed = Noted(false)
        let task = Task {
            await withTaskCancellationHandler {
                await wait()
            } onCancel: {
                Thread.detachNewThread { resume() }
                // Enough for the other thread to get as far as it can. With less, a fault could go unnoticed.
                Thread.sleep(forTimeInterval: 0.05)
                let end = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    use()
                    end.signal()
                }
                isUsed.value = end.wait(timeout: .now() + 60) == .success
            }
        }
        try await Task.sleep(for: .milliseconds(50))
        await OwnThread.run { task.cancel() }
        await task.value
        return isUsed.value
    }
}
