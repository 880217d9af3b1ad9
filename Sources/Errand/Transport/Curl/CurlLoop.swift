#if os(Linux)
import CCurl
#if canImport(Glibc)
import Glibc
#else
import Musl
#endif
import Synchronization

/// The thread on which libcurl works, woken when there is something new to do.
///
/// It lives until `close`; the transport closes it when it goes.
final class CurlLoop: Sendable {
    /// How often to check that the thread comes back to its jobs.
    private static let watchInterval = Duration.milliseconds(60)

    let pool: CurlPool
    private let core: CurlCore
    private let inbox = Lock(CurlInbox())
    /// What works on the exchanges, while there is a thread. The thread has it but for its waits, in which a caller can
    /// have it for the time of one send.
    private let worker = Lock<CurlWorker?>(nil)
    /// Whether a task has ever preferred the thread.
    private let hasTasks = Atomic(false)
    /// Whether a task has ever held up the thread for long.
    private let hasHolds = Atomic(false)
    private let holds = Lock(CurlHolds())

    /// Creates a loop for the requests of these queues.
    init(_ core: CurlCore, pool: CurlPool) {
        self.core = core
        self.pool = pool
    }

    // MARK: Jobs

    /// Starts the exchange; returns `false` if the loop is closed.
    func start(_ exchange: CurlExchange) -> Bool {
        if send(exchange) { return true }
        guard let notice = inbox.withLock({ $0.start(exchange) }) else { return false }
        act(on: notice)
        return true
    }

    /// Starts the exchange on the thread of its caller, if that only has to send the request: to hand a single request
    /// to the other thread takes longer than to send it. With more of them that thread is awake anyway.
    private func send(_ exchange: CurlExchange) -> Bool {
        guard pool.active == 1, inbox.withLock({ $0.isQuiet }) else { return false }
        return worker.withLockIfAvailable { $0?.send(exchange, inbox) ?? false } ?? false
    }

    /// Resumes an exchange that has paused. Does nothing if it has ended.
    func resume(_ exchange: CurlExchange) {
        act(on: inbox.withLock { $0.add(.resume(exchange)) })
    }

    /// Ends the exchange, which completes with `nil`; one that is yet to be started does not begin. If its time is up,
    /// the connection on which it has waited takes no more requests.
    func cancel(_ exchange: CurlExchange, isOutOfTime: Bool = false) {
        // Before the job is added: either the thread sees this when it starts the exchange, or it has started it when
        // the job comes.
        exchange.noteCancellation()
        act(on: inbox.withLock { $0.add(.cancel(exchange, isOutOfTime: isOutOfTime)) })
    }

    /// Ends all exchanges of a client, and waits until they have ended.
    func endAll(of client: TransportContext.Client) async {
        let promise = Promise<Void, ServiceError>()
        guard let notice = inbox.withLock({ $0.endAll(of: client, then: promise) }) else { return }
        act(on: notice)
        await promise.completion()
    }

    private func act(on notice: CurlInbox.Notice) {
        switch notice {
        case .none: break
        case .wake: core.wake()
        case .watch: watch()
        case .launch: launch()
        }
    }

    /// Checks, until it has, that the thread comes back to its jobs: a server can keep it busy on one connection, which
    /// is shut down then.
    private func watch() {
        let time = SystemTime.shared
        _ = time.schedule(at: time.now.advanced(by: Self.watchInterval), for: .watch) { [weak self] in
            guard let self else { return }
            let isWorking = core.watch()
            if inbox.withLock({ $0.goesOnWatching(isWorking) }) { watch() }
        }
    }

    // MARK: The thread

