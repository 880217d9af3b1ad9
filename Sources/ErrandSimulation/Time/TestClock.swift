public import Errand
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Virtual time for the whole library: it advances only when the test says so.
///
/// There are two ways to use it. By hand, a test starts a call, waits until it sleeps, and advances time:
///
///     async let friends = client.run(.friends)
///     await clock.sleepers(atLeast: 1)
///     await clock.advance(by: .seconds(1))
///
/// On autopilot, the test runs on the clock's thread too, and time jumps to the next alarm whenever no task has
/// anything left to do. Twenty calls against five per second then take three seconds of virtual time, and almost no
/// real time:
///
///     try await clock.run {
///         try await withThrowingTaskGroup(of: [User].self) { calls in
///             for _ in 0..<20 { calls.addTask { try await client.run(.friends) } }
///             try await calls.waitForAll()
///         }
///     }
///     #expect(clock.elapsed == .seconds(3))
///
/// Either way the calls of a client with that clock run on one thread, in an order that is the same every time. Your
/// own code, which also reads the bodies of streams and events, is on that thread only inside `run`.
/// A clock with a seed other than 0 shuffles the order in which ready tasks continue: each seed gives another
/// interleaving, and always the same one.
///
/// A call that waits for a clock that is not advanced would wait for ever. If tasks sleep and nothing at all happens in
/// the clock's time for ten seconds of real time, the clock reports a failure that lists its alarms, and from then on
/// advances by itself, so that the test ends.
public final class TestClock: TimeSource {
    struct State {
        var now = Instant.zero
        var elapsedForRateLimit = Duration.zero
        /// Whether time has passed for permits of a client with the default limit.
        var hasMetDefaultLimit = false
        /// Whether the clock has reported the time that passed for it.
        var hasReportedLimit = false
        var dateAtZero: Date
        var random: SplitMix64
        /// The number of alarms set up to the end of the last autopilot. The test does not wait for those that are
        /// left.
        var alarmsOfAutopilot: UInt64 = 0
        /// Whether a task looks for a stall.
        var isWatched = false
        /// Whether the clock was not advanced for its stall timeout, and advances by itself.
        var isStalled = false
    }

    let state: Lock<State>
    let alarms = AlarmHeap.Shared()
    let waiters = CountWaiters()
    let testExecutor: TestExecutor
    let stallTimeout: Duration
    let report: @Sendable (TestFailure) -> Void

    /// Creates a clock.
    ///
    /// In tests, `TestClock()` is enough: `ErrandTesting` reports to the test that runs. Use this initializer for
    /// previews and demos, and for other frameworks.
    ///
    /// - Parameters:
    ///   - seed: Determines the random numbers and, unless it is 0, the order in which tasks continue.
    ///   - date: The initial date of the wall clock; a moment in 2001 by default.
    ///   - stallTimeout: The real time after which the clock reports that tasks sleep and it is not advanced.
    ///   - report: Receives that failure.
    public init(
        seed: UInt64 = 0, date: Date = Date(timeIntervalSince1970: 1_000_000_000),
        stallTimeout: Duration = .seconds(10), report: @escaping @Sendable (TestFailure) -> Void
    ) {
        self.stallTimeout = stallTimeout
        self.report = report
        state = Lock(State(dateAtZero: date, random: SplitMix64(seed: seed)))
        testExecutor = TestExecutor(seed: seed)
        testExecutor.onIdle = { [weak self] in self?.jumpToNextAlarm() ?? false }
    }

    /// The current instant.
    public var now: Instant { state.withLock { $0.now } }
    /// The time that has passed.
    public var elapsed: Duration { Instant.zero.duration(to: now) }
    /// The part of that time that passed only until a rate limiter had its next permit.
    ///
    /// Look here if a test takes more virtual time than its pauses explain: a client sends 5 requests per second by
    /// default. With `$0.rateLimit = .unlimited` this is zero, unless a server has asked for a pause. If calls
    /// of a client whose limit was not set have waited, the clock reports that once, as a warning of the test.
    public var elapsedForRateLimit: Duration { state.withLock { $0.elapsedForRateLimit } }
    /// The date of the wall clock. Setting it does not advance time, as when a machine's clock is corrected.
    public var date: Date {
        get { state.withLock { $0.dateAtZero.addingTimeInterval(Instant.zero.duration(to: $0.now).inSeconds) } }
        set {
            state.withLock { $0.dateAtZero = newValue.addingTimeInterval(-Instant.zero.duration(to: $0.now).inSeconds) }
        }
    }
    /// The single thread on which calls run.
    public var executor: (any TaskExecutor)? { testExecutor }

    /// Returns the next number of the clock's own sequence.
    public func random() -> UInt64 {
        state.withLock { $0.random.next() }
    }

