#if os(Linux)
import CCurl
#if canImport(Glibc)
import Glibc
#else
import Musl
#endif
import Synchronization

/// A thread on which libcurl works, woken when there is something new to do.
///
/// It lives until `close`. The transport closes it when it goes, and the thread itself, if it is not the first, when it
/// has had nothing to do for long.
final class CurlLoop: CurlRunner {
    /// How often to check that the thread comes back to its jobs.
    private static let watchInterval = Duration.milliseconds(60)

    let pool: CurlPool
    private let idleTime: Duration
    private let core: CurlCore
    private let entrance: CurlEntrance
    private let signals: CurlSignals
    private let loops = Lock(Loops())
    private let inbox = Lock(CurlInbox())
    /// What works on the exchanges, while there is a thread. The thread has it but for its waits, in which a caller can
    /// have it for the time of one send.
    private let worker = Lock<CurlWorker?>(nil)
    /// Whether a task has ever preferred the thread.
    private let hasTasks = Atomic(false)
    /// Whether a task has ever held up the thread for long.
    private let hasHolds = Atomic(false)
    private let holds = Lock(CurlHolds())
    private let rounds = CurlRounds()

    private struct Loops {
        weak var loops: CurlLoops?
    }

    /// Creates a loop for the requests of these queues.
    init(
        _ core: CurlCore, pool: CurlPool, _ entrance: CurlEntrance, _ signals: CurlSignals, idleTime: Duration
    ) {
        self.core = core
        self.entrance = entrance
        self.signals = signals
        self.pool = pool
        self.idleTime = idleTime
    }

    /// Makes it one of these.
    func join(_ loops: CurlLoops) {
        self.loops.withLock { $0.loops = loops }
    }

    /// Its number among the loops of its transport; 0 for the first, which stays when it has nothing to do.
    var number: Int { core.number }

