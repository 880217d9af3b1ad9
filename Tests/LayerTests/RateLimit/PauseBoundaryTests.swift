@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("The limits of a pause") struct PauseBoundaryTests {
    private let clock = TestClock()

    @Test("C6: a pause exactly as long as the limiter's longest pause is waited for")
    func longestPause() async throws {
        let limiter = RateLimiter(.requests(1, per: .seconds(1)), time: clock)
        limiter.pause(until: clock.now.advanced(by: RateLimiter.longestPause))
        let waited = try await clock.run { try await limiter.acquire() }
        #expect(waited == RateLimiter.longestPause)
    }

    @Test("C6: when a pause ends, the first waiter is served at that very instant")
    func end() {
        var state = RateLimiter.State(TokenBucket(.requests(1, per: .seconds(1))))
        _ = state.pause(until: .ms(5000), at: .zero)
        guard case .waiting(let waiter) = state.acquire(cost: 1, isUrgent: false, deadline: .distantFuture, at: .zero)
        else {
            Issue.record("it does not wait")
            return
        }
        #expect(state.serve(at: .ms(4999)).isEmpty)
        #expect(state.serve(at: .ms(5000)).first === waiter)
    }

    @Test("C6: a waiter whose deadline is the end of the pause fails when the pause begins")
    func deadlineAtTheEnd() async throws {
        let limiter = RateLimiter(.requests(1, per: .seconds(1)), time: clock)
        try await clock.run {
            try await limiter.acquire()
            async let waiting = Result { () async throws(ServiceError) in try await limiter.acquire(before: .ms(5000)) }
            try await clock.sleep(until: .ms(500))
            limiter.pause(until: .ms(5000))
            #expect(await waiting == .failure(.rateLimited(RateLimited(retryAfter: .milliseconds(4500)))))
            #expect(clock.now == .ms(500))
        }
    }

    @Test("C6: during a pause no permit can be taken, even without a limit")
    func unlimited() {
        let limiter = RateLimiter(.unlimited, time: clock)
        #expect(limiter.snapshot.available == nil)
        limiter.pause(until: .ms(1000))
        #expect(limiter.snapshot.available == 0)
        limiter.resume()
        #expect(limiter.snapshot.available == nil)
    }
}
