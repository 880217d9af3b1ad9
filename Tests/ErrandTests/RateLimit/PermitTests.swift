@testable import Errand
import ErrandTesting
import Testing

@Suite("The permit of a send", .timeLimit(.minutes(1))) struct PermitTests {
    private let clock = TestClock()

    @Test(
        "C1: a send that waits in a middleware and for a connection keeps its one permit, which counts from the last",
        arguments: [Duration.zero, .seconds(1)])
    func waitsTwice(beforeUse: Duration) async throws {
        let limiter = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        try await clock.run {
            let taken = try #require(try limiter.takeAtOnce(cost: 1, isUrgent: false))
            let permit = Permit(of: limiter, cost: 1, taken: taken)
            try await clock.sleep(for: beforeUse)
            let start = clock.now
            #expect(permit.use(at: start))
            try await clock.sleep(for: .seconds(1))
            let renewed = clock.now
            try await permit.renew(usedAt: start, before: .distantFuture, in: CallScope())
            #expect(clock.now == renewed, "it took a second permit")
            #expect(limiter.snapshot.nextGrant == renewed.advanced(by: .seconds(10)))
        }
    }

    @Test("C1: a send that waits for longer than the period takes another permit, ahead of the queue")
    func waitsLong() async throws {
        let limiter = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        try await clock.run {
            let taken = try #require(try limiter.takeAtOnce(cost: 1, isUrgent: false))
            let permit = Permit(of: limiter, cost: 1, taken: taken)
            #expect(permit.use(at: clock.now))
            try await clock.sleep(for: .seconds(9))
            let other = Task(executorPreference: clock.executor) { () async throws(ServiceError) -> Instant in
                try await limiter.acquire()
                try await limiter.acquire()
                return clock.now
            }
            try await clock.sleep(for: .seconds(2))
            try await permit.renew(usedAt: .zero, before: .distantFuture, in: CallScope())
            #expect(clock.elapsed == .seconds(20), "the other has the permit from 10 s to 20 s")
            #expect(try await other.value == .ms(30_000), "its second permit comes after the renewed one")
        }
    }
}
