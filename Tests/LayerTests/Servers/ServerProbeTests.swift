import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Probes of servers that are set aside", .timeLimit(.minutes(10))) struct ServerProbeTests: ServersScene {
    let clock = TestClock()
    let network = scripted()

    private func probed(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        client {
            $0.servers.choice = .inOrder(returningAfter: .seconds(60))
            $0.servers.probe = "health"
            configure(&$0)
        }
    }

    private var paths: [String] { network.sent.map { $0.request.url.origin.host.prefix(1) + $0.request.url.path } }

    /// The first server fails, and the second responds.
    private func failFirst() {
        network.on(.get, "https://a.test/v1/x") { ScriptedReply.failure(.refused) }
        network.on(.get, "https://b.test/x") { ScriptedReply.json("1").always }
    }

    @Test("B4: a probe checks the first server beside a call, and all calls return when it has answered")
    func returns() async throws {
        failFirst()
        network.on(.get, "https://a.test/v1/health") { ScriptedReply.json("{}").after(.seconds(5)) }
        let client = probed()
        try await clock.run {
            try await run(1, client)
            try await clock.sleep(until: .ms(59_000))
            try await run(1, client)
            #expect(paths == ["a/v1/x", "b/x", "b/x"])
            try await clock.sleep(until: .ms(60_000))
            // The first of them has it probed, and neither waits for that.
            try await run(3, client)
            #expect(clock.now == .ms(60_000))
            await network.sent(atLeast: 7)
            #expect(client.servers.snapshot[0].state == .tried)
            network.on(.get, "https://a.test/v1/x") { ScriptedReply.json("2").always }
            try await clock.sleep(until: .ms(65_001))
            #expect(client.servers.snapshot[0].state == .inUse)
            try await run(1, client)
            #expect(paths.suffix(5).sorted() == ["a/v1/health", "a/v1/x", "b/x", "b/x", "b/x"])
        }
    }

    @Test(
        "B4: a probe that gets another status, or a redirect, sets the server aside for longer",
        arguments: [ScriptedReply.status(500), .status(404), .status(301), .status(503), .failure(.reset)])
    func fails(reply: ScriptedReply) async throws {
        failFirst()
        network.on(.get, "https://a.test/v1/health") { reply.always }
        let events = EventLog()
        let client = probed { $0.observe = events.note }
        try await clock.run {
            try await run(200, client, every: .seconds(1))
            let count = paths.count { $0 == "a/v1/health" }
            #expect(count == 3)
            #expect(paths.count { $0 == "b/x" } == 200)
        }
        #expect(events.aside.count == 4 && events.aside[3] > events.aside[0] * 3)
    }

    @Test("B4: a probe that asks for a pause sets its server aside for that, and stops no call")
    func pause() async throws {
        failFirst()
        network.on(.get, "https://a.test/v1/health") {
            ScriptedReply.status(503, headers: ["Retry-After": "100"]).always
        }
        let client = probed()
        try await clock.run {
            try await run(1, client)
            try await clock.sleep(until: .ms(60_000))
            try await run(1, client)
            try await clock.sleep(until: .ms(61_000))
            try await run(1, client)
            #expect(clock.now == .ms(61_000))
            guard case .setAside(let pause) = client.servers.snapshot[0].state else { return #expect(Bool(false)) }
            #expect(pause == .seconds(99))
        }
    }

    @Test("B4: if no other server is in use, a call checks one itself")
    func none() async throws {
        network.onAny { ScriptedReply.failure(.refused).times(21) }
        let client = probed { $0.retry = .never }
        try await clock.run {
            for _ in 0..<40 { _ = try? await client.run(call) }
            network.onAny { ScriptedReply.json("1").always }
            try await clock.sleep(until: .ms(10_000))
            try await run(1, client)
        }
        #expect(!paths.contains { $0.hasSuffix("health") })
    }

    @Test("B4: a probe has the client's headers and takes a permit, but has no token and no cookie of the session")
    func request() async throws {
        network.on(.get, "https://a.test/v1/x") { ScriptedReply.json("1", headers: ["Set-Cookie": "sid=7"]) }
        failFirst()
        network.on(.get, "https://a.test/v1/health") { ScriptedReply.json("{}") }
        network.on(.get, "https://a.test/v1/x") { ScriptedReply.json("1").always }
        let tokens = TokenStore()
        await tokens.signIn(Token(accessToken: "secret"))
        let client = probed {
            $0.tokens = tokens
            $0.credentials = .apiKey("X-Key", "key")
            $0.headers["X-App"] = "7"
            $0.cookies = CookieJar()
            $0.rateLimit = .requests(2, per: .seconds(1))
        }
        try await clock.run {
            try await run(1, client)
            try await clock.sleep(until: .ms(1000))
            try await run(1, client)
            try await clock.sleep(until: .ms(61_000))
            try await run(1, client)
            try await clock.sleep(until: .ms(61_001))
            try await run(1, client)
            #expect(clock.now > .ms(61_300))
        }
        let probe = try #require(network.sent.first { $0.request.url.path == "/v1/health" }?.request)
        #expect(probe.headers["X-App"] == "7" && probe.headers["Authorization"] == nil)
        let later = network.sent.last { $0.request.url.origin.host == "a.test" && $0.request.url.path == "/v1/x" }
        #expect(probe.headers["Cookie"] == nil && later?.request.headers["Cookie"] == "sid=7")
        #expect(probe.headers["X-Key"] == nil && network.sent.first?.request.headers["X-Key"] == "key")
        let others = network.sent.map(\.request).filter { $0.url.path != "/v1/health" }
        #expect(others.count == 5 && others.allSatisfy { $0.headers["Authorization"] != nil })
    }

    @Test("B4: shutting down ends a probe, and one that is silent ends with its timeout")
    func ends() async throws {
        failFirst()
        network.on(.get, "https://a.test/v1/health") { ScriptedReply.json("{}").after(.seconds(1000)).always }
        let client = probed { $0.timeout = nil }
        try await clock.run {
            try await run(1, client)
            try await clock.sleep(until: .ms(60_000))
            try await run(1, client)
            try await clock.sleep(until: .ms(90_001))
            let isAside = if case .setAside = client.servers.snapshot[0].state { true } else { false }
            #expect(isAside)
            try await clock.sleep(until: .ms(200_000))
            try await run(1, client)
            try await clock.sleep(until: .ms(200_001))
            #expect(client.servers.snapshot[0].state == .tried)
            await client.shutdown()
            #expect(clock.now == .ms(200_001) && client.servers.snapshot[0].active == 0)
        }
    }

    @Test("B4: nothing is built for a probe while all servers are in use, and a call to one server checks that itself")
    func quiet() async throws {
        failFirst()
        network.on(.get, "https://a.test/v1/x") { ScriptedReply.json("3").always }
        network.on(.get, "https://a.test/v1/health") { ScriptedReply.json("{}").always }
        let built = Noted(0)
        let client = probed {
            $0.servers.choice = .inOrder(returningAfter: .zero)
            $0.headersForEachCall = {
                built.update { $0 += 1 }
                return [:]
            }
        }
        try await clock.run {
            try await run(4, client)
            #expect(built.value == 4)
            try await clock.sleep(until: .ms(20_000))
            #expect(try await client.run(call.server(a)) == 3)
            #expect(client.servers.snapshot[0].state == .inUse && built.value == 5)
            #expect(!paths.contains { $0.hasSuffix("health") })
        }
    }

    @Test("B4: a probe that waits for its permit keeps nobody from its server, and is not sent if that has answered")
    func waits() async throws {
        failFirst()
        network.on(.get, "https://a.test/v1/x") { ScriptedReply.json("3").always }
        let client = probed {
            $0.servers.choice = .inOrder(returningAfter: .zero)
            $0.rateLimit = .requests(2, per: .seconds(1000))
        }
        try await clock.run {
            try await run(1, client)
            try await clock.sleep(until: .ms(20_000))
            // The call and its probe wait for permits.
            let waiting = Task { try await client.run(call) }
            try await clock.sleep(until: .ms(20_001))
            let isAside = if case .setAside = client.servers.snapshot[0].state { true } else { false }
            #expect(isAside)
            let free = RateLimiter(.unlimited, time: clock)
            #expect(try await client.run(call.server(a).limiter(free)) == 3)
            #expect(client.servers.snapshot[0].state == .inUse)
            #expect(try await waiting.value == 3)
            try await clock.sleep(until: .ms(3_000_000))
        }
        #expect(!paths.contains { $0.hasSuffix("health") })
    }

    @Test("B4: without sessions, a probe has the cookies of its server")
    func cookies() async throws {
        network.on(.get, "https://a.test/v1/x") { ScriptedReply.json("1", headers: ["Set-Cookie": "sid=7"]) }
        failFirst()
        network.on(.get, "https://a.test/v1/health") { ScriptedReply.json("{}") }
        let client = probed { $0.cookies = CookieJar() }
        try await clock.run {
            try await run(2, client)
            try await clock.sleep(until: .ms(60_000))
            try await run(1, client)
            await network.sent(atLeast: 5)
        }
        #expect(network.sent.last { $0.request.url.path == "/v1/health" }?.request.headers["Cookie"] == "sid=7")
    }

    /// Refuses to send a probe, and counts that.
    private struct Refusal: Middleware, Error {
        let count = Noted(0)

        func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
            guard request.url.path.hasSuffix("health") else { return try await next(request, context) }
            count.update { $0 += 1 }
            throw self
        }
    }

    @Test("B4: a probe that could not be sent is repeated after a second, and not with each call")
    func unsent() async throws {
        failFirst()
        let refusal = Refusal()
        let client = probed { $0.attemptMiddlewares = [refusal] }
        try await clock.run {
            try await run(1, client)
            try await clock.sleep(until: .ms(60_000))
            try await run(30, client, every: .milliseconds(100))
        }
        #expect(refusal.count.value == 3 && !paths.contains { $0.hasSuffix("health") })
    }

    @Test("B4: a probe takes no place of the limit on requests at once")
    func places() async throws {
        failFirst()
        network.on(.get, "https://a.test/v1/health") { ScriptedReply.json("{}").after(.seconds(20)).always }
        let client = probed { $0.concurrency = .atMost(1, queue: 0) }
        try await clock.run {
            try await run(1, client)
            try await clock.sleep(until: .ms(60_000))
            try await run(1, client)
            await network.sent(atLeast: 4)
            try await run(3, client)
            #expect(clock.now == .ms(60_000))
        }
    }

    @Test("B4: a path that cannot be sent is refused with words")
    func path() async throws {
        let client = client { $0.servers.probe = "health?deep=1" }
        let error = try await failure(of: call, client)
        guard case .invalidRequest(let reason) = error else { throw error }
        #expect(reason.reason.contains("probe of the servers"))
        #expect(network.sent.isEmpty)
    }
}
