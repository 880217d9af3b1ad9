#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The machine's own clock and random numbers.
///
/// All alarms of a process share one sleeping task. It parks no thread, wakes when the earliest alarm that it knew of
/// is due, and is gone when none is left then.
public final class SystemTime: TimeSource {
    static let shared = SystemTime()

    private struct Sleeper {
        var wakesAt: Instant
        /// `nil` until it has been started.
        var task: Task<Void, Never>?
    }

    private let alarms = AlarmHeap.Shared()
    private let sleeper = Lock<Sleeper?>(nil)

    /// Creates one with alarms of its own, for tests: a process shares one.
    init() {}

    /// The present moment; it goes on while the machine sleeps, as the server's time does.
    public var now: Instant {
        // The clock of `Task.sleep(clock: .continuous)`, read without a detour over 128-bit durations: it is asked at
        // each step.
        var moment = timespec()
        clock_gettime(Self.clock, &moment)
        return Instant(nanoseconds: Int64(moment.tv_sec) * 1_000_000_000 + Int64(moment.tv_nsec))
    }

    #if os(Linux)
    private static let clock = CLOCK_BOOTTIME
    #else
    private static let clock = CLOCK_MONOTONIC_RAW
    #endif
    /// The present moment on the wall clock.
    public var date: Date { Date() }
    /// The usual executor.
    public var executor: (any TaskExecutor)? { nil }

    /// A random number from the system's own generator.
    public func random() -> UInt64 { UInt64.random(in: .min ... .max) }

    /// Calls `action` at `instant`. An instant that never comes costs nothing but its entry.
    public func schedule(
        at instant: Instant, for purpose: Alarm.Purpose, _ action: @escaping @Sendable () -> Void
    ) -> Alarm {
        let ticket = alarms.withLock { $0.insert(at: instant, for: purpose, action) }
        if instant < .distantFuture { ensureAwake(by: instant) }
        return Alarm(heap: alarms, ticket: ticket)
    }

    private func ensureAwake(by instant: Instant) {
        let (isNeeded, replaced) = sleeper.withLock { sleeper -> (Bool, Task<Void, Never>?) in
            if let sleeper, sleeper.wakesAt <= instant { return (false, nil) }
            defer { sleeper = Sleeper(wakesAt: instant) }
            return (true, sleeper?.task)
        }
        guard isNeeded else { return }
        replaced?.cancel()
        let task = sleep(until: instant)
        let isReplaced = sleeper.withLock { sleeper in
            // It has slept already.
            guard sleeper != nil else { return false }
            guard sleeper?.wakesAt == instant, sleeper?.task == nil else { return true }
            sleeper?.task = task
            return false
        }
        if isReplaced { task.cancel() }
    }

    /// The task is owned by the process-wide clock, which cancels it when an earlier alarm replaces it.
    private func sleep(until instant: Instant) -> Task<Void, Never> {
        Task.detached {
            let pause = self.now.duration(to: instant)
            // A cancelled sleep means that an earlier one has taken over.
            guard (try? await Task.sleep(for: pause, tolerance: .zero, clock: .continuous)) != nil else { return }
            self.fire(upTo: instant)
        }
    }

    private func fire(upTo planned: Instant) {
        let mine = sleeper.withLock { sleeper in
            guard sleeper?.wakesAt == planned else { return false }
            sleeper = nil
            return true
        }
        guard mine else { return }
        let moment = max(now, planned)
        while let action = alarms.withLock({ $0.popDue(at: moment) }) { action() }
        if let next = alarms.withLock({ $0.earliest }), next < .distantFuture { ensureAwake(by: next) }
    }
}
