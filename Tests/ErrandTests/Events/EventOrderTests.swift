import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Events: what happens to a call, in order")
struct EventOrderTests {
    /// Returns the log lines of one call.
    private func log(
        _ network: ScriptedTransport, _ clock: TestClock, _ configure: (inout Configuration) -> Void = { _ in },
        _ calls: @escaping @Sendable (APIClient) async throws -> Void
    ) async throws -> [String] {
        let client = testClient(network, clock, configure)
        let events = client.diagnostics
        return try await clock.run {
            try await calls(client)
            await client.shutdown()
            return await events.map { LogFormatter().line(for: $0) }.reduce(into: []) { $0.append($1) }
        }
    }

    @Test("a call that waits, is redirected, retried and succeeds reports all of it")
    func typical() async throws {
        let (network, clock) = (scripted(), TestClock())
        network.on(.get, "/users/7?page=1") {
            ScriptedReply.status(503, headers: ["Retry-After": "2"])
            ScriptedReply.status(302, headers: ["Location": "/moved?token=abc"]).after(.milliseconds(40))
        }
        network.on(.get, "/moved?token=abc") { .json("[1]") }
        let lines = try await log(network, clock, { $0.rateLimit = .requests(1, per: .seconds(10)) }) { client in
            _ = try await client.run(Endpoint<[Int]>.get("users/7", query: ["page": 1]))
        }
        let url = "https://api.test/users/7?page=1"
        #expect(
            lines
                == [
                    "began",
                    "sent GET \(url) (attempt 1)",
                    "answered 503 Service Unavailable, 0 bytes, after 0 ms",
                    "trying again in 2 s, because of 503",
                    "waited 8 s for the rate limit",
                    "sent GET \(url) (attempt 2)",
                    "answered 302 Found, 0 bytes, after 40 ms",
                    "redirected (302) to https://api.test/moved?token=‹redacted›",
                    "waited 9.96 s for the rate limit",
                    "sent GET https://api.test/moved?token=‹redacted› (attempt 2)",
                    "answered 200 OK, 3 bytes, after 0 ms",
                    "succeeded after 20 s, attempts: 2",
                ].map { "#1 GET users/7  \($0)" })
    }

    @Test("a call that fails reports each failure and its end")
    func failing() async throws {
        let (network, clock) = (scripted(), TestClock())
        network.on(.put, "/x") { .failure(.reset).times(2) }
        let lines = try await log(network, clock) { client in
            let policy = RetryPolicy(attempts: 2, base: .zero)
            await #expect(throws: ServiceError.self) {
                try await client.run(Endpoint<NoContent>.put("x", body: .json([1])).retry(policy))
            }
        }
        let error = "transport(reset: The connection to the server broke off: scripted; try again)"
        #expect(
            lines
                == [
                    "began", "sent PUT https://api.test/x, 3 bytes (attempt 1)", "failed after 0 ms: \(error)",
                    "trying again in 0 ms: \(error)", "sent PUT https://api.test/x, 3 bytes (attempt 2)",
                    "failed after 0 ms: \(error)", "ended after 0 ms, attempts: 2: \(error)",
                ].map { "#1 PUT x  \($0)" })
    }

    @Test("a wait for a fresh token is reported, and the calls of a client are numbered")
    func token() async throws {
        let (network, clock) = (scripted(), TestClock())
        network.on(.get, "/x") { .json("1").times(2) }
        let store = TokenStore(time: clock) { _ in
            try await clock.sleep(for: .seconds(3))
            return Token(accessToken: "new")
        }
        await store.signIn(Token(accessToken: "old", expiry: clock.date))
        let lines = try await log(network, clock, { $0.tokens = store }) { client in
            for _ in 0..<2 { _ = try await client.run(Endpoint<Int>.get("x")) }
        }
        #expect(
            lines == [
                "#1 GET x  began", "#1 GET x  waited 3 s for an access token",
                "#1 GET x  sent GET https://api.test/x (attempt 1)",
                "#1 GET x  answered 200 OK, 1 bytes, after 0 ms", "#1 GET x  succeeded after 3 s, attempts: 1",
                "#2 GET x  began", "#2 GET x  sent GET https://api.test/x (attempt 1)",
                "#2 GET x  answered 200 OK, 1 bytes, after 0 ms", "#2 GET x  succeeded after 0 ms, attempts: 1",
            ])
    }

    @Test("a call that sends nothing begins and ends")
    func unsent() async throws {
        let lines = try await log(scripted(), TestClock()) { client in
            await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("../x")) }
            await #expect(throws: ServiceError.signInRequired) {
                try await client.run(Endpoint<Int>.get("x").authentication(.required))
            }
        }
        #expect(lines.count == 4)
        #expect(lines[1].contains("ended after 0 ms, attempts: 0: invalidRequest(path: "))
        #expect(lines[3] == "#2 GET x  ended after 0 ms, attempts: 0: signInRequired")
    }

    @Test("every listener gets all events from when it began to listen, and a failure is found by its end")
    func listeners() async throws {
        let (network, clock) = (scripted(), TestClock())
        network.on(.get, "/x") {
            ScriptedReply.json("1")
            ScriptedReply.status(404)
        }
        let client = testClient(network, clock)
        let early = client.diagnostics
        _ = try await client.run(Endpoint<Int>.get("x"))
        let late = client.diagnostics
        await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
        await client.shutdown()
        let all = await early.reduce(into: [ClientEvent]()) { $0.append($1) }
        let tail = await late.reduce(into: [ClientEvent]()) { $0.append($1) }
        #expect(all.count == 8)
        #expect(Array(all.suffix(4)) == tail)
        #expect(all.compactMap(\.failure?.status) == [404])
        let after = await client.diagnostics.reduce(into: 0) { count, _ in count += 1 }
        #expect(after == 0)
    }

    @Test("an event has neither the headers nor the body of a response", arguments: [404, 503])
    func withoutContent(status: Int) async throws {
        let (network, clock) = (scripted(), TestClock())
        network.on(.get, "/x") { .json(#"{"message":"no","iban":"DE02"}"#, status: status) }
        let client = testClient(network, clock) { $0.retry = .never }
        let events = client.diagnostics
        let error = try await #require(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
        await client.shutdown()
        let reported = await events.reduce(into: [ServiceError]()) { reported, event in
            if let failure = event.failure { reported.append(failure) }
        }
        for (error, isWhole) in [(error, true), (try #require(reported.first), false)] {
            switch error {
            case .rejected(let rejection), .serverFailure(let rejection):
                #expect(rejection.message == "no")
                #expect(rejection.body.isEmpty != isWhole)
                #expect(rejection.headers.fields.isEmpty != isWhole)
            default: Issue.record("\(error)")
            }
        }
    }

    @Test("a log entry is one line, whatever a server's message contains")
    func oneLine() async throws {
        let (network, clock) = (scripted(), TestClock())
        network.on(.get, "/x") { .json(#"{"message":"a\nb\r\nc\u2028d"}"#, status: 400) }
        let lines = try await log(network, clock) { client in
            await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
        }
        #expect(lines.allSatisfy { line in !line.contains { $0.isNewline } })
        #expect(lines.last?.hasSuffix("rejected(400: a b c d)") == true)
    }
}
