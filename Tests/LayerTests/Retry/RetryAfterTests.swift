@testable import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Retry-After") struct RetryAfterTests {
    @Test(
        "C15: it is waited for, as seconds and as each of the three forms of a date",
        arguments: [
            "30", "Sun, 09 Sep 2001 01:47:10 GMT", "Sunday, 09-Sep-01 01:47:10 GMT", "Sun Sep  9 01:47:10 2001",
        ])
    func forms(text: String) async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/x") {
            ScriptedReply.status(503, headers: ["Retry-After": text])
            ScriptedReply.json("1")
        }
        let client = testClient(network, clock)
        try await clock.run { let _: Int = try await client.run(.get("x")) }
        #expect(network.sent.map(\.at) == [.zero, .ms(30_000)])
    }

    @Test(
        "C15: parts of a second are waited for, and milliseconds",
        arguments: [("Retry-After", "30.25", 30_250), ("Retry-After-Ms", "30500", 30_500)])
    func parts(name: String, text: String, milliseconds: Int64) async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/x") {
            ScriptedReply.status(503, headers: [name: text])
            ScriptedReply.json("1")
        }
        let client = testClient(network, clock)
        try await clock.run { let _: Int = try await client.run(.get("x")) }
        #expect(network.sent.map(\.at) == [.zero, .ms(milliseconds)])
    }

    @Test(
        "C15: no wait, a date in the past, and an unreadable value leave the usual backoff",
        arguments: ["0", "Sun, 06 Nov 1994 08:49:37 GMT", "a while"])
    func noWait(text: String) async throws {
        func instants(_ headers: HTTPHeaders) async throws -> [Instant] {
            let (clock, network) = (TestClock(seed: 3), scripted())
            network.on(.get, "/x") {
                ScriptedReply.status(503, headers: headers).times(2)
                ScriptedReply.json("1")
            }
            let client = testClient(network, clock)
            try await clock.run { let _: Int = try await client.run(.get("x")) }
            return network.sent.map(\.at)
        }
        let usual = try await instants([:])
        #expect(usual[1] > .zero && usual[2] > usual[1])
        #expect(try await instants(["Retry-After": text]) == usual)
    }

    @Test("C15: the pause is the longer of Retry-After and the backoff")
    func longerOfTheTwo() async throws {
        let (clock, network) = (TestClock(seed: 3), scripted())
        network.on(.get, "/x") {
            ScriptedReply.status(500, headers: ["Retry-After": "1"]).times(2)
            ScriptedReply.json("1")
        }
        let client = testClient(network, clock) { $0.retry = RetryPolicy(attempts: 3, base: .seconds(15)) }
        try await clock.run { let _: Int = try await client.run(.get("x")) }
        let other = TestClock(seed: 3)
        let backoff = Backoff(base: .seconds(15))
        let pauses = [1, 2].map { backoff.pause(beforeRetry: $0, random: other.randomFraction()) }
        #expect(pauses.allSatisfy { $0 > .seconds(1) })
        #expect(
            network.sent.map(\.at) == [.zero, .zero.advanced(by: pauses[0]), .zero.advanced(by: pauses[0] + pauses[1])])
    }

    @Test("C15: beyond the policy's maximum the call fails at once, with the wait", arguments: [429, 503, 500])
    func tooLong(status: Int) async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/x") { .status(status, headers: ["Retry-After": "61"]) }
        let client = testClient(network, clock)
        await clock.run {
            let error = await #expect(throws: ServiceError.self) { let _: Int = try await client.run(.get("x")) }
            #expect(error?.retryAfter == .seconds(61))
            #expect(error?.status == status)
        }
        #expect(clock.elapsed == .zero)
        try network.verify()
    }

    @Test("C15: exactly the policy's maximum is waited for", arguments: [429, 503, 500])
    func exactlyMaximum(status: Int) async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/x") {
            ScriptedReply.status(status, headers: ["Retry-After": "60"])
            ScriptedReply.json("1")
        }
        let client = testClient(network, clock)
        try await clock.run { let _: Int = try await client.run(.get("x")) }
        #expect(network.sent.map(\.at) == [.zero, .ms(60_000)])
    }

    @Test("C15: twenty digits read the same in the error, in its description and in the limiter's own refusal")
    func absurd() async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/x") { .status(429, headers: ["Retry-After": "99999999999999999999"]) }
        let client = testClient(network, clock) { $0.longestServerPause = .seconds(Int64.max) }
        await clock.run {
            for _ in 0..<2 {
                let error = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
                #expect(error?.retryAfter == .seconds(3_155_760_000))
                #expect(error?.description.contains("try again in 3155760000 s)") == true)
            }
        }
        #expect(network.sent.count == 1)
    }

    @Test("C15: a call's own policy may have a higher maximum, or a lower one")
    func ownMaximum() async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/x") {
            ScriptedReply.status(500, headers: ["Retry-After": "90"])
            ScriptedReply.json("1")
        }
        network.on(.get, "/y") { .status(500, headers: ["Retry-After": "2"]) }
        let client = testClient(network, clock)
        try await clock.run {
            let _: Int = try await client.run(
                .get("x").retry(RetryPolicy(attempts: 2, maximumRetryAfter: .seconds(100))))
            #expect(clock.elapsed == .seconds(90))
            await #expect(throws: ServiceError.self) {
                let _: Int = try await client.run(
                    .get("y").retry(RetryPolicy(attempts: 2, maximumRetryAfter: .seconds(1))))
            }
        }
        #expect(clock.elapsed == .seconds(90))
    }

    @Test("a pause that does not fit before the deadline is not begun: the server's response is the result")
    func beyondDeadline() async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/x") { .status(503, headers: ["Retry-After": "5"]) }
        let client = testClient(network, clock)
        await clock.run {
            let error = await #expect(throws: ServiceError.self) {
                let _: Int = try await client.run(.get("x").deadline(.seconds(5)))
            }
            #expect(error?.status == 503)
        }
        #expect(clock.elapsed == .zero)
    }
}
