import Dispatch
import Errand

/// A user's closure that a `LoopbackServer` calls.
///
/// It runs on the thread of its connection, because it may block, and because a test may block the threads that tasks
/// share while it waits for a response. One that may suspend is a task whose executor is that thread. When the server
/// closes the connection, the thread leaves, the task is canceled, and what is left of it runs on the shared threads: a
/// handler that never returns keeps no thread.
enum LoopbackHandler<Input: Sendable, Reply: Sendable>: Sendable {
    case synchronous(@Sendable (Input) -> Reply)
    case asynchronous(@Sendable (Input) async -> Reply)
}

extension LoopbackSocket {
    /// Calls the handler, and returns its reply; `nil` if the connection is closed first.
    func reply<Input, Reply>(of handler: LoopbackHandler<Input, Reply>, to input: Input) -> Reply? {
        let handle: @Sendable (Input) async -> Reply
        switch handler {
        case .synchronous(let handler): return handler(input)
        case .asynchronous(let handler): handle = handler
        }
        let thread = HandlerThread<Reply>()
        // It ends with the handler; whoever closes the connection cancels it, and nobody else has to wait for it.
        let task = Task(executorPreference: thread) { thread.end(with: await handle(input)) }
        whenShut {
            // In this order, so that what a canceled handler returns is not taken for its reply.
            thread.end(with: nil)
            task.cancel()
        }
        defer { whenShut(nil) }
        return thread.reply()
    }
}

/// The thread of a connection, as the executor of a handler's task.
private final class HandlerThread<Reply: Sendable>: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        /// The reply, or that there will be none; `nil` as long as neither is known.
        var outcome: Reply??
        /// Whether the thread does something else by now.
        var hasLeft = false
    }

    private let state = Lock(State())
    /// Raised for each job, and for the outcome.
    private let wakeUps = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let hasLeft = state.withLock { state in
            if !state.hasLeft { state.jobs.append(job) }
            return state.hasLeft
        }
        if hasLeft { globalConcurrentExecutor.enqueue(ExecutorJob(job)) } else { wakeUps.signal() }
    }

    /// Lets the thread leave. The first outcome counts.
    func end(with reply: Reply?) {
        state.withLock { if $0.outcome == nil { $0.outcome = .some(reply) } }
        wakeUps.signal()
    }

    /// Runs the jobs of the handler on the current thread until there is an outcome, and returns that.
    func reply() -> Reply? {
        while true {
            wakeUps.wait()
            let (job, outcome, left) = state.withLock { state -> (UnownedJob?, Reply??, [UnownedJob]) in
                guard let outcome = state.outcome else {
                    return (state.jobs.isEmpty ? nil : state.jobs.removeFirst(), nil, [])
                }
                state.hasLeft = true
                defer { state.jobs = [] }
                return (nil, .some(outcome), state.jobs)
            }
            job?.runSynchronously(on: asUnownedTaskExecutor())
            guard let outcome else { continue }
            for job in left { globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
            return outcome
        }
    }
}
