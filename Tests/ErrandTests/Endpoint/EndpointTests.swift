import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Endpoint: a call as a plain value")
struct EndpointTests {
    @Test("each verb sends its method")
    func verbs() async throws {
        let endpoints: [Endpoint<NoContent>] = [
            .get("x"), .head("x"), .post("x"), .put("x"), .patch("x"), .delete("x"), Endpoint(.options, "x"),
            Endpoint("PURGE", "x"),
        ]
        var methods: [String] = []
        for endpoint in endpoints { methods.append(try await request(for: endpoint).request.method.rawValue) }
        #expect(methods == ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"])
    }

    @Test("the options change a copy, and the last value counts")
    func options() {
        let plain = Endpoint<Int>.get("x")
        let changed = plain.authentication(.optional).timeout(.seconds(1)).timeout(.milliseconds(5))
            .deadline(.seconds(3)).retry(.never).idempotencyKey("k").permits(3)
            .ignoringConcurrency().server("https://b.test")
        #expect(plain.options.timeout == nil && plain.options.permits == 1)
        #expect(plain.options.authentication == .automatic)
        #expect(changed.options.authentication == .optional)
        #expect(changed.options.timeout == .limit(.milliseconds(5)))
        #expect(changed.options.deadline == .limit(.seconds(3)))
        let unlimited = changed.timeout(nil).deadline(nil)
        #expect(unlimited.options.timeout == .unlimited && unlimited.options.deadline == .unlimited)
        #expect(changed.options.retry == .never)
        #expect(changed.options.idempotencyKey == .fixed("k"))
        #expect(changed.options.permits == 3)
        #expect(!plain.options.ignoresConcurrency && plain.options.server == nil)
        #expect(changed.options.ignoresConcurrency && changed.options.server == "https://b.test")
        #expect("\(changed)".contains("permits: 3"))
    }

    @Test("the response of an implicit member is inferred")
    func inference() async throws {
        let network = scripted()
        network.on(.get, "/count") { .json("3") }
        let count = try await testClient(network, TestClock()).run(.count)
        #expect(count == 3)
    }

    @Test("a reply has the value, the status, the headers, the attempts and the time they took")
    func reply() async throws {
        let network = scripted()
        network.on(.get, "/count") {
            ScriptedReply.status(503, headers: ["Retry-After": "2"])
            ScriptedReply.json("3", status: 203, headers: ["ETag": "e"]).after(.milliseconds(40))
        }
        let clock = TestClock()
        let client = testClient(network, clock)
        let reply = try await clock.run { try await client.reply(to: .count) }
        #expect(reply.value == 3)
        #expect(reply.status == 203)
        #expect(reply.headers["etag"] == "e")
        #expect(reply.attempts == 2)
        #expect(reply.duration == .milliseconds(2040))
    }
}

extension Endpoint where Response == Int {
    fileprivate static var count: Self { .get("count") }
}
