import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

/// Servers in virtual time: `a.test` is late, `b.test` is not.
@Suite("Requests that are sent a second time", .timeLimit(.minutes(10))) struct HedgingTests {
    private let clock = TestClock()
    private let network = scripted()
    private let call = Endpoint<Int>.get("x")

    private func client(
        _ policy: HedgingPolicy = .after(.fixed(.milliseconds(100))), servers: [String] = ["a", "b"],
        _ configure: (inout Configuration) -> Void = { _ in }
    ) -> APIClient {
        let urls = servers.map { "https://\($0).test" }
        return testClient(network, clock) {
            $0.environment = ServerEnvironment(name: "test", baseURL: urls[0], otherBaseURLs: Array(urls.dropFirst()))
            $0.hedging = policy
            configure(&$0)
        }
    }

    /// The hosts that were asked, and when.
    private var asked: [String] {
        network.sent.map { "\($0.request.url.origin.host.prefix(1))\($0.at.nanoseconds / 1_000_000)" }
    }

    private func late(_ seconds: Int = 10) { network.on(.get, "https://a.test/*") { reply(after: .seconds(seconds)) } }

    private func reply(_ text: String = "1", after pause: Duration) -> ScriptedReply {
        .json(text).after(pause).always
    }

    @Test("B9, B10: a late request goes to another server as well, and the first good response counts")
    func other() async throws {
        late()
        network.on(.get, "https://b.test/*") { reply("2", after: .milliseconds(30)) }
        let events = Noted<[String]>([])
        let client = client {
            $0.observe = { event in events.update { $0.append(LogFormatter().line(for: event)) } }
        }
        try await clock.run {
            let reply = try await client.reply(to: call)
            #expect(reply.value == 2 && reply.attempts == 1 && reply.duration == .milliseconds(130))
            #expect(reply.url.absoluteString == "https://b.test/x")
        }
        #expect(asked == ["a0", "b100"])
        #expect(events.value.count { $0.contains("sent a second time, to https://b.test") } == 1)
        // The loser is no failure of its server.
        #expect(client.servers.snapshot.allSatisfy { $0.state == .inUse && $0.active == 0 && $0.failuresInRow == 0 })
    }

    @Test("B9: one server is asked twice; a response in time is not followed by a second request")
    func single() async throws {
        network.onAny {
            ScriptedReply.json("1").after(.milliseconds(99))
            ScriptedReply.json("2").after(.seconds(10))
            ScriptedReply.json("3").after(.milliseconds(20))
        }
        let client = client(servers: ["a"])
        try await clock.run {
            let values = (try await client.run(call), try await client.run(call))
            #expect(values == (1, 3))
        }
        #expect(asked == ["a0", "a99", "a199"])
        #expect(clock.now == .ms(219))
    }

    @Test("B9: what changes something, a stream, an upload that is watched and a named server's call are not hedged")
    func unsafe() async throws {
        network.onAny { reply(after: .seconds(1)) }
        let client = client()
        try await clock.run {
            _ = try await client.run(Endpoint<Int>.post("x", body: .json(1)))
            _ = try await client.run(Endpoint<Int>.post("x", body: .json(1)).idempotencyKey(.unique))
            _ = try await client.run(Endpoint<Int>.delete("x"))
            _ = try await client.run(Endpoint<Int>(.query, "x", body: .json(1))) { _ in }
            for try await _ in try await client.stream(.get("x")).chunks {}
            #expect(network.sent.count == 5)
            // It may be sent again, but only to its server.
            _ = try await client.run(call.server("https://b.test"))
        }
        #expect(network.sent.suffix(2).allSatisfy { $0.request.url.origin.host == "b.test" })
        #expect(network.sent.count == 7)
    }

    @Test("B9, B10: a key that the servers share allows it; a 409 to the second is no response")
    func keyed() async throws {
        network.on(.post, "https://a.test/*") { reply(after: .milliseconds(300)) }
        network.on(.post, "https://b.test/*") {
            ScriptedReply.status(409)
            ScriptedReply.json("2")
        }
        let client = client { $0.servers.shareKeys = true }
        let order = Endpoint<Int>.post("x", body: .json(1)).idempotencyKey(.unique)
        try await clock.run {
            let values = (try await client.run(order), try await client.run(order))
            #expect(values == (1, 2))
        }
        #expect(asked == ["a0", "b100", "a300", "b400"])
        let keys = network.sent.map { $0.request.headers["Idempotency-Key"] }
        #expect(keys[0] == keys[1] && keys[2] == keys[3] && keys[0] != keys[2] && keys[0] != nil)
    }

    @Test("B9: it takes a permit that is there, and waits for none, and for no place")
    func permits() async throws {
        late(1)
        for client in [
            client { $0.rateLimit = .requests(1, per: .seconds(60)) }, client { $0.concurrency = .atMost(1) },
        ] {
            let before = network.sent.count
            try await clock.run { _ = try await client.run(call) }
            #expect(network.sent.count == before + 1)
        }
        // The permit that was not taken is there.
        let client = client { $0.rateLimit = .requests(2, per: .seconds(60)) }
        network.on(.get, "https://b.test/*") { reply(after: .zero) }
        try await clock.run { _ = try await client.run(call) }
        #expect(client.limiter.snapshot.available == 0)
    }

    @Test(
        "B9: the delay is what the endpoint usually takes, without interpolated values; other endpoints have their own")
    func percentile() async throws {
        network.on(.get, "https://a.test/users/*") { reply(after: .milliseconds(10)) }
        let client = client(.after(.percentile(95)))
        try await clock.run {
            for id in 0..<20 {
                network.on(.get, "https://a.test/users/\(id)") { ScriptedReply.json("1").after(.milliseconds(10)) }
                _ = try await client.run(Endpoint<Int>.get("users/\(id)"))
            }
            late()
            network.on(.get, "https://b.test/*") { reply("2", after: .zero) }
            let start = clock.now
            #expect(try await client.run(Endpoint<Int>.get("users/\(99)")) == 2)
            let delay = start.duration(to: clock.now)
            #expect(delay >= .milliseconds(10) && delay <= .milliseconds(12), "\(delay)")
            #expect(try await client.run(Endpoint<Int>.get("groups/\(99)")) == 1)
        }
    }

    @Test("B10: one failure waits for the other, and if both fail, that is one failed attempt")
    func failures() async throws {
        network.on(.get, "https://a.test/*") {
            ScriptedReply.status(503).after(.milliseconds(200))
            ScriptedReply.json("2").after(.milliseconds(200))
            ScriptedReply.status(502).after(.milliseconds(150))
        }
        network.on(.get, "https://b.test/*") {
            ScriptedReply.json("1").after(.milliseconds(300))
            ScriptedReply.failure(.reset).after(.milliseconds(50))
            ScriptedReply.status(503).after(.milliseconds(100))
        }
        let client = client { $0.retry = .never }
        try await clock.run {
            let values = (try await client.run(call), try await client.run(call))
            #expect(values == (1, 2))
            #expect(client.servers.snapshot.allSatisfy { $0.failuresInRow == 0 })
            let error = await #expect(throws: ServiceError.self) { try await client.run(call) }
            #expect(error?.rejection?.status == 502)
        }
        #expect(asked == ["a0", "b100", "a400", "b500", "a600", "b700"])
        #expect(client.servers.snapshot.map(\.failuresInRow) == [1, 1])
    }

    @Test("B9: there is no second request after a cancellation or a deadline, and nothing is left of either")
    func ends() async throws {
        network.onAny { ScriptedReply.silence.always }
        let client = client()
        try await clock.run {
            let early = Task { try await client.run(call) }
            await network.sent(atLeast: 1)
            early.cancel()
            await #expect(throws: ServiceError.cancelled) { try await early.value }
            _ = try? await client.run(call.deadline(.milliseconds(50)))
            #expect(network.sent.count == 2)
            let late = Task { try await client.run(call) }
            await network.sent(atLeast: 4)
            late.cancel()
            await #expect(throws: ServiceError.cancelled) { try await late.value }
            let error = await #expect(throws: ServiceError.self) {
                try await client.run(call.deadline(.milliseconds(150)))
            }
            guard case .timedOut(let timeout) = error else { throw try #require(error) }
            #expect(timeout.bound == .deadline)
        }
        #expect(client.servers.snapshot.allSatisfy { $0.active == 0 })
    }

    @Test("B11: ten are free, and twenty successes pay for one more; time pays for none")
    func budget() async throws {
        late(1)
        network.on(.get, "https://b.test/*") { ScriptedReply.silence.always }
        let client = client { $0.retry = .never }
        try await clock.run {
            for _ in 0..<30 {
                _ = try await client.run(call)
                try await clock.sleep(until: clock.now.advanced(by: .seconds(600)))
            }
            // Ten, and one for twenty of the thirty.
            #expect(network.sent.count == 41)
        }
    }

    @Test("B10: a status that is retried waits for the other request, and an error that is final does not")
    func retriedStatuses() async throws {
        late(1)
        network.on(.get, "https://b.test/*") {
            ScriptedReply.status(429, headers: ["Retry-After": "30"])
            ScriptedReply.status(404)
        }
        let client = client { $0.rateLimit = .unlimited }
        try await clock.run {
            let reply = try await client.reply(to: call)
            #expect(reply.value == 1 && reply.duration == .seconds(1) && reply.attempts == 1)
            try await clock.sleep(until: .ms(60_000))
            let error = await #expect(throws: ServiceError.self) { try await client.run(call) }
            #expect(error?.rejection?.status == 404 && clock.now == .ms(60_100))
        }
    }

    @Test("B2, B10: a deadline that ends both requests is no mark against the second one's server")
    func deadlineOfBoth() async throws {
        network.onAny { ScriptedReply.silence.always }
        let client = client()
        await clock.run {
            let error = await #expect(throws: ServiceError.self) {
                try await client.run(call.deadline(.milliseconds(150)))
            }
            // The first was sent, whatever the second has come to.
            #expect(error?.mayHaveReachedServer == true)
        }
        let states = client.servers.snapshot.map(\.state)
        #expect(states[0] != .inUse && states[1] == .inUse)
    }

    @Test("B3, B10: when both have failed, the next attempt has its usual pause")
    func bothFail() async throws {
        network.onAny {
            ScriptedReply.status(503).after(.milliseconds(150)).times(2)
            ScriptedReply.json("1")
        }
        let client = client { $0.retry = RetryPolicy(attempts: 2, base: .seconds(10)) }
        try await clock.run {
            let reply = try await client.reply(to: call)
            #expect(reply.attempts == 2 && reply.duration > .milliseconds(300))
        }
        #expect(network.sent.count == 3)
    }

    @Test("B10: the loser leaves no failure among the events, and a cookie of the winner is kept")
    func loser() async throws {
        network.on(.get, "https://a.test/*") {
            ScriptedReply.json("1", headers: ["Set-Cookie": "s=1; Path=/"]).after(.milliseconds(200))
            ScriptedReply.json("1")
        }
        network.on(.get, "https://b.test/*") { ScriptedReply.silence }
        let failures = Noted(0)
        let client = client {
            $0.cookies = CookieJar()
            $0.observe = { event in if case .failed = event.kind { failures.update { $0 += 1 } } }
        }
        try await clock.run {
            let values = (try await client.run(call), try await client.run(call))
            #expect(values == (1, 1))
        }
        #expect(failures.value == 0)
        #expect(network.sent.last?.request.headers["Cookie"] == "s=1")
    }

    @Test("B4, B9: a request that checks a server is not repeated")
    func trial() async throws {
        network.on(.get, "https://a.test/*") {
            ScriptedReply.failure(.refused)
            ScriptedReply.json("1").after(.seconds(1))
        }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("2") }
        let client = client { $0.servers.choice = .inOrder(returningAfter: .zero) }
        try await clock.run {
            let first = try await client.run(call)
            try await clock.sleep(until: .ms(10_000))
            let second = try await client.run(call)
            #expect(first == 2 && second == 1)
        }
        #expect(client.servers.snapshot[0].state == .inUse)
    }

    @Test("B6, B10: with attempt middleware too, what was stored is stored, and what a middleware answers is not")
    func storedWithMiddleware() async throws {
        struct Own: Middleware {
            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                guard request.url.origin.host == "b.test", request.url.path == "/own" else {
                    return try await next(request, context)
                }
                return HTTPResponse(
                    status: 200, headers: ["Cache-Control": "max-age=600"], body: .bytes(.init("7".utf8)))
            }
        }
        late()
        let headers: HTTPHeaders = ["Cache-Control": "max-age=600"]
        network.on(.get, "https://b.test/x") { ScriptedReply.json("2", headers: headers) }
        let client = client {
            $0.cache = .memory(megabytes: 1)
            $0.attemptMiddlewares = [Own()]
        }
        let own = Endpoint<Int>.get("own")
        try await clock.run {
            var values = [try await client.run(call), try await client.run(call)]
            for _ in 0..<2 { values.append(try await client.run(own)) }
            #expect(values == [2, 2, 7, 7])
        }
        #expect(network.sent.map(\.request.url.path) == ["/x", "/x", "/own", "/own"])
    }

    @Test("B6, B10: what the second request has brought is stored like any other response")
    func stored() async throws {
        late()
        let headers: HTTPHeaders = ["Cache-Control": "max-age=600"]
        network.on(.get, "https://b.test/*") { ScriptedReply.json("2", headers: headers) }
        let client = client { $0.cache = .memory(megabytes: 1) }
        try await clock.run {
            for _ in 0..<3 {
                let value = try await client.run(call)
                #expect(value == 2)
            }
        }
        #expect(asked == ["a0", "b100"])
    }

    @Test("B10: calls that share a request share its second one")
    func shared() async throws {
        late()
        network.on(.get, "https://b.test/*") { ScriptedReply.json("2") }
        let client = client { $0.sharesEqualRequests = true }
        try await clock.run {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<5 { group.addTask { try await client.run(call) } }
                for try await value in group { #expect(value == 2) }
            }
        }
        #expect(asked == ["a0", "b100"])
    }
}
