@testable import Errand
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("A server that says when to come back") struct RetryAfterTests {
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

    @Test("C15: a date in the past is no wait; what cannot be read leaves the usual backoff")
    func pastAndUnreadable() async throws {
        let (clock, network) = (TestClock(seed: 3), scripted())
        network.on(.get, "/x") {
            ScriptedReply.status(503, headers: ["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"])
            ScriptedReply.status(503, headers: ["Retry-After": "a while"])
            ScriptedReply.json("1")
        }
        let client = testClient(network, clock)
        try await clock.run { let _: Int = try await client.run(.get("x")) }
        let instants = network.sent.map(\.at)
        #expect(instants[1] == .zero)
        #expect(instants[2] > .zero && instants[2] < .ms(400))
    }

    @Test("C15: longer than the policy's patience, it fails at once, with the figure", arguments: [429, 503, 500])
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

    @Test("C15: a call's own policy may have more patience, or less")
    func patience() async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/x") {
            ScriptedReply.status(500, headers: ["Retry-After": "90"])
            ScriptedReply.json("1")
        }
        network.on(.get, "/y") { .status(500, headers: ["Retry-After": "2"]) }
        let client = testClient(network, clock)
        try await clock.run {
            let _: Int = try await client.run(.get("x").retry(RetryPolicy(attempts: 2, patience: .seconds(100))))
            #expect(clock.elapsed == .seconds(90))
            await #expect(throws: ServiceError.self) {
                let _: Int = try await client.run(.get("y").retry(RetryPolicy(attempts: 2, patience: .seconds(1))))
            }
        }
        #expect(clock.elapsed == .seconds(90))
    }

    @Test("a pause that does not fit before the deadline is not begun: the server's answer is the result")
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
