#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Networks that drop HTTP/3, and servers that fail at it.
@Suite(
    "HTTP/3 that fails, through libcurl", .enabled(if: HTTP3Server.isAvailable, HTTP3Server.isMissing),
    .timeLimit(.minutes(10)))
struct CurlHTTP3FaultTests {
    private let authority: TestAuthority

    init() async throws {
        authority = try await TestAuthority()
    }

    private func client(
        _ server: HTTP3Server, _ http3: CurlTransport.Options.HTTP3 = .whenAnnounced, retry: RetryPolicy = .never
    ) -> APIClient {
        APIClient(server.url) {
            $0.transport = authority.transport { $0.http3 = http3 }
            $0.rateLimit = .unlimited
            $0.retry = retry
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
        }
    }

    /// Starts a server that announces HTTP/3 with each response.
    private func server(_ datagrams: HTTP3Server.Datagrams = .taken) async throws -> HTTP3Server {
        let server = try await HTTP3Server(authority, datagrams: datagrams)
        server.backend.on(.get, "/x", .json("1", headers: server.announcement).always)
        server.backend.on(.post, "/x", .json("1", headers: server.announcement).always)
        return server
    }

    private func version(_ client: APIClient, _ method: HTTPMethod = .get) async throws -> String? {
        let endpoint: Endpoint<Int> = method == .get ? .get("x") : .post("x")
        return try await client.reply(to: endpoint).timings?.httpVersion
    }

    private func failure<Value>(_ endpoint: Endpoint<Value>, _ client: APIClient) async throws -> ServiceError {
        try #require(await #expect(throws: ServiceError.self) { try await client.run(endpoint) })
    }