    /// Sets an alarm, which fires when time advances past its instant.
    public func schedule(
        at instant: Instant, for purpose: Alarm.Purpose, _ action: @escaping @Sendable () -> Void
    ) -> Alarm {
        var purpose = purpose
        // What an autopilot has left behind goes on and falls asleep again.
        if testExecutor.isLeftBehind { purpose.isAwaited = false }
        let (ticket, sleepers) = alarms.withLock { [purpose] heap in
            (heap.insert(at: instant, for: purpose, action), heap.sleepers)
        }
        waiters.resume(upTo: sleepers)
        if sleepers > 0 { watch() }
        return Alarm(heap: alarms, ticket: ticket)
    }

    /// Advances time by `duration`. Alarms fire on the way, each at its own instant.
    ///
    /// Before the first alarm, and after each, the calls do what they can do at that instant. So the pauses of two
    /// retries pass one after the other, and a test sees the same each time.
    public func advance(by duration: Duration) async {
        let end = now.advanced(by: max(duration, .zero))
        await testExecutor.settled()
        while let next = alarms.withLock({ $0.earliest }), next <= end {
            fire(at: next)
            await testExecutor.settled()
        }
        state.withLock { $0.now = max($0.now, end) }
        reportDefaultLimit()
    }

    /// Advances time while a call computes, so that no other can do anything: alarms fire one right after the other.
    package func advanceAtOnce(by duration: Duration) {
        let end = now.advanced(by: max(duration, .zero))
        while let next = alarms.withLock({ $0.earliest }), next <= end { fire(at: next) }
        state.withLock { $0.now = max($0.now, end) }
    }

    /// The number of sleeping tasks: in a backoff, in the queue of a limiter, in a scripted delay.
    public var sleepers: Int { alarms.withLock { $0.sleepers } }

    /// The number of pending alarms: those of the sleepers, and those of the library itself.
    package var alarmCount: Int { alarms.withLock { $0.count } }

    /// Waits until at least `count` tasks sleep. Returns early if the task is canceled.
    ///
    /// If nothing happens in the clock's time for ten seconds of real time, it reports that the sleepers have not come,
    /// and returns.
    public func sleepers(atLeast count: Int, file: StaticString = #filePath, line: UInt = #line) async {
        await waiters.wait(atLeast: count, at: TestFailure.Location(file: file, line: line)) {
            watch()
            return sleepers
        }
    }

    /// Runs `body` on autopilot: on one thread, with time jumping to the next alarm whenever no task has anything left
    /// to do.
    ///
    /// The child tasks of `body` and the tasks of the library run there too. A `Task { }` of the test's own does not:
    /// create it with `Task(executorPreference: clock.executor) { }`. Virtual time does not wait for real input and
    /// output; use a scripted transport.
    @concurrent @discardableResult
    public func run<Value: Sendable>(_ body: @Sendable () async throws -> Value) async rethrows -> Value {
        try await withTaskExecutorPreference(testExecutor) {
            // A preference alone moves no task: up to its first wait the body would run beside the executor, whose time
            // might overtake it. A child task begins on the executor.
            async let value = onAutopilot(body)
            defer { reportDefaultLimit() }
            return try await value
        }
    }

    /// Ends the autopilot on the executor, before it is idle: time stops where the body has ended.
    private func onAutopilot<Value: Sendable>(
        _ body: @Sendable () async throws -> Value
    ) async rethrows -> Value {
        testExecutor.beginAutopilot()
        defer {
            testExecutor.endAutopilot()
            let insertions = alarms.withLock { $0.insertions }
            state.withLock { $0.alarmsOfAutopilot = insertions }
        }
        return try await VirtualTime.$isUnderWay.withValue(true) { try await body() }
    }

    private func jumpToNextAlarm() -> Bool {
        guard let next = alarms.withLock({ $0.earliest }), next < .distantFuture else { return false }
        fire(at: next)
        return true
    }

    /// Moves time to that instant and fires the first alarm that is due.
    func fire(at instant: Instant) {
        // An alarm without end has no instant: it fires only in a stall, to let the test end.
        let purpose = alarms.withLock { $0.earliestPurpose }
        if instant < .distantFuture {
            state.withLock { state in
                let now = max(state.now, instant)
                if let purpose, purpose.isPermit {
                    state.elapsedForRateLimit += state.now.duration(to: now)
                    if purpose.isDefaultLimit { state.hasMetDefaultLimit = true }
                }
                state.now = now
            }
        }
        alarms.withLock { $0.popDue(at: instant) }?()
    }
}

extension TestClock {
    /// Reports once, as a warning, that time has passed for permits, and that a client has the default limit.
    private func reportDefaultLimit() {
        let spent: Duration? = state.withLock { state in
            guard state.hasMetDefaultLimit, state.elapsedForRateLimit > .zero, !state.hasReportedLimit else {
                return nil
            }
            state.hasReportedLimit = true
            return state.elapsedForRateLimit
        }
        guard let spent else { return }
        report(
            TestFailure(
                "\(spent.displayText) of the test's virtual time passed while calls waited for permits, and a client "
                    + "has the default limit of 5 requests per second. Unless a server has asked for a pause, set "
                    + "`$0.rateLimit`: to `.unlimited`, or to the limit that is tested.",
                isWarning: true))
    }
}
