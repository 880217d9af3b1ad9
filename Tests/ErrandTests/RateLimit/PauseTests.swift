@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("A pause that the server asks for") struct PauseTests {
    private let clock = TestClock()

    @Test("C6: a 429 pauses the limiter that two clients share; the release is paced", arguments: UInt64(0)..<10)
    func sharedPause(seed: UInt64) async throws {
        let (clock, network) = (TestClock(seed: seed), scripted())
        network.on(.get, "/a") {
            ScriptedReply.status(429, headers: ["Retry-After": "10"])
            ScriptedReply.json("1").always
        }
        network.on(.get, "/b") { ScriptedReply.json("2").always }
        let limiter = RateLimiter(.requests(5, per: .seconds(1)), time: clock)
        let first = testClient(network, clock) { $0.limiter = limiter }
        let second = testClient(network, clock) { $0.limiter = limiter }
        try await clock.run {
            async let retried: Int = first.run(.get("a"))
            try await clock.sleep(until: .ms(1))
            #expect(limiter.snapshot.pausedUntil == .ms(10_000))
            #expect(limiter.snapshot.available == 0)
            #expect(limiter.snapshot.nextGrant == .ms(10_000))
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<10 { group.addTask { try await second.run(.get("b")) } }
                for try await value in group { #expect(value == 2) }
            }
            #expect(try await retried == 1)
        }
        let instants = network.sent.map(\.at)
        #expect(instants.first == .zero)
        // One a fifth of a second from the end of the pause on: nobody rushes in.
        #expect(Array(instants.dropFirst()) == (0..<11).map { .ms(10_000 + $0 * 200) })
    }

    @Test("C6: a pause beyond the limiter's patience fails at once, with the figure, who waits and who comes")
    func beyondPatience() async throws {
        let limiter = RateLimiter(.requests(1, per: .seconds(2)), time: clock)
        let pause = RateLimiter.patience + .seconds(1)
        try await clock.run {
            try await limiter.acquire()
            async let waiting = Result(of: { () async throws(ServiceError) in try await limiter.acquire() })
            try await clock.sleep(until: .ms(500))
            limiter.pause(until: clock.now.advanced(by: pause))
            #expect(await waiting == .failure(.rateLimited(RateLimited(retryAfter: pause))))
            await #expect(throws: ServiceError.rateLimited(RateLimited(retryAfter: pause))) {
                try await limiter.acquire()
            }
            #expect(clock.now == .ms(500))
            // When the rest of the pause is bearable, it is waited for.
            try await clock.sleep(until: .ms(2000))
            #expect(try await limiter.acquire() == .milliseconds(59_500))
        }
    }

    @Test("C6: who has too little time for the pause fails at once, the others wait")
    func deadlineWithinPause() async throws {
        let limiter = RateLimiter(.requests(1, per: .seconds(1)), time: clock)
        try await clock.run {
            try await limiter.acquire()
            async let hasty = Result(of: { () async throws(ServiceError) in
                try await limiter.acquire(before: .ms(4000))
            })
            async let patient = Result(of: { () async throws(ServiceError) in try await limiter.acquire() })
            try await clock.sleep(until: .ms(100))
            limiter.pause(until: .ms(5000))
            #expect(await hasty == .failure(.rateLimited(RateLimited(retryAfter: .milliseconds(4900)))))
            #expect(clock.now == .ms(100))
            #expect(await patient == .success(.seconds(5)))
        }
    }

    @Test("a shorter pause, or one that is over, changes nothing")
    func shorterPause() async throws {
        let limiter = RateLimiter(.requests(2, per: .seconds(1)), time: clock)
        clock.advance(by: .seconds(5))
        limiter.pause(until: .ms(5000))
        limiter.pause(until: .ms(1))
        #expect(limiter.snapshot.pausedUntil == nil)
        #expect(limiter.snapshot.available == 2)
        limiter.pause(until: .ms(9000))
        limiter.pause(until: .ms(7000))
        #expect(limiter.snapshot.pausedUntil == .ms(9000))
    }

    @Test("C6: the pace of several limits is kept after a pause, and no limit holds back a pause")
    func severalLimits() async throws {
        let limiter = RateLimiter(.all(.requests(2, per: .seconds(1)), .requests(3, per: .seconds(30))), time: clock)
        try await clock.run {
            limiter.pause(until: .ms(1000))
            for _ in 0..<3 { try await limiter.acquire() }
            #expect(clock.elapsed == .seconds(21))
        }
        let free = RateLimiter(.unlimited, time: clock)
        try await clock.run {
            free.pause(until: clock.now.advanced(by: .seconds(3)))
            let waits = [try await free.acquire(), try await free.acquire()]
            #expect(waits == [.seconds(3), .zero])
        }
    }

    @Test("C7: what another origin says, to which a redirect led, does not pause this client's limiter")
    func otherOrigin() async throws {
        let network = scripted()
        network.on(.get, "/a") { .status(302, headers: ["Location": "https://other.test/b"]) }
        network.on(.get, "https://other.test/b") { .status(429, headers: ["Retry-After": "30"]) }
        let client = testClient(network, clock) { $0.retry = .never }
        await #expect(throws: ServiceError.self) { let _: Int = try await client.run(.get("a")) }
        #expect(client.limiter.snapshot.pausedUntil == nil)
    }

    @Test("C7: a success that uses up the quota pauses until the reset")
    func usedUp() async throws {
        let network = scripted()
        network.on(.get, "/a") {
            ScriptedReply.json("1", headers: ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "7"])
            ScriptedReply.json("2")
        }
        let client = testClient(network, clock)
        try await clock.run {
            let first: Int = try await client.run(.get("a"))
            #expect(clock.now == .zero)
            let second: Int = try await client.run(.get("a"))
            #expect([first, second] == [1, 2])
        }
        #expect(clock.elapsed == .seconds(7))
    }
}
