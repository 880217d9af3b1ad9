import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

/// A clock that advances while it is read, as a real one does: each reading takes the next step of a script.
private final class DriftingClock: TimeSource {
    private let base = TestClock()
    private let drift: Lock<(steps: [Duration], total: Duration)>

    init(_ steps: [Duration] = []) { drift = Lock((steps, .zero)) }

    var now: Instant {
        base.now.advanced(
            by: drift.withLock { drift in
                if !drift.steps.isEmpty { drift.total += drift.steps.removeFirst() }
                return drift.total
            })
    }
    var date: Date { base.date }
    var executor: (any TaskExecutor)? { base.executor }
    func random() -> UInt64 { base.random() }
    func schedule(
        at instant: Instant, for purpose: Alarm.Purpose, _ action: @escaping @Sendable () -> Void
    ) -> Alarm { base.schedule(at: instant, for: purpose, action) }

    func script(_ steps: Duration...) { drift.withLock { $0.steps = steps } }
    func run(_ body: @Sendable () async throws -> Void) async rethrows { try await base.run(body) }
}

@Suite("The limiter while the clock advances", .timeLimit(.minutes(10))) struct RateLimiterRaceTests {
    @Test("C3: a waiter that is granted a permit before it has suspended pays for it")
    func servedBeforeItWaits() async throws {
        // The arrival of the first, the arrival of the second, and the reading that finds a permit for it.
        let clock = DriftingClock([.milliseconds(5), .milliseconds(5), .milliseconds(5)])
        let limiter = RateLimiter(.requests(1, per: .milliseconds(10)), time: clock)
        try await clock.run {
            try await limiter.acquire()
            #expect(try await limiter.acquire() == .milliseconds(5))
        }
        #expect(limiter.snapshot.available == 0)
        #expect(limiter.snapshot.waiters == 0)
        #expect(limiter.snapshot.nextGrant == .ms(25))
    }

    @Test("C3: a cancelled waiter that is still in the queue takes no permit, however long the check takes")
    func servedWhileItLeaves() async throws {
        let clock = DriftingClock()
        let limiter = RateLimiter(.requests(1, per: .milliseconds(10)), time: clock)
        try await clock.run {
            try await limiter.acquire()
            let task = Task(executorPreference: clock.executor) { () async throws(ServiceError) in
                try await limiter.acquire()
            }
            try await clock.sleep(for: .milliseconds(1))
            // Up to the next `await`, no other task runs.
            task.cancel()
            clock.script(.milliseconds(20), .milliseconds(20), .milliseconds(1), .milliseconds(1))
            limiter.pause(until: .zero)
            #expect(limiter.snapshot.available == 1)
            let outcome = await task.result
            #expect(throws: ServiceError.cancelled) { try outcome.get() }
        }
        #expect(limiter.snapshot.available == 1)
        #expect(limiter.snapshot.waiters == 0)
    }
}