    private func launch() {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self).toOpaque()
        let result = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<CurlLoop>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
        guard result == 0 else {
            Unmanaged<CurlLoop>.fromOpaque(context).release()
            return end(.absent, hasBegun: false)
        }
        pthread_detach(thread)
    }

    private func run() {
        let signals = CurlWorker.prepareThread()
        worker.withLock { $0 = CurlWorker(core, pool) }
        var tasks: [UnownedJob] = []
        while var wait = turn() {
            // What the tasks ask for begins before the thread waits.
            if runTasks(&tasks, signals) {
                guard let next = turn() else { break }
                wait = next
            }
            ccurl_loop_wait(core.loop, wait)
        }
        let rest = worker.withLock { worker in
            defer { worker = nil }
            return worker
        }
        guard var rest, ccurl_loop_is_busy(core.loop) else {
            core.free()
            return end(.absent)
        }
        end(.lingering)
        rest.linger()
        core.free()
    }

    /// Does what there is to do. Returns for how many milliseconds the thread may wait then; `nil` if it has to end.
    private func turn() -> CInt? {
        if let wait = worker.withLockIfAvailable({ $0?.turn(inbox) }) { return wait }
        // A server can keep a caller's thread busy just like this one.
        if inbox.withLock({ $0.beginWatching() }) { watch() }
        return worker.withLock { $0?.turn(inbox) }
    }

    /// Completes what waits for the thread, which has ended all exchanges or could not begin.
    private func end(_ thread: CurlInbox.Thread, hasBegun: Bool = true) {
        let (jobs, tasks, ended) = inbox.withLock { $0.end(thread) }
        for job in jobs {
            switch job {
            case .start(let exchange):
                if !hasBegun { ccurl_transfer_set_words(exchange.handle.transfer, CurlFailure.noThread) }
                exchange.complete(CCURLE_OUT_OF_MEMORY)
            case .endAll(_, let promise): promise.complete(.success(()))
            case .resume, .cancel: break
            }
        }
        for task in tasks { Self.runElsewhere(task) }
        for promise in ended { promise.complete(.success(())) }
    }

    // MARK: Tasks

    /// How long the jobs of tasks may have the thread until sockets are served again.
    private static let taskTime = Duration.milliseconds(1)

    /// Runs jobs of tasks, with the signals that their thread would have. No lock is held. Returns whether there were
    /// any.
    private func runTasks(_ tasks: inout [UnownedJob], _ signals: CurlSignals) -> Bool {
        guard hasTasks.load(ordering: .relaxed) else { return false }
        inbox.withLock { $0.takeTasks(for: &tasks) }
        guard !tasks.isEmpty else { return false }
        signals.allow()
        defer { signals.block() }
        let (executor, time) = (asUnownedTaskExecutor(), SystemTime.shared)
        var now = time.now
        let end = now.advanced(by: Self.taskTime)
        var next = 0
        repeat {
            let start = now
            tasks[next].runSynchronously(on: executor)
            next += 1
            now = time.now
            if start.duration(to: now) >= CurlHolds.reported { note(start.duration(to: now)) }
        } while next < tasks.count && now < end
        if next < tasks.count { inbox.withLock { $0.putBack(tasks[next...]) } }
        tasks.removeAll(keepingCapacity: true)
        return true
    }

    private static func runElsewhere(_ task: UnownedJob) {
        globalConcurrentExecutor.enqueue(ExecutorJob(task))
    }

    /// Notes for how long a job of a task has held up the thread.
    private func note(_ hold: Duration) {
        holds.withLock { $0.note(hold) }
        hasHolds.store(true, ordering: .relaxed)
    }

    /// Returns a warning if a job of a task has held up the thread, once a minute.
    func takeWarning() -> String? {
        guard hasHolds.load(ordering: .relaxed) else { return nil }
        return holds.withLock { $0.takeWarning(at: SystemTime.shared.now) }
    }

    // MARK: The end

    /// Ends all exchanges, and the thread.
    func close() {
        switch inbox.withLock({ $0.close() }) {
        case .running: core.wake()
        // It frees the C side itself when it ends.
        case .lingering: break
        case .absent: core.free()
        }
    }

    /// Waits until the thread has ended.
    func closed() async {
        let promise = Promise<Void, ServiceError>()
        if inbox.withLock({ $0.awaitEnd(promise) }) { await promise.completion() }
    }
}

extension CurlLoop: TaskExecutor {
    /// Runs a job of a task between two turns of the thread; on one of Swift's own if that ends or has ended.
    func enqueue(_ job: consuming ExecutorJob) {
        let task = UnownedJob(job)
        if !hasTasks.load(ordering: .relaxed) { hasTasks.store(true, ordering: .relaxed) }
        guard let notice = inbox.withLock({ $0.add(task) }) else { return Self.runElsewhere(task) }
        act(on: notice)
    }
}
#endif
