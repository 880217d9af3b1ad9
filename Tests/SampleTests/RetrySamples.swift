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

    @Test("a closure decides after which pause an attempt is repeated")
    func pauses() async throws {
        let impatient = RetryPolicy.standard.retrying(after: { attempt in
            guard attempt.isTransient else { return nil }
            return attempt.number == 1 ? .zero : attempt.pause
        })
        let (network, clock) = (scripted(), TestClock())
        network.on(.get, "/friends", .status(503), .json("[]"))
        let client = testClient(network, clock) { $0.retry = impatient }
        try await clock.run { _ = try await client.run(.friends) }
        #expect(clock.elapsed == .zero)
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
