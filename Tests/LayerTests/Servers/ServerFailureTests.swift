import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("What counts against a server", .timeLimit(.minutes(10))) struct ServerFailureTests: ServersScene {
    let clock = TestClock()
    let network = scripted()

    @Test(
        "B1: what counts against a server, and what does not",
        arguments: [
            (ScriptedReply.failure(.refused), true), (.failure(.reset), true), (.status(502), true),
            (.status(503), true), (.failure(.untrustedCertificate), true), (.status(504), true), (.status(520), true),
            (.status(527), true),
            (.silence, true), (.status(404), false), (.status(429), false), (.status(500), false),
            (.status(501), false), (.status(505), false), (.json("no number"), false),
        ])
    func signs(reply: ScriptedReply, isAgainst: Bool) async throws {
        network.on(.get, "https://a.test/*") { reply.always }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
        let client = client { $0.timeout = .seconds(1) }
        await clock.run {
            let found = try? await client.run(call.retry(RetryPolicy(attempts: 2)))
            #expect((found == 1) == isAgainst)
        }
        #expect(hosts.contains("b") == isAgainst)
    }

    @Test("B1: a deadline that ends a send counts against the server; one that ends a wait, and a cancellation, do not")
    func deadlines() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.silence.always }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
        let client = client { $0.rateLimit = .requests(1, per: .seconds(1)) }
        try await clock.run {
            let task = Task { try await client.run(call) }
            await network.sent(atLeast: 1)
            task.cancel()
            _ = try? await task.value
            _ = try await failure(of: call.deadline(.milliseconds(100)), client)
            #expect(network.sent.count == 1)
            #expect(client.servers.snapshot.map(\.failuresInRow) == [0, 0])
            try await clock.sleep(until: .ms(5000))
            _ = try await failure(of: call.deadline(.milliseconds(100)), client)
            #expect(client.servers.snapshot[0].state != .inUse)
            #expect(try await client.run(call) == 1)
        }
        #expect(hosts == ["a", "a", "b"])
    }

    @Test(
        "B1: a deadline counts as well if calls share the request, and a connection that turns requests away does not")
    func sharedDeadlines() async throws {
        network.on(.get, "https://a.test/*") {
            ScriptedReply.failure(.reset, mayHaveReachedServer: false)
            ScriptedReply.json("1")
            ScriptedReply.silence
        }
        // What is turned away goes to the other server, at once.
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1") }
        let client = client { $0.sharesEqualRequests = true }
        try await clock.run {
            #expect(try await client.reply(to: call).duration == .zero)
            try await run(1, client)
            #expect(client.servers.snapshot.map(\.failuresInRow) == [0, 0])
            async let other = failure(of: call.deadline(.milliseconds(200)), client)
            _ = try await failure(of: call.deadline(.milliseconds(100)), client)
            _ = try await other
            // The shared request has a task of its own, which ends a moment later.
            try await clock.sleep(until: .ms(1000))
        }
        #expect(client.servers.snapshot[0].state != .inUse)
        #expect(hosts == ["a", "b", "a", "a"])
    }

    @Test("B2: fifty calls that fail together move the client on once")
    func together() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.reset).after(.milliseconds(5)).always }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
        let events = EventLog()
        let client = client { $0.observe = events.note }
        try await clock.run {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<50 { group.addTask { try await client.run(call) } }
                try await group.waitForAll()
            }
            try await run(10, client)
        }
        #expect(hosts.count { $0 == "a" } == 50 && hosts.count { $0 == "b" } == 60)
        #expect(events.aside.count == 1)
        #expect(client.servers.snapshot.map(\.failuresInRow) == [1, 0])
    }

    @Test("B1: what a middleware answers, or sends elsewhere, says nothing about the server")
    func middleware() async throws {
        struct Elsewhere: Middleware {
            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                if request.url.path.hasSuffix("/own") { return HTTPResponse(status: 503) }
                return try await next(HTTPRequest(method: .get, url: try HTTPURL("https://c.test/x")), context)
            }
        }
        network.on(.get, "https://c.test/x") { ScriptedReply.failure(.refused).always }
        let client = client { $0.attemptMiddlewares = [Elsewhere()] }
        try await clock.run {
            for path in ["x", "own"] {
                for _ in 0..<5 { _ = try await failure(of: .get("\(path)"), client) }
            }
        }
        #expect(client.servers.snapshot.allSatisfy { $0.state == .inUse && $0.failuresInRow == 0 && $0.active == 0 })
    }

    @Test("B13: 503 with Retry-After pauses its server; 429 pauses the limiter, whichever server says it")
    func pausing() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.status(503, headers: ["Retry-After": "30"]) }
        network.on(.get, "https://b.test/*") {
            ScriptedReply.json("1").times(2)
            ScriptedReply.status(429, headers: ["Retry-After": "5"])
            ScriptedReply.json("1")
        }
        let client = client()
        try await clock.run {
            #expect(try await client.reply(to: call).duration == .zero)
            try await run(1, client)
            #expect(client.servers.snapshot[0].state == .setAside(for: .seconds(30)))
            #expect(try await client.reply(to: call).duration == .seconds(5))
            // Calls that can go nowhere else wait for their server.
            network.on(.get, "https://a.test/*") {
                ScriptedReply.status(503, headers: ["Retry-After": "7"])
                ScriptedReply.json("1")
            }
            #expect(try await client.reply(to: call.server(a)).duration == .seconds(7))
        }
        #expect(hosts == ["a", "b", "b", "b", "b", "a", "a"])
    }

    @Test("B13: the snapshot, the events and explain name the servers")
    func whatIsShown() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused).always }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
        let events = EventLog()
        let client = client { $0.observe = events.note }
        #expect(client.explain(call).contains("server:      \(a)"))
        try await clock.run { try await run(2, client) }
        #expect(client.explain(call).contains("server:      \(b) (\(a): set aside for another "))
        #expect(client.explain(call.server(a)).contains("server:      \(a), and no other"))
        #expect(client.servers.snapshot.map(\.baseURL) == [a, b])
        #expect(client.servers.snapshot[1].state == .inUse)
        #expect(events.lines.contains { $0.contains("\(a) is set aside for ") })
        #expect(testClient(scripted()).servers.snapshot.isEmpty)
    }
}
