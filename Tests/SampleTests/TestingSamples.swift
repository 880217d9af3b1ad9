import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// What an app would test: a service that is given its client.
struct FriendList {
    var client: APIClient

    func names(of id: User.ID) async throws(ServiceError) -> [String] {
        try await client.run(.friends(of: id)).map(\.name)
    }
}

@Suite("Testing", .timeLimit(.minutes(10)))
struct TestingSamples {
    @Test("names are read in the server's order")
    func names() async throws {
        let network = ScriptedTransport()
        network.on(.get, "/users/7/friends?sort=name") {
            .json(#"{"users": [{"id": 1, "name": "Ann"}, {"id": 2, "name": "Bo"}]}"#)
        }
        let list = FriendList(client: APIClient("https://api.test") { $0.transport = network })
        #expect(try await list.names(of: 7) == ["Ann", "Bo"])
        #expect(network.sent.count == 1)
    }

    @Test("a server that fails, and goes on failing when calls are repeated")
    func failing() async throws {
        let network = scripted()
        let clock = TestClock()
        network.on(.get, "/friends", .status(500).always)
        let error = await #expect(throws: ServiceError.self) {
            try await clock.run { try await testClient(network, clock).run(.friends) }
        }
        #expect(error?.status == 500)
        #expect(network.sent.count == 3)
    }

    @Test("a script with headers and a body")
    func expectations() async throws {
        let network = scripted()
        network.on(
            .post, "/friends", headers: ["Accept-Language": "de"], body: .json(["name": "Ann", "age": 4]),
            .status(201))
        let body = RequestBody.json(["age": 4, "name": "Ann"])
        try await testClient(network).run(.post("friends", body: body).header("Accept-Language", "de"))
    }

    @Test("a script of many kinds")
    func script() async throws {
        let network = scripted()
        network.on(
            .get, "/friends",
            .failure(.refused),  // a failure of the network
            .status(503, headers: ["Retry-After": "2"]),
            .encoding([User(id: 1, name: "Ann")]).after(.milliseconds(80)))
        network.on(.post, "/friends") { request in
            request.headers["Idempotency-Key"] == nil ? .status(400) : .status(204).after(.seconds(1))
        }
        let clock = TestClock()
        let client = testClient(network, clock)
        let attempts = try await clock.run { try await client.reply(to: .friends).attempts }
        #expect(attempts == 3)
        try network.verify()
    }

    @Test("a script with a loop, and one with conditions")
    func builder() async throws {
        let network = scripted()
        network.on(.get, "/friends") {
            for _ in 0..<2 { ScriptedReply.status(503) }
            ScriptedReply.json("[]")
        }
        let isSlow = true
        network.on(.get, "/friends") {
            ScriptedReply.failure(.refused)
            if isSlow { ScriptedReply.status(503) }
            ScriptedReply.json("[]")
        }
        let clock = TestClock()
        let client = testClient(network, clock)
        let attempts = try await clock.run {
            try await [client.reply(to: .friends).attempts, client.reply(to: .friends).attempts]
        }
        #expect(attempts == [3, 3])
    }

