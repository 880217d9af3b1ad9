@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

/// A bucket of which only some permits may be used now, as if the rest were owned by somebody else.
private struct SharedBucket: PermitSource {
    private var bucket: TokenBucket
    private var inUse: [Instant] = []
    var owned: Int

    init(owned: Int, of limit: RateLimit) {
        self.owned = owned
        bucket = TokenBucket(limit)
    }

    private func free(at now: Instant) -> Int {
        owned - inUse.count { $0.duration(to: now) < .seconds(10) }
    }

    func available(at now: Instant) -> Int? { max(0, min(free(at: now), bucket.available(at: now) ?? .max)) }

    func earliest(taking cost: Int, at now: Instant) -> Instant? {
        guard cost <= owned, let earliest = bucket.earliest(taking: cost, at: now) else { return nil }
        let returns = inUse.map { $0.advanced(by: .seconds(10)) }.filter { $0 > now }.sorted()
        return max(earliest, free(at: now) >= cost ? now : returns[cost - free(at: now) - 1])
    }

    func earliest(taking cost: Int, after ahead: Int, at now: Instant) -> Instant { now }

    mutating func take(_ cost: Int, at now: Instant) -> Bool {
        guard free(at: now) >= cost, bucket.take(cost, at: now) else { return false }
        inUse += Array(repeating: now, count: cost)
        return true
    }

    mutating func renew(_ cost: Int, takenAt instant: Instant, at now: Instant) -> Bool {
        bucket.renew(cost, takenAt: instant, at: now)
    }

    mutating func giveBack(_ cost: Int, takenAt instant: Instant) {
        bucket.giveBack(cost, takenAt: instant)
        if let index = inUse.lastIndex(of: instant) { inUse.remove(at: index) }
    }

    mutating func drain(until instant: Instant) { bucket.drain(until: instant) }
}

@Suite("A limiter whose source changes", .timeLimit(.minutes(10))) struct PermitSourceTests {
    private let clock = TestClock()
    private let limit = RateLimit.requests(10, per: .seconds(10))

    private func limiter(owning owned: Int) -> RateLimiter {
        RateLimiter(limit, of: SharedBucket(owned: owned, of: limit), time: clock)
    }

    private func own(_ count: Int, _ limiter: RateLimiter) {
        limiter.changeSource { source in
            guard var bucket = source as? SharedBucket else { return }
            bucket.owned = count
            source = bucket
        }
    }

    @Test("waiters are served in order as soon as the source has more, and none are served while it has too few")
    func grows() async throws {
        let limiter = limiter(owning: 0)
        await clock.run {
            let served = Noted<[Instant]>([])
            await withTaskGroup { group in
                for _ in 0..<3 {
                    group.addTask {
                        _ = await failure { () async throws(ServiceError) in try await limiter.acquire() }
                        served.update { $0.append(clock.now) }
                    }
                }
                try? await clock.sleep(for: .seconds(5))
                #expect(limiter.snapshot.waiters == 3 && limiter.snapshot.available == 0)
                #expect(limiter.snapshot.nextGrant == .distantFuture, "it is not known when")
                own(2, limiter)
                try? await clock.sleep(for: .seconds(1))
                #expect(limiter.snapshot.waiters == 1)
            }
            #expect(served.value == [.ms(5000), .ms(5000), .ms(15_000)], "the third waits until one comes back")
        }
    }

    @Test("a call leaves at its deadline, although the source cannot say when it has a permit")
    func deadline() async throws {
        let limiter = limiter(owning: 0)
        await clock.run {
            let error = await failure { () async throws(ServiceError) in
                try await limiter.acquire(before: .ms(3000))
            }
            guard case .rateLimited = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(clock.elapsed == .seconds(3))
        }
    }

    @Test("what changes during a pause holds after it, also if the pause ends early", arguments: [true, false])
    func pause(endsEarly: Bool) async throws {
        let limiter = limiter(owning: 1)
        try await clock.run {
            limiter.pause(until: .ms(20_000))
            own(3, limiter)
            if endsEarly { limiter.resume() }
            for _ in 0..<3 { try await limiter.acquire() }
            #expect(clock.elapsed == (endsEarly ? .seconds(2) : .seconds(22)), "paced: one permit a second")
        }
    }
}
