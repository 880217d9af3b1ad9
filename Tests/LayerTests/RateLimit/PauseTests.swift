@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("A pause that the server asks for", .timeLimit(.minutes(10))) struct PauseTests {
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
        // From the end of the pause on, one call every fifth of a second: there is no rush.
        #expect(Array(instants.dropFirst()) == (0..<11).map { Instant.ms(10_000 + $0 * 200) })
    }

    @Test("C6: a pause beyond the limiter's longest pause fails waiting and new calls at once, with its length")
    func beyondLongestPause() async throws {
        let limiter = RateLimiter(.requests(1, per: .seconds(2)), time: clock)
        let pause = RateLimiter.longestPause + .seconds(1)
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
            // When the rest of the pause is within the longest pause, calls wait for it.
            try await clock.sleep(until: .ms(2000))
            #expect(try await limiter.acquire() == .milliseconds(59_500))
        }
    }

    @Test("C6: calls with too little time for the pause fail at once, the others wait")
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
        await clock.advance(by: .seconds(5))
        limiter.pause(until: .ms(5000))
        limiter.pause(until: .ms(1))
        #expect(limiter.snapshot.pausedUntil == nil)
        #expect(limiter.snapshot.available == 2)
        limiter.pause(until: .ms(9000))
        limiter.pause(until: .ms(7000))
        #expect(limiter.snapshot.pausedUntil == .ms(9000))
    }

    @Test("C6: the pace of several limits is kept after a pause, and no limit delays a pause")
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

    @Test("C6: a pause that is ended early: waiters continue at the limit's pace, and earlier permits stay taken")
    func resume() async throws {
        let limiter = RateLimiter(.requests(2, per: .seconds(1)), time: clock)
        let clock = clock
        try await clock.run {
            try await clock.sleep(until: .ms(9900))
            try await limiter.acquire()
            limiter.pause(until: .ms(60_000))
            limiter.pause(until: .ms(65_000))
            let waits = (0..<4).map { _ in
                Task(executorPreference: clock.executor) { () async throws(ServiceError) -> Instant in
                    try await limiter.acquire()
                    return clock.now
                }
            }
            try await clock.sleep(until: .ms(10_000))
            limiter.resume()
            #expect(limiter.snapshot.pausedUntil == nil)
            var instants: [Instant] = []
            for wait in waits { instants.append(try await wait.value) }
            // The permit of 9.9 s comes back after its second; the other one at once, and then each after a second of
            // its own.
            #expect(instants.sorted() == [.ms(10_000), .ms(10_900), .ms(11_000), .ms(11_900)])
        }
        #expect(clock.sleepers == 0)
    }

    @Test("C6: after a pause that is ended early there is no rush")
    func resumeIsPaced() async throws {
        let limiter = RateLimiter(.requests(5, per: .seconds(1)), time: clock)
        await clock.advance(by: .seconds(10))
        limiter.pause(until: .ms(50_000))
        await clock.advance(by: .seconds(10))
        limiter.resume()
        #expect(limiter.snapshot.available == 1)
        #expect(limiter.snapshot.nextGrant == .ms(20_000))
        await clock.advance(by: .milliseconds(399))
        #expect(limiter.snapshot.available == 2)
        await clock.advance(by: .seconds(1))
        #expect(limiter.snapshot.available == 5)
    }

    @Test("C6: permits that are returned during a pause are available when it is ended early")
    func giveBackWhilePaused() async throws {
        let limiter = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        let taken = try #require(try limiter.takeAtOnce(cost: 1, isUrgent: false))
        limiter.pause(until: .ms(30_000))
        limiter.giveBack(cost: 1, takenAt: taken)
        #expect(limiter.snapshot.available == 0)
        limiter.resume()
        #expect(limiter.snapshot.available == 1)
    }

    @Test("F10: a node that learns of the end of a pause does not end one that has begun since")
    func newerPause() {
        let limiter = RateLimiter(.requests(5, per: .seconds(1)), time: clock)
        let (first, second) = (clock.now.advanced(by: .seconds(2)), clock.now.advanced(by: .seconds(5)))
        limiter.pause(until: first)
        limiter.pause(until: second)
        limiter.resume(from: first)
        #expect(limiter.snapshot.pausedUntil == second)
        limiter.resume(from: second)
        #expect(limiter.snapshot.pausedUntil == nil)
    }

    @Test("without a pause, or after it, resuming changes nothing")
    func resumeWithoutPause() async throws {
        let limiter = RateLimiter(.requests(2, per: .seconds(1)), time: clock)
        limiter.resume()
        #expect(limiter.snapshot.available == 2)
        limiter.pause(until: .ms(1000))
        await clock.advance(by: .milliseconds(2500))
        limiter.resume()
        #expect(limiter.snapshot.available == 2)
    }

    @Test(
        "C7: a pause beyond the ceiling is ignored and reported as an event; one of exactly that length is kept",
        arguments: [
            (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999999999999"], nil, 3_155_760_000),
            (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "3601"], nil, 3601),
            (["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "3600"], 3600, nil),
            (["RateLimit": #""burst";r=0;t=1, "day";r=0;t=86400"#], 1, 86400),
        ] as [(HTTPHeaders, Int64?, Int64?)])
    func ceiling(headers: HTTPHeaders, pause: Int64?, ignored: Int64?) async throws {
        let network = scripted()
        network.on(.get, "/a") { .json("1", headers: headers) }
        let client = testClient(network, clock)
        let events = client.diagnostics
        let _: Int = try await client.run(.get("a"))
        #expect(client.limiter.snapshot.pausedUntil == pause.map { .ms($0 * 1000) })
        await client.shutdown()
        let reported = await events.reduce(into: [ClientEvent.Kind]()) { $0.append($1.kind) }
            .compactMap { kind -> Duration? in if case .ignoredPause(let asked) = kind { asked } else { nil } }
        #expect(reported == (ignored.map { [.seconds($0)] } ?? []))
    }

    @Test("C7: the client can set the ceiling; zero ignores every pause, and a negative one is reported")
    func ownCeiling() async throws {
        for (ceiling, isFollowed) in [(Duration.seconds(9), true), (.seconds(8), false), (.zero, false)] {
            let network = scripted()
            network.on(.get, "/a") { .status(429, headers: ["Retry-After": "9"]) }
            let client = testClient(network, TestClock()) {
                $0.longestServerPause = ceiling
                $0.retry = .never
            }
            // Whether the pause is kept or not, the error has its length.
            let error = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("a")) }
            #expect(error?.retryAfter == .seconds(9))
            #expect((client.limiter.snapshot.pausedUntil != nil) == isFollowed)
        }
        let invalid = try await refusal(of: Endpoint<Int>.get("x")) { $0.longestServerPause = .seconds(-1) }
        #expect(invalid.subject == .configuration && invalid.reason.contains("-1 s"))
    }

    @Test("C7: a header of another origin, to which a redirect led, does not pause this client's limiter")
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
