import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

/// The servers of a client in virtual time: `a.test`, `b.test` and `c.test`.
@Suite("Several servers", .timeLimit(.minutes(10))) struct ServersTests {
    private let clock = TestClock()
    private let network = scripted()
    private let call = Endpoint<Int>.get("x")
    private let a = "https://a.test/v1"
    private let b = "https://b.test"

    private func client(
        _ environment: ServerEnvironment? = nil, _ configure: (inout Configuration) -> Void = { _ in }
    ) -> APIClient {
        testClient(network, clock) {
            $0.environment = environment ?? .servers(a, b)
            configure(&$0)
        }
    }

    /// The hosts that were asked.
    private var hosts: [String] { network.sent.map { String($0.request.url.origin.host.prefix(1)) } }

    private func failure(of call: Endpoint<Int>, _ client: APIClient) async throws -> ServiceError {
        try await #require(throws: ServiceError.self) { try await client.run(call) }
    }

    private func run(_ count: Int, _ client: APIClient, every pause: Duration = .zero) async throws {
        for _ in 0..<count {
            _ = try await client.run(call)
            if pause > .zero { try await clock.sleep(until: clock.now.advanced(by: pause)) }
        }
    }

    @Test(
        "B1: what speaks against a server, and what does not",
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

    @Test("B1: a deadline that ends a send speaks against the server; one that ends a wait, and a cancellation, do not")
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

    @Test("B3: the next attempt goes to the next server at once, costs no quota, and counts as an attempt")
    func failover() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused).always }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
        let client = client { $0.servers.choice = .inOrder(returningAfter: .zero) }
        try await clock.run {
            let reply = try await client.reply(to: call)
            #expect(reply.attempts == 2 && reply.duration == .zero)
            // One attempt is all that this call has.
            try await clock.sleep(until: .ms(15_000))
            #expect(try await client.reply(to: call.retry(.never)).attempts == 1)
        }
        #expect(hosts == ["a", "b", "b"])
        #expect(network.sent.map(\.request.url.path) == ["/v1/x", "/x", "/x"])
    }

    @Test("B3: far more calls go on than the quota of retries would pay for")
    func quota() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.status(502).after(.milliseconds(5)).always }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
        let client = client()
        try await clock.run {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<200 { group.addTask { try await client.run(call) } }
                try await group.waitForAll()
            }
        }
        #expect(hosts.count { $0 == "a" } == 200)
    }

    @Test("B3: an unsafe request goes to another server only if it was certainly not sent")
    func unsafe() async throws {
        network.on(.post, "https://a.test/*") {
            ScriptedReply.failure(.refused)
            ScriptedReply.failure(.reset)
        }
        network.on(.post, "https://b.test/*") { ScriptedReply.json("1") }
        let client = client { $0.servers.choice = .inOrder(returningAfter: .zero) }
        try await clock.run {
            #expect(try await client.run(Endpoint<Int>.post("x")) == 1)
            try await clock.sleep(until: .ms(20_000))
            // The first is tried again only by what can be repeated.
            network.on(.get, "https://a.test/*") { ScriptedReply.json("1") }
            try await run(1, client)
            let error = try await failure(of: .post("x"), client)
            #expect(error.mayHaveReachedServer)
        }
        #expect(hosts == ["a", "b", "a", "a"])
    }

    @Test("B3: a key that the servers do not share keeps the request at its server", arguments: [false, true])
    func keys(areShared: Bool) async throws {
        network.on(.post, "https://a.test/*") { ScriptedReply.failure(.reset).times(areShared ? 1 : 2) }
        network.on(.post, "https://a.test/*") { ScriptedReply.json("1").always }
        network.on(.post, "https://b.test/*") { ScriptedReply.json("2").always }
        let client = client { $0.servers.shareKeys = areShared }
        try await clock.run {
            let value = try await client.run(Endpoint<Int>.post("x").idempotencyKey(.unique))
            #expect(value == (areShared ? 2 : 1))
        }
        #expect(hosts == (areShared ? ["a", "b"] : ["a", "a", "a"]))
    }

    @Test("B3: what a server may have received stays there, also if the client's first one is back")
    func bound() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused) }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
        network.on(.post, "https://b.test/*") {
            ScriptedReply.failure(.reset).times(2)
            ScriptedReply.json("2")
        }
        network.on(.put, "https://b.test/*") {
            ScriptedReply.failure(.reset)
            ScriptedReply.json("3")
        }
        let client = client()
        try await clock.run {
            try await run(1, client)
            #expect(try await client.run(Endpoint<Int>.post("x").idempotencyKey(.unique)) == 2)
            #expect(try await client.run(Endpoint<Int>.put("x")) == 3)
        }
        #expect(hosts == ["a", "b", "b", "b", "b", "b", "b"])
    }

    @Test("B3: after a server has failed, a failure of another kind is not repeated")
    func stale() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused) }
        let retries = Noted(0)
        let client = client { [network] in
            $0.connectivity = Connectivity { network.sent.isEmpty }
            $0.observe = { event in if case .retrying = event.kind { retries.update { $0 += 1 } } }
        }
        try await clock.run {
            let error = try await failure(of: call, client)
            #expect(error == .noInternetConnection && retries.value == 1)
        }
    }

    @Test("B4: a client whose calls all change something returns as well, after twice the time")
    func unsafeOnly() async throws {
        network.on(.post, "https://a.test/*") {
            ScriptedReply.failure(.refused)
            ScriptedReply.json("1").always
        }
        network.on(.post, "https://b.test/*") { ScriptedReply.json("2").always }
        let client = client()
        try await clock.run {
            var values: [Int] = []
            for second in 0..<14 {
                try await clock.sleep(until: .ms(Int64(second) * 10_000))
                values.append(try await client.run(Endpoint<Int>.post("x")))
            }
            #expect(values == Array(repeating: 2, count: 12) + [1, 1])
        }
    }

    @Test("B4: one request tries the first server after a while, and the others follow when it has answered")
    func wayBack() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused) }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
        let client = client { $0.servers.choice = .inOrder(returningAfter: .seconds(60)) }
        try await clock.run {
            try await run(6, client, every: .seconds(10))
            #expect(hosts == ["a", "b", "b", "b", "b", "b", "b"])
            #expect(clock.now == .ms(60_000))
            network.on(.get, "https://a.test/*") { ScriptedReply.json("1").after(.seconds(1)).always }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 { group.addTask { try await client.run(call) } }
                try await group.waitForAll()
            }
            #expect(hosts.count { $0 == "a" } == 2)
            try await run(3, client)
        }
        #expect(hosts.suffix(3) == ["a", "a", "a"])
    }

    @Test(
        "B4: a try that fails costs its call nothing but an attempt; a try that is canceled leaves it to the next call")
    func tries() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused).times(2) }
        network.on(.get, "https://a.test/*") { ScriptedReply.silence }
        network.on(.get, "https://a.test/*") { ScriptedReply.json("7") }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
        let client = client { $0.servers.choice = .inOrder(returningAfter: .zero) }
        try await clock.run {
            try await run(1, client)
            try await clock.sleep(until: .ms(10_000))
            #expect(try await client.reply(to: call).attempts == 2)
            // The second pause is twice as long.
            try await clock.sleep(until: .ms(20_000))
            try await run(1, client)
            #expect(hosts == ["a", "b", "a", "b", "b"])
            try await clock.sleep(until: .ms(30_000))
            let task = Task { try await client.run(call) }
            await network.sent(atLeast: 6)
            #expect(client.servers.snapshot[0].state == .tried)
            task.cancel()
            _ = try? await task.value
            #expect(try await client.run(call) == 7)
        }
    }

    @Test("B5: a server that is not encrypted, or named twice, is refused before anything is sent")
    func badLists() async throws {
        let lists: [(ServerEnvironment, String)] = [
            (.servers(a, "http://b.test"), "encrypted"), (.servers(a, "https://a.test/v2"), "already"),
            (.servers(a, "https://b.test?x=1"), "query"), (.servers(a, "b.test"), "scheme"),
            (ServerEnvironment(name: "many", baseURL: a, otherBaseURLs: (0..<64).map { "https://s\($0).test" }), "64"),
        ]
        for (list, word) in lists {
            let error = try await failure(of: call, client(list))
            #expect("\(error)".contains(word), "\(error)")
            guard case .invalidRequest = error else { throw error }
        }
        #expect(network.sent.isEmpty)
    }

    @Test("B5: each server gets the credentials, and a redirect between them keeps them; another host gets none")
    func credentials() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.redirect(to: "https://b.test/y") }
        network.on(.get, "https://b.test/y") { ScriptedReply.redirect(to: "https://c.test/z") }
        network.on(.get, "https://c.test/z") { ScriptedReply.json("1") }
        let client = client {
            $0.credentials = .apiKey("X-Api-Key", "k")
        }
        try await clock.run { try await run(1, client) }
        #expect(hosts == ["a", "b", "c"])
        #expect(network.sent.map { $0.request.headers["X-Api-Key"] } == ["k", "k", nil])
    }

    @Test("B6: a stored response belongs to the client's URL, whichever server has sent it; the reply says which")
    func cache() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=600"]
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused) }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1", headers: headers) }
        let client = client { $0.cache = .memory(megabytes: 1) }
        try await clock.run {
            let reply = try await client.reply(to: call)
            #expect(reply.url.absoluteString == "https://b.test/x")
            try await clock.sleep(until: .ms(100_000))
            #expect(try await client.run(call) == 1)
            // Calls that name a server have responses of their own.
            network.on(.get, "https://a.test/*") { ScriptedReply.json("2", headers: headers) }
            network.on(.get, "https://b.test/*") { ScriptedReply.json("3", headers: headers) }
            for _ in 0..<2 {
                #expect(try await client.run(call.server(a)) == 2)
                #expect(try await client.run(call.server(b)) == 3)
            }
            #expect(try await client.run(call) == 1)
        }
        #expect(hosts == ["a", "b", "a", "b"])
    }

    @Test("B6: a redirect is resolved where it came from, and stays there")
    func redirects() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused) }
        network.on(.get, "https://b.test/x") { ScriptedReply.redirect(to: "/moved/y") }
        network.on(.get, "https://b.test/moved/y") { ScriptedReply.json("1") }
        let client = client()
        let reply = try await client.reply(to: call)
        #expect(reply.url.absoluteString == "https://b.test/moved/y")
    }

    @Test("B6: the next page of a list may come from another server; any other URL stays")
    func pages() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused) }
        network.on(.get, "https://b.test/list") {
            ScriptedReply.json("[1]", headers: ["Link": "<https://b.test/list?page=2>; rel=next"])
        }
        network.on(.get, "https://a.test/v1/list?page=2") { ScriptedReply.json("[2]").times(2) }
        let client = client { $0.servers.choice = .inOrder(returningAfter: .zero) }
        try await clock.run {
            var found: [Int] = []
            let list = Endpoint<[Int]>.get("list")
            for try await item in client.items(of: list, by: .link) {
                found.append(item)
                // By now the first server is back.
                if found == [1] { try await clock.sleep(until: .ms(10_000)) }
            }
            #expect(found == [1, 2])
            // Any other URL goes to the server that it names.
            network.on(.get, "https://b.test/list?page=2") { ScriptedReply.json("[3]") }
            let link = Endpoint<[Int]>.get(url: "https://b.test/list?page=2")
            #expect(try await client.run(link) == [3])
            #expect(try await client.run(link.server(a)) == [2])
        }
        #expect(hosts == ["a", "b", "a", "b", "a"])
    }

    @Test("B5, B6: the cookies of each server go to that one, and a response is stored with those that were sent")
    func cookies() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=600"]
        network.on(.get, "https://a.test/v1/in") { ScriptedReply.status(204, headers: ["Set-Cookie": "s=a; Path=/"]) }
        network.on(.get, "https://b.test/in") { ScriptedReply.status(204, headers: ["Set-Cookie": "s=b; Path=/"]) }
        network.on(.get, "https://a.test/v1/x") { ScriptedReply.failure(.refused) }
        network.on(.get, "https://b.test/x") { ScriptedReply.json("1", headers: headers) }
        network.on(.get, "https://b.test/x") { ScriptedReply.json("2", headers: headers) }
        let client = client {
            $0.cookies = CookieJar()
            $0.cache = .memory(megabytes: 1)
        }
        try await clock.run {
            try await client.run(.get("in").server(a))
            try await client.run(.get("in").server(b))
            try await run(2, client)
            #expect(network.sent.map { $0.request.headers["Cookie"] } == [nil, nil, "s=a", "s=b"])
            // Another user of the second server gets another response.
            network.on(.get, "https://b.test/in") { ScriptedReply.status(204, headers: ["Set-Cookie": "s=c; Path=/"]) }
            try await client.run(.get("in").server(b).cache(.reload))
            #expect(try await client.run(call) == 2)
        }
        #expect(network.sent.last?.request.headers["Cookie"] == "s=c")
    }

    @Test("B6: a redirect from one server to another is no loop, and goes there; one that is stored leads to any")
    func leaders() async throws {
        let moved: HTTPHeaders = ["Location": "/v1/y", "Cache-Control": "max-age=600"]
        network.on(.get, "https://a.test/v1/x") { ScriptedReply.status(301, headers: moved) }
        network.on(.get, "https://a.test/v1/y") {
            ScriptedReply.json("1")
            ScriptedReply.failure(.refused)
        }
        network.on(.get, "https://b.test/y") { ScriptedReply.json("2") }
        network.on(.get, "https://b.test/z") { ScriptedReply.redirect(307, to: "https://a.test/v1/z") }
        network.on(.get, "https://a.test/v1/z") { ScriptedReply.json("3").times(2) }
        let client = client { $0.cache = .memory(megabytes: 1) }
        try await clock.run {
            try await run(1, client)
            #expect(try await client.run(call) == 2)
            let leader = Endpoint<Int>.get("z")
            for _ in 0..<2 { #expect(try await client.run(leader) == 3) }
        }
        let urls = network.sent.map { "\($0.request.url.origin.host.prefix(1))\($0.request.url.path)" }
        #expect(urls == ["a/v1/x", "a/v1/y", "a/v1/y", "b/y", "b/z", "a/v1/z", "a/v1/z"])
    }

    @Test("B6: a call that names its server stays there; one that is not in the list is refused")
    func named() async throws {
        network.on(.get, "https://b.test/x") { ScriptedReply.failure(.refused).always }
        let client = client()
        try await clock.run {
            _ = try await failure(of: call.server(b), client)
            #expect(hosts == ["b", "b", "b"])
            let error = try await failure(of: call.server("https://c.test"), client)
            guard case .invalidRequest(let invalid) = error else { throw error }
            #expect("\(invalid)".contains("https://c.test"))
            // A redirect within the server stays there.
            network.on(.get, "https://b.test/photos/7") { ScriptedReply.redirect(to: "/photos/7/") }
            network.on(.get, "https://b.test/photos/7/") { ScriptedReply.json("1").times(2) }
            #expect(try await client.run(Endpoint<Int>.get("photos/7").server(b)) == 1)
            network.on(.get, "https://b.test/photos/8") { ScriptedReply.redirect(to: "/photos/7/") }
            #expect(try await client.run(Endpoint<Int>.get(url: "https://b.test/photos/8")) == 1)
            #expect(hosts.allSatisfy { $0 == "b" })
            let sent = network.sent.count
            // Neither does a page or a link lead it elsewhere.
            let link = Endpoint<Int>.get(url: "https://a.test/elsewhere").server(b)
            guard case .invalidRequest = try await failure(of: link, client) else { throw error }
            #expect(network.sent.count == sent)
        }
    }

    @Test("B7: the pauses grow from ten seconds to five minutes, and begin anew after five good minutes")
    func pauses() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused).always }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
        let events = EventLog()
        let client = client {
            $0.servers.choice = .inOrder(returningAfter: .zero)
            $0.observe = events.note
        }
        try await clock.run {
            while events.aside.count < 40 { try await run(1, client, every: .seconds(10)) }
        }
        for (index, pause) in events.aside.enumerated() {
            let longest = Duration.seconds(min(10 * (index + 1), 300))
            #expect(pause <= longest && pause >= longest * 0.9)
        }
        #expect(Set(events.aside.suffix(10)).count > 5)
    }

    @Test("B7: the last server is not set aside, unless it fails twenty times in a row; then calls fail at once")
    func last() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused).always }
        network.on(.get, "https://b.test/*") { ScriptedReply.status(503).always }
        let client = client()
        let once = call.retry(.never)
        try await clock.run {
            // What can be sent once may still try the first.
            for _ in 0..<21 { _ = try await failure(of: once, client) }
            #expect(hosts == ["a"] + Array(repeating: "b", count: 20))
            let error = try await failure(of: once, client)
            guard case .transport(let failure) = error else { throw error }
            #expect(failure.kind == .circuitOpen && !failure.mayHaveReachedServer)
            #expect(network.sent.count == 21)
            // In the end the first is tried again.
            let wait = try #require(error.retryAfter)
            #expect(wait > .seconds(8) && wait <= .seconds(10))
            try await clock.sleep(until: clock.now.advanced(by: wait))
            network.on(.get, "https://a.test/*") { ScriptedReply.json("1").always }
            _ = try? await client.run(once)
            #expect(network.sent.count == 22)
        }
    }

    @Test("B8: an open breaker fails calls at once and without a permit; then one tries, and the others follow")
    func breaker() async throws {
        network.onAny { ScriptedReply.status(503).times(20) }
        let client = client(ServerEnvironment(name: "one", baseURL: a)) {
            $0.breaker = .standard
            $0.retry = .never
            $0.rateLimit = .requests(20, per: .seconds(1))
        }
        try await clock.run {
            for _ in 0..<20 { _ = try await failure(of: call, client) }
            for _ in 0..<100 {
                let error = try await failure(of: call.retry(.standard), client)
                guard case .transport(let failure) = error else { throw error }
                #expect(failure.kind == .circuitOpen && !error.mayHaveReachedServer && error.isTransient)
                #expect(error.retryAfter == failure.retryAfter && failure.retryAfter != nil)
            }
            #expect(clock.now == .zero && network.sent.count == 20)
            let sentence = try await failure(of: call, client).localizedDescription(in: "en")
            #expect(sentence.hasPrefix("The service is not available at the moment."))
            network.onAny { ScriptedReply.json("1").after(.seconds(1)).always }
            try await clock.sleep(until: .ms(10_000))
            async let trial = client.run(call)
            try await clock.sleep(until: .ms(10_001))
            _ = try await failure(of: call, client)
            #expect(try await trial == 1)
            try await run(3, client)
        }
        #expect(network.sent.count == 24)
    }

    @Test("B8: a stored response that may be used after an error, and another server, are used while a breaker is open")
    func standIns() async throws {
        let stored: HTTPHeaders = ["Cache-Control": "max-age=1, stale-if-error=600"]
        network.on(.get, "https://a.test/*") {
            ScriptedReply.json("1", headers: stored)
            ScriptedReply.status(502).times(3)
        }
        let breaker = CircuitBreaker.opening(at: 0.5, ofAtLeast: 4, within: .seconds(60), for: .seconds(10))
        let single = client(ServerEnvironment(name: "one", baseURL: a)) {
            $0.breaker = breaker
            $0.retry = .never
            $0.cache = .memory(megabytes: 1)
        }
        try await clock.run {
            try await run(1, single)
            try await clock.sleep(until: .ms(5000))
            for _ in 0..<3 { _ = try? await single.run(Endpoint<Int>.get("y")) }
            let isOpen = if case .open = single.servers.snapshot[0].state { true } else { false }
            #expect(isOpen)
            try await run(1, single)
            #expect(network.sent.count == 4)
            network.on(.get, "https://a.test/*") { ScriptedReply.status(502).always }
            network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
            let pair = client {
                $0.breaker = breaker
                $0.servers.choice = .roundRobin
            }
            try await run(12, pair)
            #expect(pair.servers.snapshot[1].state == .inUse && pair.servers.snapshot[0].state != .inUse)
        }
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

    @Test("B4: calls that wait for permits when their server fails go to the next one")
    func waiting() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.silence }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
        let client = client {
            $0.servers.choice = .inOrder(returningAfter: .seconds(600))
            $0.rateLimit = .requests(1, per: .seconds(10))
            $0.timeout = .seconds(5)
        }
        try await clock.run {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<10 { group.addTask { try await client.run(call) } }
                try await group.waitForAll()
            }
        }
        #expect(hosts == ["a"] + Array(repeating: "b", count: 10))
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

    @Test(
        "B4: the least busy server is asked, and one after the other", arguments: [ServerChoice.leastBusy, .roundRobin])
    func parted(choice: ServerChoice) async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.json("1").after(.seconds(1)).always }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").after(.seconds(9)).always }
        let client = client { $0.servers.choice = choice }
        try await clock.run {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<9 {
                    group.addTask { try await client.run(call) }
                    try await clock.sleep(until: .ms(Int64(number) * 1100 + 1100))
                }
                try await group.waitForAll()
            }
        }
        #expect(hosts.count { $0 == "a" } == (choice == .roundRobin ? 5 : 8))
    }
}

/// The events of a client.
private final class EventLog: Sendable {
    private let events = Noted<[ClientEvent]>([])

    func note(_ event: ClientEvent) { events.update { $0.append(event) } }

    /// How long servers were set aside.
    var aside: [Duration] {
        events.value.compactMap { event in
            if case .serverSetAside(_, let pause) = event.kind { pause } else { nil }
        }
    }

    var lines: [String] { events.value.map { LogFormatter().line(for: $0) } }
}
