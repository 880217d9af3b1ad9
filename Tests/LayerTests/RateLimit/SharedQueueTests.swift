@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("The queue of a shared limiter", .timeLimit(.minutes(10))) struct SharedQueueTests {
    private let clock = TestClock()

    /// Starts a call that takes a permit after that delay, and returns when it did.
    private func call(
        _ limiter: RateLimiter, after delay: Duration = .zero, isUrgent: Bool = false
    ) -> Task<Duration, any Error> {
        let clock = clock
        return Task(executorPreference: clock.executor) {
            try await clock.sleep(for: delay)
            try await limiter.acquire(isUrgent: isUrgent)
            return clock.elapsed
        }
    }

    /// Starts that many calls, a millisecond apart.
    private func calls(_ count: Int, by limiter: RateLimiter) -> [Task<Duration, any Error>] {
        (0..<count).map { call(limiter, after: .milliseconds($0)) }
    }

    @Test("a user whose period is shorter than the wait has no more places than permits, and keeps its order")
    func oneAhead() async throws {
        let shared = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        let greedy = RateLimiter(.requests(1, per: .seconds(1)), within: shared)
        let modest = RateLimiter(.requests(1, per: .seconds(1)), within: shared)
        try await clock.run {
            let many = calls(10, by: greedy)
            let one = call(modest, after: .milliseconds(9500))
            #expect(try await one.value == .seconds(20), "one call of the other user is ahead of it")
            var ends: [Duration] = []
            for task in many { ends.append(try await task.value) }
            #expect(ends == [.zero, .seconds(10)] + (3...10).map { .seconds(10 * $0) })
        }
        #expect(clock.sleepers == 0)
    }

    @Test("a refresh is ahead of all calls that are not urgent, even of its own user's", arguments: [false, true])
    func refresh(isOfTheSameUser: Bool) async throws {
        let shared = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        let greedy = RateLimiter(.requests(1, per: .seconds(3)), within: shared)
        let other = RateLimiter(.requests(1, per: .seconds(1)), within: shared)
        try await clock.run {
            let many = calls(30, by: greedy)
            let refresh = call(isOfTheSameUser ? greedy : other, after: .milliseconds(15_500), isUrgent: true)
            let ends = [try await many[1].value, try await refresh.value, try await many[2].value]
            #expect(ends == [.seconds(10), .seconds(20), .seconds(30)])
            for task in many { task.cancel() }
        }
        #expect(clock.sleepers == 0)
    }

    @Test("a permit that an urgent call has used is waited for without a shared one, and no limit is broken")
    func overtaken() async throws {
        let shared = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        let own = RateLimiter(.requests(1, per: .seconds(60)), within: shared)
        let other = RateLimiter(.requests(1, per: .seconds(1)), within: shared)
        try await clock.run {
            try await other.acquire()
            let (patient, later) = (call(own), call(own, after: .seconds(3)))
            let urgent = call(own, after: .seconds(1), isUrgent: true)
            let neighbor = call(other, after: .seconds(2))
            #expect(try await urgent.value == .seconds(10))
            #expect(try await neighbor.value == .seconds(20))
            #expect(try await patient.value == .seconds(70))
            #expect(try await later.value == .seconds(130))
        }
    }

    @Test("a user's pause gives its place in the shared queue to the next, if it lasts so long", arguments: [5, 15])
    func pausedUser(until end: Int) async throws {
        let shared = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        let users = (0..<2).map { _ in RateLimiter(.requests(1, per: .seconds(1)), within: shared) }
        try await clock.run {
            let paused = calls(2, by: users[0])
            let next = call(users[1], after: .seconds(6))
            try await clock.sleep(for: .seconds(3))
            users[0].pause(until: .ms(Int64(end) * 1000))
            #expect(try await paused[1].value == .seconds(end == 5 ? 10 : 20))
            #expect(try await next.value == .seconds(end == 5 ? 20 : 10))
        }
    }

    @Test("the permit of a call that leaves the shared queue goes to the next call of its user")
    func leaving() async throws {
        let shared = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        let own = RateLimiter(.requests(1, per: .seconds(60)), within: shared)
        try await clock.run {
            try await shared.acquire()
            let both = calls(2, by: own)
            try await clock.sleep(for: .seconds(1))
            #expect([own.snapshot.available, own.snapshot.waiters, shared.snapshot.waiters] == [0, 1, 1])
            both[0].cancel()
            #expect(try await both[1].value == .seconds(10))
            await #expect(throws: ServiceError.cancelled) { try await both[0].value }
            #expect([own.snapshot.available, own.snapshot.waiters, shared.snapshot.waiters] == [0, 0, 0])
        }
        #expect(clock.sleepers == 0)
    }

    @Test("evenly spaced calls stay so after a wait in the shared queue")
    func smooth() async throws {
        let shared = RateLimiter(.requests(100, per: .seconds(1)), time: clock)
        let own = RateLimiter(.smooth(2, per: .seconds(2)), within: shared)
        shared.pause(until: .ms(5000))
        try await clock.run {
            var ends: [Duration] = []
            for task in calls(4, by: own) { ends.append(try await task.value) }
            #expect(ends == (5...8).map { .seconds($0) })
        }
    }
}
