public import Errand
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Virtual time for the whole library: it stands still until it is told to pass.
///
/// There are two ways to use it. By hand, a test starts something, waits until it sleeps, and lets time pass:
///
///     async let friends = client.run(.friends)
///     await clock.sleepers(atLeast: 1)
///     clock.advance(by: .seconds(1))
///
/// On autopilot, everything runs on one thread, in an order that is the same each time, and whenever nobody has
/// anything left to do time jumps to the next alarm. Twenty calls against five per second then take three seconds,
/// and no time at all:
///
///     try await clock.run {
///         try await withThrowingTaskGroup(of: [User].self) { calls in
///             for _ in 0..<20 { calls.addTask { try await client.run(.friends) } }
///             try await calls.waitForAll()
///         }
///     }
///     #expect(clock.elapsed == .seconds(3))
///
/// A clock made with a seed shuffles the order in which tasks that are ready go on: each seed is another
/// interleaving, and always the same one.
public final class TestClock: TimeSource {
    private struct State {
        var now = Instant.zero
        var dateAtZero: Date
        var random: SplitMix64
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state: Lock<State>
    private let alarms = AlarmHeap.Shared()
    private let stage: Stage

    /// Makes a clock that shows `date`, a moment in 2001 unless one is given.
    ///
    /// - Parameters:
    ///   - seed: Determines the random numbers and, unless it is 0, the order in which tasks go on.
    ///   - date: What the wall clock shows.
    public init(seed: UInt64 = 0, date: Date = Date(timeIntervalSince1970: 1_000_000_000)) {
        state = Lock(State(dateAtZero: date, random: SplitMix64(seed: seed)))
        stage = Stage(seed: seed)
        stage.onIdle = { [weak self] in self?.jumpToNextAlarm() ?? false }
    }

    /// The present moment.
    public var now: Instant { state.withLock { $0.now } }
    /// How much time has passed.
    public var elapsed: Duration { Instant.zero.duration(to: now) }
    /// What the wall clock shows. Setting it does not let time pass, as on a machine whose clock is corrected.
    public var date: Date {
        get { state.withLock { $0.dateAtZero.addingTimeInterval(Instant.zero.duration(to: $0.now).inSeconds) } }
        set {
            state.withLock { $0.dateAtZero = newValue.addingTimeInterval(-Instant.zero.duration(to: $0.now).inSeconds) }
        }
    }
    /// The one thread of the autopilot.
    public var executor: (any TaskExecutor)? { stage }

    /// The next number of the clock's own sequence.
    public func random() -> UInt64 {
        state.withLock { $0.random.next() }
    }

    /// Sets an alarm, which fires when time is told to pass its instant.
    public func schedule(
        at instant: Instant, for purpose: Alarm.Purpose, _ action: @escaping @Sendable () -> Void
    ) -> Alarm {
        let (ticket, sleepers) = alarms.withLock { heap in
            (heap.insert(at: instant, for: purpose, action), heap.sleepers)
        }
        for continuation in watchersSatisfied(by: sleepers) { continuation.resume() }
        return Alarm(heap: alarms, ticket: ticket)
    }

    /// Lets so much time pass. Alarms fire on the way, each at its own instant.
    public func advance(by duration: Duration) {
        let end = now.advanced(by: max(duration, .zero))
        while let next = alarms.withLock({ $0.earliest }), next <= end, fire(at: next) {}
        state.withLock { $0.now = max($0.now, end) }
    }

    /// How many tasks sleep: in a backoff, in the line of a limiter, in a scripted delay.
    public var sleepers: Int { alarms.withLock { $0.sleepers } }

    /// How many alarms are set: those of the sleepers, and those that the library has set for itself.
    package var alarmCount: Int { alarms.withLock { $0.count } }

    /// Waits until at least so many tasks sleep.
    public func sleepers(atLeast count: Int) async {
        await withCheckedContinuation { continuation in
            // Watched first and counted then: whoever falls asleep between is seen by one or the other.
            state.withLock { $0.watchers.append((count, continuation)) }
            for continuation in watchersSatisfied(by: sleepers) { continuation.resume() }
        }
    }

    /// Runs `body` on autopilot: on one thread, time jumping to the next alarm whenever nobody has anything left to do.
    ///
    /// The child tasks of `body` and what the library starts belong to it. A `Task { }` of the test's own does not:
    /// make it with `Task(executorPreference: clock.executor) { }`. Real input and output would be outrun by virtual
    /// time; use a scripted transport.
    @concurrent @discardableResult
    public func run<Value: Sendable>(_ body: @Sendable () async throws -> Value) async rethrows -> Value {
        try await withTaskExecutorPreference(stage) {
            // A preference alone moves nobody: up to its first wait the body would run beside the stage, where time
            // outruns it. A child task begins on the stage.
            async let value = onAutopilot(body)
            return try await value
        }
    }

    /// Ends the autopilot on the stage, before that has nothing to do: time stands where the body has ended.
    private func onAutopilot<Value: Sendable>(
        _ body: @Sendable () async throws -> Value
    ) async rethrows -> Value {
        stage.beginAutopilot()
        defer { stage.endAutopilot() }
        return try await body()
    }

    private func watchersSatisfied(by sleepers: Int) -> [CheckedContinuation<Void, Never>] {
        state.withLock { state in
            guard !state.watchers.isEmpty else { return [] }
            let satisfied = state.watchers.filter { $0.count <= sleepers }.map(\.continuation)
            state.watchers.removeAll { $0.count <= sleepers }
            return satisfied
        }
    }

    private func jumpToNextAlarm() -> Bool {
        guard let next = alarms.withLock({ $0.earliest }), next < .distantFuture else { return false }
        return fire(at: next)
    }

    /// Moves time to that instant and fires the first alarm that is due; `false` if it was taken back meanwhile.
    private func fire(at instant: Instant) -> Bool {
        state.withLock { $0.now = max($0.now, instant) }
        guard let action = alarms.withLock({ $0.popDue(at: instant) }) else { return true }
        action()
        return true
    }
}
