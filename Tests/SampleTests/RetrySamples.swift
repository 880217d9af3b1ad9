import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Retrying")
struct RetrySamples {
    @Test("policies, for a client and for one call")
    func policies() {
        let client = APIClient("https://api.example.com") {
            $0.retry = RetryPolicy(attempts: 4, base: .milliseconds(100), maximumRetryAfter: .seconds(10))
        }
        let once: Endpoint<[User]> = .friends.retry(.never)
        #expect(client.configuration.retry.attempts == 4)
        #expect(once.options.retry == .never)
    }

    @Test("a POST is repeated with a key, and not without")
    func keys() async throws {
        let network = scripted()
        network.on(.post, "/friends") {
            ScriptedReply.status(503)
            ScriptedReply.json(#"{"id": 1, "name": "Ann"}"#)
        }
        network.on(.post, "/users") { .status(503) }
        let clock = TestClock()
        let client = testClient(network, clock)
        try await clock.run {
            let reply = try await client.reply(to: .invite("Ann"))
            #expect(reply.attempts == 2)
            await #expect(throws: ServiceError.self) { try await client.run(.signUp("Ann")) }
        }
        let keys = network.sent.map { $0.request.headers["Idempotency-Key"] }
        #expect(keys[0] != nil && keys[0] == keys[1] && keys[2] == nil)
    }
}
