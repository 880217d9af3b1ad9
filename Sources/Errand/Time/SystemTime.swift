#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The system's clock and random numbers.
///
/// All alarms of a process share one sleeping task. The task blocks no thread, wakes when the earliest alarm it knew of
/// is due, and ends when no alarm is left.
public final class SystemTime: TimeSource {
    static let shared = SystemTime()

    private struct Sleeper {
        var wakesAt: Instant
        /// `nil` until the task has started.
        var task: Task<Void, Never>?
    }

    private let alarms = AlarmHeap.Shared()
    private let sleeper = Lock<Sleeper?>(nil)

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
        let (isNeeded, replaced) = sleeper.withLock { sleeper -> (Bool, Task<Void, Never>?) in
            if let sleeper, sleeper.wakesAt <= instant { return (false, nil) }
            defer { sleeper = Sleeper(wakesAt: instant) }
            return (true, sleeper?.task)
        }
        guard isNeeded else { return }
        replaced?.cancel()
        let task = sleep(until: instant)
        let isReplaced = sleeper.withLock { sleeper in
            // The task has already finished sleeping.
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
            // A cancelled sleep means that a task with an earlier alarm has replaced this one.
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
