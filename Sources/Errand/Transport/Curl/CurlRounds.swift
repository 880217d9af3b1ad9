#if os(Linux)
#if canImport(Glibc)
import Glibc
#else
import Musl
#endif
import Synchronization

/// Whether the thread of a loop comes back to its jobs. Other threads may ask.
///
/// It is held up if it has not come back for ten milliseconds, in which it has worked, or a task has had it. One that
/// has had no core in that time is not: the machine is busy, and another thread would have none either. One that does
/// very many things, each of them short, is not either, so it comes back between the steps of a turn, too.
struct CurlRounds: ~Copyable, Sendable {
    /// In nanoseconds.
    private static let longest = 10_000_000
    private static let work = 5_000_000
    private static let short = 1_000_000

    /// The clock of the time that the thread has worked.
    private let clock = Atomic<clockid_t>(0)
    /// When the thread has come back; 0 while it waits.
    private let began = Atomic(0)
    /// How long it had worked by then.
    private let worked = Atomic(0)
    private let hasTask = Atomic(false)

    /// The time of a clock that never goes back.
    static var now: Int { time(CLOCK_MONOTONIC) ?? 0 }

    private static func time(_ clock: clockid_t) -> Int? {
        var time = timespec()
        guard clock_gettime(clock, &time) == 0 else { return nil }
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    /// The thread comes back for the first time. For that thread, as are the next four.
    func begin() {
        var clock = clockid_t()
        guard pthread_getcpuclockid(pthread_self(), &clock) == 0 else { return }
        self.clock.store(clock, ordering: .relaxed)
        comeBack()
    }

    /// The thread comes back.
    func comeBack() {
        worked.store(Self.time(CLOCK_THREAD_CPUTIME_ID) ?? 0, ordering: .relaxed)
        began.store(Self.now, ordering: .relaxed)
    }

    /// The thread has done one of several things that may have taken it long.
    func goOn() {
        if Self.now - began.load(ordering: .relaxed) > Self.short { comeBack() }
    }

    /// The thread waits, or ends.
    func wait() { began.store(0, ordering: .relaxed) }

    /// Runs the code of a task.
    func withTask(_ body: () -> Void) {
        hasTask.store(true, ordering: .relaxed)
        defer { hasTask.store(false, ordering: .relaxed) }
        body()
    }

    /// Whether the thread is held up at that time.
    func isHeldUp(at now: @autoclosure () -> Int = Self.now) -> Bool {
        let began = began.load(ordering: .relaxed)
        guard began > 0, now() - began > Self.longest else { return false }
        if hasTask.load(ordering: .relaxed) { return true }
        guard let time = Self.time(clock.load(ordering: .relaxed)) else { return false }
        return time - worked.load(ordering: .relaxed) > Self.work
    }
}
#endif
