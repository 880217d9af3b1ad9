import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Idempotency keys") struct IdempotencyKeyTests {
    @Test("C12: one key for all attempts of a call, a new one for the next call")
    func unique() async throws {
        let (clock, network) = (TestClock(seed: 2), scripted())
        network.on(.post, "/x") {
            ScriptedReply.status(503).times(2)
            ScriptedReply.json("1")
            ScriptedReply.failure(.reset)
            ScriptedReply.json("2")
        }
        let client = testClient(network, clock)
        let endpoint = Endpoint<Int>.post("x").idempotencyKey(.unique)
        try await clock.run {
            _ = try await client.run(endpoint)
            _ = try await client.run(endpoint)
        }
        let keys = network.sent.compactMap { $0.request.headers["Idempotency-Key"] }
        #expect(keys.count == 5)
        #expect(Set(keys[0..<3]).count == 1)
        #expect(Set(keys[3..<5]).count == 1)
        #expect(keys[0] != keys[3])
        #expect(keys[0].count == 36)
    }

    @Test("C12: the caller's own key is sent unchanged; a call without one sends none")
    func fixed() async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.post, "/x") { ScriptedReply.json("1").times(2) }
        let client = testClient(network, clock)
        let _: Int = try await client.run(.post("x").idempotencyKey("order-7"))
        let _: Int = try await client.run(.post("x"))
        #expect(network.sent.map { $0.request.headers["Idempotency-Key"] } == ["order-7", nil])
    }
}
