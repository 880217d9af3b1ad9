import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Coming from elsewhere")
struct ElsewhereSamples {
    private let network = scripted()

    @Test("a typed model is read, and another one is sent")
    func models() async throws {
        network.on(.get, "/users/7", .json(#"{"id": 7, "name": "Ann"}"#))
        network.on(.post, "/users", .json(#"{"id": 8, "name": "Bo"}"#, status: 201))
        let client = testClient(network)
        let id = 7
        let user: User = try await client.run(.get("users/\(id)"))
        let added: User = try await client.run(
            .post("users", body: .json(User(id: 9, name: "Bo"))))
        #expect(user == User(id: 7, name: "Ann"))
        #expect(added == User(id: 8, name: "Bo"))
        #expect(network.sent.last.map { String(decoding: $0.body, as: UTF8.self) } == #"{"id":9,"name":"Bo"}"#)
    }

    @Test("a test needs no network")
    func script() async throws {
        let network = ScriptedTransport()
        network.on(.get, "/users/7/friends?sort=name") {
            .json(#"{"users": [{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bo"}]}"#)
        }
        let client = APIClient("https://api.test") { $0.transport = network }
        #expect(try await client.run(.friends(of: 7)).map(\.name) == ["Ann", "Bo"])
    }

    @Test("an idempotent call is tried again by itself")
    func retry() async throws {
        network.on(.get, "/friends", .status(503).times(2), .json("[]"))
        let clock = TestClock()
        let client = testClient(network, clock)
        let attempts = try await clock.run {
            let reply = try await client.reply(to: .friends)  // after a 503, a random pause that may grow
            return reply.attempts
        }
        #expect(attempts == 3)
    }

    @Test("the earlier request is cancelled")
    func latest() async throws {
        network.on(.get, "/search?q=a", .silence)
        network.on(.get, "/search?q=an", .json(#"[{"id": 1, "name": "Ann"}]"#))
        let client = testClient(network)
        let latest = LatestOnly()
        let search: @Sendable (String) async throws(ServiceError) -> [User] = { (text) async throws(ServiceError) in
            try await latest.run {
                try await client.run(.get("search", query: ["q": text]))
            }
        }
        let first = Task { await Result { () async throws(ServiceError) in try await search("a") } }
        await network.sent(atLeast: 1)
        #expect(try await search("an").map(\.name) == ["Ann"])
        #expect(await first.value == .failure(.cancelled))
    }
}
