import Dispatch

/// Runs work that blocks, or computes for long, on a thread of its own: other tasks need the few threads of the pool.
///
/// What the work awaits continues on that thread, and the work keeps the task-local values, so that an expectation in
/// it belongs to its test.
package enum OwnThread {
    /// Calls a closure on a thread of its own, and returns its result.
    package static func run<Value: Sendable, Failure: Error>(
        _ work: @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await withTaskExecutorPreference(Executor()) { () async throws(Failure) in try await call(work) }
    }

    /// Runs on the preferred executor; a function that stays where its caller is would not.
    @concurrent
    private static func call<Value: Sendable, Failure: Error>(
        _ work: @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        // The compiler leaves the switch out if nothing here depends on it.
        withUnsafeCurrentTask { _ in }
        return try await work()
    }

    /// The queue has a thread of Dispatch, and none of the pool.
    private final class Executor: TaskExecutor {
        private let queue = DispatchQueue(label: "errand.test.own-thread")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }
}