    @Test("streams, events and slow bodies")
    func streams() async throws {
        let network = scripted()
        network.on(.get, "/log", .chunks([Data("one\n".utf8), Data("two\n".utf8)], every: .seconds(1)))
        network.on(
            .get, "/feed",
            .events([ServerSentEvent("a", id: "1")], retry: .seconds(2)).thenFailure(.reset),
            .events([ServerSentEvent("b")]).thenSilence)
        network.on(.get, "/slow", .json(#"["Ann"]"#).inPieces(of: 2, every: .seconds(5)))
        let clock = TestClock()
        let client = testClient(network, clock)
        try await clock.run {
            var (lines, events): ([String], [String]) = ([], [])
            for try await line in try await client.stream(.get("log")).lines { lines.append(line) }
            #expect(lines == ["one", "two"])
            for try await event in client.events(.get("feed")) {
                events.append(event.data)
                if event.data == "b" { break }
            }
            #expect(events == ["a", "b"])
            #expect(try await client.run(Endpoint<[String]>.get("slow")) == ["Ann"])
        }
        #expect(clock.elapsed >= .seconds(2 + 2 + 20))
    }

    @Test("offline, nothing is sent")
    func offline() async {
        let network = scripted()
        let client = testClient(network) { $0.connectivity = Connectivity { false } }
        await #expect(throws: ServiceError.noInternetConnection) {
            try await client.run(.friends)
        }
        #expect(network.sent.isEmpty)
    }

    @Test("time by hand")
    func byHand() async throws {
        let clock = TestClock()
        let network = scripted()
        network.on(.get, "/friends") { .silence }
        let client = testClient(network, clock) { $0.retry = .never }
        let call = Task { try await client.run(.friends) }
        await network.sent(atLeast: 1)
        await clock.advance(by: .seconds(30))  // the timeout
        let outcome = await call.result
        let timeout = Timeout(.attempt, limit: .seconds(30), phase: .waitingForResponse)
        #expect(throws: ServiceError.timedOut(timeout)) { try outcome.get() }
    }

    @Test("twenty calls keep to five per second, in any order", arguments: UInt64(0)..<20)
    func autopilot(seed: UInt64) async throws {
        let clock = TestClock(seed: seed)
        let network = ScriptedTransport()
        network.on(.get, "/friends") { ScriptedReply.json("[]").times(20) }
        let client = APIClient("https://api.test") {
            $0.transport = network
            $0.time = clock
            $0.rateLimit = .requests(5, per: .seconds(1))
        }
        try await clock.run {
            try await withThrowingTaskGroup(of: [User].self) { calls in
                for _ in 0..<20 { calls.addTask { try await client.run(.friends) } }
                try await calls.waitForAll()
            }
        }
        #expect(clock.elapsed == .seconds(3))
        #expect(network.sent.prefix(5).allSatisfy { $0.at == .zero })
    }

    #if os(Linux)
    @Test("a real server answers, and breaks off where the script says")
    func loopback() async throws {
        let server = try LoopbackServer()
        server.on(.get, "/friends") { _ in .json(#"["Ann"]"#) }
        server.on(.get, "/half") { _ in
            .raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n[\"An")
        }
        let client = APIClient(server.baseURL)
        #expect(try await client.run(Endpoint<[String]>.get("friends")) == ["Ann"])
        await #expect(throws: ServiceError.self) { try await client.run(Endpoint<[String]>.get("half").retry(.never)) }
    }

    @Test("a silent server is a timeout")
    func silence() async throws {
        let server = try LoopbackServer()
        server.on(.get, "/friends") { _ in .json(#"["Ann"]"#) }
        server.on(.get, "/slow") { _ in .silence }
        let client = APIClient(server.baseURL)
        await #expect(throws: ServiceError.self) {
            try await client.run(Endpoint<[String]>.get("slow").retry(.never).timeout(.milliseconds(50)))
        }
    }

    @Test("a large file comes as a stream")
    func stream() async throws {
        let loopback = try LoopbackServer()
        loopback.on(.get, "/film") { _ in .status(200, body: Data(count: 3 << 20)) }
        let (server, transport) = (loopback.baseURL, CurlTransport())
        var shown: (received: Int, total: Int?) = (0, nil)
        func show(_ received: Int, of total: Int?) { shown = (received, total) }
        let file = HTTPRequest(method: .get, url: try HTTPURL("\(server)/film"))
        let response = try await transport.send(
            file, context: TransportContext(delivery: .stream, bodyLimit: 4 << 30))
        var received = 0
        for try await chunk in response.body.chunks {
            received += chunk.count
            show(received, of: response.body.length)
        }
        #expect(shown.received == 3 << 20 && shown.total == 3 << 20)
    }

    @Test("HTTP/3 can be turned on")
    func curlHTTP3() {
        var options = CurlTransport.Options()
        options.http3 = .whenAnnounced
        #expect(CurlTransport.Options().http3 == .never && options.http3 == .whenAnnounced)
    }
    #endif
}

/// The function that the article has; the other tests use one that they share.
private struct OwnClient {
    func testClient(
        _ network: any Transport, _ clock: TestClock = TestClock(),
        _ configure: (inout Configuration) -> Void = { _ in }
    ) -> APIClient {
        var configuration = Configuration(ServerEnvironment(name: "test", baseURL: "https://api.test"))
        configuration.transport = network
        configuration.time = clock
        configuration.rateLimit = .unlimited
        configure(&configuration)
        return APIClient(configuration)
    }
}