    /// The loop whose thread this is.
    static var current: CurlLoop? {
        ccurl_current().map { Unmanaged<CurlLoop>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Whether the thread has not come back to its jobs for long.
    var isHeldUp: Bool { rounds.isHeldUp() }

    // MARK: Jobs

    /// Starts the exchange; returns `false` if the loop is closed.
    func start(_ exchange: CurlExchange) -> Bool {
        if send(exchange) { return true }
        guard let notice = add(exchange) else { return false }
        act(on: notice)
        return true
    }

    /// Adds the exchange, which starts when the notice has been acted on; `nil` if the loop is closed.
    func add(_ exchange: CurlExchange) -> CurlInbox.Notice? {
        inbox.withLock { $0.start(exchange) }
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

    /// Ends the exchange, which remembers that it was canceled: the thread sees that when it starts it, or it has
    /// started it when the job comes.
    func cancel(_ exchange: CurlExchange, isOutOfTime: Bool) {
        act(on: inbox.withLock { $0.add(.cancel(exchange, isOutOfTime: isOutOfTime)) })
    }

    /// Ends all exchanges of a client, and waits until they have ended.
    func endAll(of client: TransportContext.Client) async {
        let latch = Latch()
        guard let notice = inbox.withLock({ $0.endAll(of: client, then: latch) }) else { return }
        act(on: notice)
        await latch.opened()
    }

    func act(on notice: CurlInbox.Notice) {
        switch notice {
        case .none: break
        case .wake: core.wake()
        case .watch: watch()
        case .launch: if !launch() { end(.absent, hasBegun: false) }
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

    /// Launches the thread before there is anything to do. Returns `false` if the system has none.
    func open() -> Bool {
        inbox.withLock { $0.begin() }
        return launch()
    }

    private func launch() -> Bool {
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
            return false
        }
        pthread_detach(thread)
        return true
    }

    private func run() {
        CurlWorker.prepareThread(signals)
        ccurl_set_current(Unmanaged.passUnretained(self).toOpaque())
        rounds.begin()
        defer {
            rounds.wait()
            ccurl_set_current(nil)
        }
        var idle = Idle()
        worker.withLock { $0 = CurlWorker(core, pool, entrance) }
        var tasks: [UnownedJob] = []
        while var wait = turn() {
            // What the tasks ask for begins before the thread waits.
            if runTasks(&tasks) {
                idle.since = nil
                guard let next = turn() else { break }
                wait = next
            }
            if number > 0 { wait = min(wait, waitUntilRetired(&idle)) }
            awaitEvents(for: wait)
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

    private func awaitEvents(for milliseconds: CInt) {
        guard pool.mostLoops > 1 else { return ccurl_loop_wait(core.loop, milliseconds) }
        if milliseconds > 0 { rounds.wait() }
        ccurl_loop_wait(core.loop, milliseconds)
        rounds.comeBack()
    }

    /// Since when there has been nothing to do, and how many exchanges had started by then.
    private struct Idle {
        var since: Instant?
        var started = 0
    }

    /// Retires if nothing has been there to do for long. Returns for how many milliseconds to wait at most.
    private func waitUntilRetired(_ idle: inout Idle) -> CInt {
        // While a caller sends, there is something to do.
        let (isIdle, started) = worker.withLockIfAvailable { ($0?.isIdle ?? true, $0?.started ?? 0) } ?? (false, 0)
        guard isIdle, inbox.withLock({ $0.isEmpty }) else {
            idle.since = nil
            return .max
        }
        let now = SystemTime.shared.now
        if idle.since == nil || idle.started != started { idle = Idle(since: now, started: started) }
        let left = now.duration(to: (idle.since ?? now).advanced(by: idleTime))
        guard left <= .zero else { return CInt(clamping: left.wholeNanoseconds / 1_000_000 + 1) }
        loops.withLock({ $0.loops })?.retire(self)
        return 0
    }

    /// Does what there is to do. Returns for how many milliseconds the thread may wait then; `nil` if it has to end.
    private func turn() -> CInt? {
        if let wait = worker.withLockIfAvailable({ $0?.turn(inbox, rounds) }) { return wait }
        // A server can keep a caller's thread busy just like this one.
        if inbox.withLock({ $0.beginWatching() }) { watch() }
        return worker.withLock { $0?.turn(inbox, rounds) }
    }

    /// Completes what waits for the thread, which has ended all exchanges or could not begin.
    private func end(_ thread: CurlInbox.Thread, hasBegun: Bool = true) {
        let (jobs, tasks, ended) = inbox.withLock { $0.end(thread) }
        for job in jobs {
            switch job {
            case .start(let exchange):
                if !hasBegun { ccurl_transfer_set_words(exchange.handle.transfer, CurlFailure.noThread) }
                exchange.complete(CCURLE_OUT_OF_MEMORY)
            case .endAll(_, let latch): latch.open()
            case .resume, .cancel: break
            }
        }
        for task in tasks { Self.runElsewhere(task) }
        for latch in ended { latch.open() }
    }

    // MARK: Tasks

    /// How long the jobs of tasks may have the thread until sockets are served again.
    private static let taskTime = Duration.milliseconds(1)

    /// Runs jobs of tasks, with the signals that their thread would have. No lock is held. Returns whether there were
    /// any.
    private func runTasks(_ tasks: inout [UnownedJob]) -> Bool {
        guard hasTasks.load(ordering: .relaxed) else { return false }
        inbox.withLock { $0.takeTasks(for: &tasks) }
        guard !tasks.isEmpty else { return false }
        // A task that has a job retains what it prefers.
        guard let loops = loops.withLock({ $0.loops }) else {
            for task in tasks { Self.runElsewhere(task) }
            tasks.removeAll(keepingCapacity: true)
            return false
        }
        signals.allow()
        defer { signals.block() }
        let (executor, time) = (loops.asUnownedTaskExecutor(), SystemTime.shared)
        var now = time.now
        let end = now.advanced(by: Self.taskTime)
        var next = 0
        repeat {
            let start = now
            rounds.withTask { tasks[next].runSynchronously(on: executor) }
            next += 1
            now = time.now
            if start.duration(to: now) >= CurlHolds.reported { note(start.duration(to: now)) }
        } while next < tasks.count && now < end
        if next < tasks.count {
            // As many as have had their turn will have it soon; the others wait for longer than a millisecond.
            let rest = tasks[next...]
            let kept = rest.count > next ? loops.runElsewhere(rest, than: self) : rest
            inbox.withLock { $0.putBack(kept) }
        }
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

    /// Whether the thread has ended.
    var hasEnded: Bool { inbox.withLock { $0.hasEnded } }
    /// Whether no job of a task waits for the thread.
    var isFree: Bool { inbox.withLock { $0.isFree } }

    /// Waits until the thread has ended.
    func closed() async {
        let latch = Latch()
        if inbox.withLock({ $0.awaitEnd(latch) }) { await latch.opened() }
    }
}

extension CurlLoop {
    /// Runs a job of a task between two turns of the thread; on one of Swift's own if that ends or has ended.
    func enqueue(_ task: UnownedJob) {
        if !hasTasks.load(ordering: .relaxed) { hasTasks.store(true, ordering: .relaxed) }
        guard let notice = inbox.withLock({ $0.add(task) }) else { return Self.runElsewhere(task) }
        act(on: notice)
    }
}
#endif