    @Test(
        "C11, C44, C96: where UDP is refused or dropped, calls go over TCP, and a POST is sent once",
        arguments: [HTTP3Server.Datagrams.absent, .mute], [HTTPMethod.get, .post])
    func fallback(datagrams: HTTP3Server.Datagrams, method: HTTPMethod) async throws {
        let server = try await server(datagrams)
        let client = client(server)
        for _ in 0..<4 { #expect(try await version(client, method) == "1.1") }
        let assuming = self.client(server, .assumed)
        for _ in 0..<4 { #expect(try await version(assuming, method) == "1.1") }
        #expect(server.backend.received.count == 8)
        // The one that tried HTTP/3 made a connection of its own, and the next ones tried nothing.
        #expect(server.backend.connections <= 3)
    }

    @Test(
        "C11, C44, C96: where UDP falls silent, each call times out, and the next ones go over TCP, all at once",
        arguments: [1, 12])
    func silence(calls: Int) async throws {
        let server = try await server()
        let client = client(server)
        #expect(try await version(client) == "1.1")
        #expect(try await version(client) == "3")
        try await server.tell(.mute)
        // In that time they all have to begin, which is easy on a busy machine too.
        let endpoint = Endpoint<Int>.get("x").timeout(.seconds(10))
        let isTimedOut = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<calls {
                group.addTask {
                    let outcome = await Result(of: { () async throws(ServiceError) in try await client.run(endpoint) })
                    return if case .timedOut = outcome.failure { true } else { false }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(isTimedOut == Array(repeating: true, count: calls))
        // The server speaks HTTP/1.1 over TCP: none of these may wait for the connection of another. No response is
        // sent before all requests have arrived.
        let (arrived, gate) = (Noted(0), DispatchSemaphore(value: 0))
        server.backend.on(.get, "/together") { _ in
            arrived.update { count in
                count += 1
                if count == calls { for _ in 0..<calls { gate.signal() } }
            }
            gate.wait()
            return .json("1")
        }
        let versions = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<calls {
                group.addTask { try await client.reply(to: Endpoint<Int>.get("together")).timings?.httpVersion }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(versions == Array(repeating: "1.1", count: calls))
        // The others lost nothing on the way.
        try await server.tell(.speak)
        #expect(try await version(client) == "1.1")
        #expect(server.backend.received.count == calls + 3)
    }

    @Test("C11, C44, C96: a client retries over TCP what UDP has lost")
    func silentAttempt() async throws {
        let server = try await server()
        let client = client(server, retry: .standard)
        for _ in 0..<2 { _ = try await version(client) }
        try await server.tell(.mute)
        let reply = try await client.reply(to: Endpoint<Int>.get("x").timeout(.seconds(10)))
        #expect(reply.attempts == 2)
        #expect(reply.timings?.httpVersion == "1.1")
        #expect(server.backend.received.count == 3)
    }

    @Test("C44, C96: a connection on which nothing comes after a head takes no more calls after the timeout")
    func silenceAfterHead() async throws {
        let server = try await server()
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123"
        server.backend.on(.get, "/half", .raw(head, then: .silence).always)
        let client = client(server)
        #expect(try await version(client) == "1.1")
        #expect(try await version(client) == "3")
        // The head has to come in the first half of this, on a busy machine too.
        let error = try await failure(Endpoint<Int>.get("half").timeout(.seconds(10)), client)
        guard case .timedOut = error else { throw error }
        try await server.tell(.mute)
        #expect(try await version(client) == "1.1")
    }

    @Test("C11, C44, C96: a POST that UDP has lost is not sent again, and the next one goes over TCP")
    func silentPost() async throws {
        let server = try await server()
        let client = client(server, retry: .standard)
        for _ in 0..<2 { _ = try await version(client) }
        try await server.tell(.mute)
        let error = try await failure(Endpoint<Int>.post("x").timeout(.seconds(5)), client)
        guard case .timedOut(let timeout) = error else { throw error }
        #expect(timeout.mayHaveReachedServer)
        #expect(try await version(client, .post) == "1.1")
        #expect(server.backend.received.count { $0.method == .post } == 1)
    }

    @Test("C41, C44, C96: where the server has closed the connection meanwhile, the next call makes another")
    func closedMeanwhile() async throws {
        let server = try await server()
        let client = client(server)
        for _ in 0..<2 { _ = try await version(client, .post) }
        for round in 1...3 {
            try await server.tell(.leave)
            #expect(try await version(client, .post) == "3")
            #expect(server.connections.count == round + 1)
        }
        #expect(server.backend.received.count == 5)
    }

    @Test("C41, C44: then a body is sent whole, whether it has to be retried or not", arguments: [false, true])
    func bodyMeanwhile(isStreamed: Bool) async throws {
        let server = try await server()
        let headers = server.announcement
        server.backend.on(.put, "/x") { .status(200, headers: headers, body: Data("\($0.body.count)".utf8)) }
        let client = client(server, retry: .standard)
        let content = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        let body: RequestBody =
            isStreamed
            ? .stream(
                contentType: "text/plain",
                opening: {
                    AsyncStream { continuation in
                        for start in stride(from: 0, to: content.count, by: 10_000) {
                            continuation.yield(content[start..<start + 10_000])
                        }
                        continuation.finish()
                    }
                }) : .data(content, contentType: "text/plain")
        let endpoint = Endpoint<Int>.put("x", body: body)
        for _ in 0..<2 { #expect(try await client.run(endpoint) == content.count) }
        for _ in 0..<3 {
            try await server.tell(.leave)
            let reply = try await client.reply(to: endpoint)
            #expect(reply.value == content.count)
            #expect(reply.attempts <= (isStreamed ? 2 : 1))
        }
        #expect(server.backend.received.map(\.body) == Array(repeating: content, count: 5))
    }

    @Test("C41, C44: a GET needs its retry for that at most, and the server sees it once")
    func readMeanwhile() async throws {
        let server = try await server()
        let client = client(server, retry: .standard)
        for _ in 0..<2 { _ = try await version(client) }
        for _ in 0..<3 {
            try await server.tell(.leave)
            let reply = try await client.reply(to: Endpoint<Int>.get("x"))
            #expect(reply.attempts <= 2)
        }
        #expect(server.backend.received.count == 5)
    }

    @Test(
        "C33, C96: a body whose stream is reset is truncated, and the connection stays",
        arguments: ["reset", "close"])
    func brokenBody(fault: String) async throws {
        let server = try await server()
        let headers: HTTPHeaders = ["X-Fault": fault]
        server.backend.on(.get, "/fault", .json("[1, 2, 3, 4]", headers: headers).always)
        let client = client(server, .assumed)
        for round in 1...3 {
            guard case .transport(let failure) = try await failure(Endpoint<[Int]>.get("fault"), client) else {
                throw try await failure(Endpoint<[Int]>.get("fault"), client)
            }
            #expect(failure.kind == .truncated && failure.mayHaveReachedServer)
            #expect(try await version(client) == "3")
            #expect(server.connections.count == (fault == "reset" ? 1 : round + 1))
        }
    }

    @Test("C33, C96: a body that ends before its length is truncated")
    func shortBody() async throws {
        let server = try await server()
        server.backend.on(.get, "/fault", .json("[1, 2, 3, 4]", headers: ["X-Fault": "end"]).always)
        guard case .transport(let failure) = try await failure(Endpoint<[Int]>.get("fault"), client(server, .assumed))
        else { throw CancellationError() }
        #expect(failure.kind == .truncated || failure.kind == .malformed)
    }

    @Test(
        "C11, C44, C96: a POST that is refused, or whose connection is closed, is sent once",
        arguments: ["leave", "refuse"])
    func withoutResponse(fault: String) async throws {
        let server = try await server()
        server.backend.on(.post, "/fault", .json("1", headers: ["X-Fault": fault]).always)
        let client = client(server)
        for _ in 0..<2 { _ = try await version(client) }
        guard case .transport(let failure) = try await failure(Endpoint<Int>.post("fault"), client) else {
            throw CancellationError()
        }
        #expect(failure.kind == .reset)
        #expect(server.backend.received.count { $0.path == "/fault" } == 1)
        // Over HTTP/3 or over TCP.
        #expect(try await version(client) != nil)
    }

    @Test("datagrams that mean nothing end no call")
    func garbage() async throws {
        let server = try await server()
        let gate = DispatchSemaphore(value: 0)
        server.backend.on(.get, "/held") { _ in
            gate.wait()
            return .json("2")
        }
        let client = client(server, .assumed)
        #expect(try await version(client) == "3")
        let held = Task { try await client.run(Endpoint<Int>.get("held")) }
        await server.backend.received(atLeast: 2)
        for _ in 0..<20 { try await server.tell(.garbage) }
        #expect(try await version(client) == "3")
        gate.signal()
        #expect(try await held.value == 2)
        #expect(server.connections == ["h3-1"])
    }
}
#endif
