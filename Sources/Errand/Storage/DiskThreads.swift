#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Dispatch
#endif
#if URLSession && os(Linux)
// FoundationNetworking imports this module, which then owns the types of pthread for the compiler.
import CDispatch
#endif

/// A few threads for file operations, which may block for long: a task that blocks takes one of the threads that all
/// tasks share, and there are only as many as processor cores.
///
/// Threads start on demand. On Linux, a thread that finds no work for a while ends; elsewhere, Dispatch keeps them.
///
/// States of a thread: working, idle, ended. `idle` counts the threads that wait on the semaphore, less those for which
/// it has been raised. So a thread whose wait has timed out may end only if `idle` is not 0; otherwise its semaphore
/// has just been raised for it, and there is work.
final class DiskThreads: Sendable {
    typealias Job = @Sendable () -> Void

    private struct State {
        var jobs: [Job] = []
        /// The index of the next job: removing the first element of an array moves all others.
        var head = 0
        var threads = 0
        var idle = 0
    }

    private enum Start {
        case nothing, wake, thread
    }

    /// More would not help a disk, and three let a slow file system hold up one operation without the others.
    static let shared = DiskThreads(limit: 3)
    /// The Keychain may ask the user before it answers, and no file has to wait for that.
    static let keychain = DiskThreads(limit: 3)

    private let limit: Int
    private let patience: Int
    private let state = Lock(State())
    private let wakeUps = WakeUps()

    /// Creates a pool of at most `limit` threads, each of which ends after that many seconds without work.
    init(limit: Int, patience: Int = 5) {
        self.limit = limit
        self.patience = patience
    }

    /// The number of threads, and of jobs that wait for one.
    var counts: (threads: Int, waiting: Int) {
        state.withLock { ($0.threads, $0.jobs.count - $0.head) }
    }

    /// Runs `work` on one of the threads and returns its result. Work that has been handed over is done, even if the
    /// task is cancelled meanwhile.
    func run<Value: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await withCheckedContinuation { continuation in
            submit { continuation.resume(returning: Result(catching: work)) }
        }.get()
    }

    /// Runs `work` on one of the threads or, in virtual time, in the current task: time would pass for a test while it
    /// waits for a thread that the clock does not know.
    static func run<Value: Sendable, Failure: Error>(
        by time: any TimeSource, on threads: DiskThreads = .shared,
        _ work: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        guard time.executor == nil else { return try work() }
        return try await threads.run(work)
    }

    /// Hands over a job, which is run after those before it have begun.
    func submit(_ job: @escaping Job) {
        let start: Start = state.withLock { state in
            state.jobs.append(job)
            if state.idle > 0 {
                state.idle -= 1
                return .wake
            }
            guard state.threads < limit else { return .nothing }
            state.threads += 1
            return .thread
        }
        switch start {
        case .nothing: break
        case .wake: wakeUps.raise()
        case .thread: startThread()
        }
    }

    private func startThread() {
        #if os(Linux)
        guard !DetachedThread.start({ self.work() }) else { return }
        let isLast = state.withLock { state in
            state.threads -= 1
            return state.threads == 0
        }
        // The system has no thread left. The others take the job or, if there are none, the caller waits.
        if isLast { while let job = next(orIdling: false) { job() } }
        #else
        DispatchQueue.global().async { self.work() }
        #endif
    }

    /// The life of a thread.
    private func work() {
        while true {
            while let job = next(orIdling: true) { job() }
            #if os(Linux)
            guard !wakeUps.wait(seconds: patience) else { continue }
            let mayEnd = state.withLock { state in
                guard state.idle > 0 else { return false }
                state.idle -= 1
                state.threads -= 1
                return true
            }
            if mayEnd { return }
            wakeUps.wait()
            #else
            return
            #endif
        }
    }

    private func next(orIdling isThread: Bool) -> Job? {
        state.withLock { state in
            if state.head < state.jobs.count {
                defer {
                    state.head += 1
                    if state.head == state.jobs.count { (state.jobs, state.head) = ([], 0) }
                }
                return state.jobs[state.head]
            }
            if isThread {
                #if os(Linux)
                state.idle += 1
                #else
                state.threads -= 1
                #endif
            }
            return nil
        }
    }
}

#if os(Linux)
/// A semaphore of the system.
///
/// `@unchecked Sendable`: `sem_t` is made for use by several threads, and lives at one address as long as this object.
private final class WakeUps: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() {
        sem_init(semaphore, 0, 0)
    }

    func raise() {
        sem_post(semaphore)
    }

    func wait() {
        while sem_wait(semaphore) != 0, errno == EINTR {}
    }

    /// Waits for that long. Returns whether the semaphore was raised.
    func wait(seconds: Int) -> Bool {
        var end = timespec()
        clock_gettime(CLOCK_REALTIME, &end)
        end.tv_sec += seconds
        while sem_timedwait(semaphore, &end) != 0 {
            guard errno == EINTR else { return false }
        }
        return true
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }
}

/// A thread that nobody waits for.
private enum DetachedThread {
    private final class Work {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }

    /// Runs `body` on a thread of its own. Returns `false` if the system has no thread left.
    static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setstacksize(&attributes, 512 << 10)
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        let work = Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let result = pthread_create(
            &thread, &attributes,
            { context in
                guard let context else { return nil }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
                return nil
            }, work.toOpaque())
        if result != 0 { work.release() }
        return result == 0
    }
}
#else
/// Nobody waits: Dispatch keeps threads without work.
private struct WakeUps: Sendable {
    func raise() {}
}
#endif
