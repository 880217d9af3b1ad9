#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Darwin
#endif
#if URLSession && os(Linux)
// FoundationNetworking imports this module, which then owns the types of time for the compiler.
import CDispatch
#endif

/// The system's clock and random numbers.
///
/// All alarms of a process share one sleeping task. The task blocks no thread, wakes when the earliest alarm it knew of
/// is due, and ends when no alarm is left.
public final class SystemTime: TimeSource {
    static let shared = SystemTime()

    private let alarms = AlarmHeap.Shared()
    private let sleeper = Lock(Sleeper<Task<Void, Never>>())

    /// Creates a time source with its own alarms, for tests: a process shares one.
    init() {}

    /// The current instant. It also advances while the machine sleeps, as the server's time does.
    public var now: Instant { SystemClock.now }
    /// The current date and time of the wall clock.
    public var date: Date { Date() }
    /// `nil`: tasks run on the default executor.
    public var executor: (any TaskExecutor)? { nil }

    /// Returns a random number from the system's generator.
    public func random() -> UInt64 { UInt64.random(in: .min ... .max) }

    /// Calls `action` at `instant`. An alarm at `distantFuture` costs only its entry.
    public func schedule(
        at instant: Instant, for purpose: Alarm.Purpose, _ action: @escaping @Sendable () -> Void
    ) -> Alarm {
        let ticket = alarms.withLock { $0.insert(at: instant, for: purpose, action) }
        if instant < .distantFuture { ensureAwake(by: instant) }
        return Alarm(heap: alarms, ticket: ticket)
    }

    private func ensureAwake(by instant: Instant) {
        guard let sleep = sleeper.withLock({ $0.begin(until: instant) }) else { return }
        sleep.replaced?.cancel()
        let task = start(sleep.number, until: instant)
        if !sleeper.withLock({ $0.keep(task, of: sleep.number) }) { task.cancel() }
    }

    /// The task is owned by the process-wide clock, which cancels it when an earlier alarm replaces it.
    private func start(_ sleep: UInt64, until instant: Instant) -> Task<Void, Never> {
        Task.detached {
            let pause = self.now.duration(to: instant)
            // A canceled sleep means that a task with an earlier alarm has replaced this one.
            guard (try? await Task.sleep(for: pause, tolerance: .zero, clock: .continuous)) != nil else { return }
            self.fire(upTo: instant, after: sleep)
        }
    }

    private func fire(upTo planned: Instant, after sleep: UInt64) {
        guard sleeper.withLock({ $0.end(sleep) }) else { return }
        let moment = max(now, planned)
        while let action = alarms.withLock({ $0.popDue(at: moment) }) { action() }
        if let next = alarms.withLock({ $0.earliest }), next < .distantFuture { ensureAwake(by: next) }
    }
}

/// The clock of the system that goes on while the machine sleeps. It is the clock of `Task.sleep(clock: .continuous)`,
/// read without converting from 128-bit durations: every step of a call reads it.
enum SystemClock {
    #if os(Linux) || os(Android)
    private static let clock = CLOCK_BOOTTIME
    #else
    private static let clock = CLOCK_MONOTONIC_RAW
    #endif

    static var now: Instant {
        var moment = timespec()
        clock_gettime(clock, &moment)
        return Instant(nanoseconds: Int64(moment.tv_sec) * 1_000_000_000 + Int64(moment.tv_nsec))
    }

    /// A name for the time since the machine has started: instants of two processes can be compared only within it.
    /// `nil` if the system does not say, or if apps had better not ask it: it tells one device from another.
    static var start: String? {
        #if os(Linux) || os(Android)
        guard let file = fopen("/proc/sys/kernel/random/boot_id", "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 36)
        guard fread(&bytes, 1, bytes.count, file) == bytes.count else { return nil }
        return String(decoding: bytes, as: UTF8.self)
        #else
        return nil
        #endif
    }
}
