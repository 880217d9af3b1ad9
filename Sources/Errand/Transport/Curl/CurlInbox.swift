#if os(Linux)
/// The jobs for the thread of a loop, and how far that thread has come: what is behind the loop's lock.
struct CurlInbox {
    enum Job {
        case start(CurlExchange)
        case resume(CurlExchange)
        case cancel(CurlExchange, isOutOfTime: Bool)
        /// End all exchanges of a client, then complete this.
        case endAll(of: TransportContext.Client, then: Latch)
    }

    /// What has to be done so that the thread sees a new job.
    enum Notice {
        /// Nothing: it comes back to its jobs, and somebody checks that it does.
        case none
        /// Wake it: it waits for sockets.
        case wake
        /// Check that it comes back to its jobs.
        case watch
        /// Launch it.
        case launch
    }

    enum Thread {
        case absent, running
        /// It has ended all exchanges, and waits for lookups before it frees the C side.
        case lingering
    }

    private var jobs: [Job] = []
    /// The jobs of tasks that prefer the thread.
    private var tasks: [UnownedJob] = []
    private var ended: [Latch] = []
    private var thread = Thread.absent
    private var isClosed = false
    /// Whether the thread waits for sockets, and has to be woken for a job.
    private var isWaiting = false
    /// Whether somebody checks that the thread comes back to its jobs.
    private var isWatched = false

    // MARK: For callers

    /// The thread is about to be launched, before there is a job.
    mutating func begin() { thread = .running }

    /// Adds the job of a new exchange; `nil` if the loop is closed.
    mutating func start(_ exchange: CurlExchange) -> Notice? {
        guard !isClosed else { return nil }
        guard thread == .running else {
            jobs.append(.start(exchange))
            thread = .running
            return .launch
        }
        return add(.start(exchange))
    }

    /// Whether the thread waits, and nothing has been left for it.
    var isQuiet: Bool { isWaiting && !isClosed && thread == .running }

    /// Adds a job for an exchange that was started. Without a thread it has ended.
    mutating func add(_ job: Job) -> Notice {
        guard thread == .running else { return .none }
        jobs.append(job)
        return noticeOfJob()
    }

    /// Adds the job of a task; `nil` if the thread ends or has ended, and another has to run it.
    mutating func add(_ task: UnownedJob) -> Notice? {
        guard !isClosed, thread != .lingering else { return nil }
        tasks.append(task)
        if thread == .running { return noticeOfJob() }
        thread = .running
        return .launch
    }

    private mutating func noticeOfJob() -> Notice {
        defer { isWaiting = false }
        if isWaiting { return .wake }
        if isWatched { return .none }
        isWatched = true
        return .watch
    }

    /// Whether somebody has to begin to check.
    mutating func beginWatching() -> Bool {
        defer { isWatched = true }
        return !isWatched
    }

    /// Whether to check again. `isWorking` says whether the thread is working now.
    mutating func goesOnWatching(_ isWorking: Bool) -> Bool {
        isWatched = thread == .running && (isWorking || !jobs.isEmpty)
        return isWatched
    }

    /// Lets nothing more begin. Returns what the thread is doing.
    mutating func close() -> Thread {
        isClosed = true
        return thread
    }

    /// Adds the job to end all exchanges of a client; `nil` if there is no thread, and so no exchange.
    mutating func endAll(of client: TransportContext.Client, then latch: Latch) -> Notice? {
        thread == .running ? add(.endAll(of: client, then: latch)) : nil
    }

    /// Opens the latch when the thread has ended; `false` if there is no thread.
    mutating func awaitEnd(_ latch: Latch) -> Bool {
        guard thread == .running else { return false }
        ended.append(latch)
        return true
    }

    /// Whether the thread has ended.
    var hasEnded: Bool { isClosed && thread == .absent }
    /// Whether no job of a task waits.
    var isFree: Bool { tasks.isEmpty }
    /// Whether no job waits.
    var isEmpty: Bool { jobs.isEmpty && tasks.isEmpty }

    // MARK: For the thread

    /// Whether there is nothing to do but to wait; from then on, a job wakes the thread.
    mutating func mayWait() -> Bool {
        isWaiting = jobs.isEmpty && tasks.isEmpty && !isClosed
        return isWaiting
    }

    /// Exchanges the jobs for an empty list, whose memory serves the next ones. Returns whether the loop is closed.
    mutating func takeJobs(for empty: inout [Job]) -> Bool {
        isWaiting = false
        swap(&jobs, &empty)
        return isClosed
    }

    /// Exchanges the jobs of tasks for an empty list, likewise.
    mutating func takeTasks(for empty: inout [UnownedJob]) {
        swap(&tasks, &empty)
    }

    /// Puts jobs of tasks that had no time before those that have come since.
    mutating func putBack(_ rest: ArraySlice<UnownedJob>) {
        tasks.insert(contentsOf: rest, at: 0)
    }

    /// The thread has ended all exchanges, or could not begin. Returns the jobs that will not be done, those of tasks,
    /// which another thread has to do, and what waits for its end.
    mutating func end(
        _ next: Thread
    ) -> (jobs: [Job], tasks: [UnownedJob], ended: [Latch]) {
        thread = next
        defer { (jobs, tasks, ended) = ([], [], []) }
        return (jobs, tasks, ended)
    }
}
#endif
