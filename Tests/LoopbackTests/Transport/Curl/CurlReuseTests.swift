#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// What happens to a request on a kept connection: one permit is one send, even if libcurl would rather repeat it.
@Suite(
    "Kept connections", .enabled(if: InstalledLibrary.announcesRequests, InstalledLibrary.announcesNothing),
    .timeLimit(.minutes(10)))
struct CurlReuseTests {
    private let server: LoopbackServer
    private let transport: CurlTransport

    init() throws {
        server = try LoopbackServer()
        var options = CurlTransport.Options()
        options.proxy = .none
        transport = CurlTransport(options)
    }

    private func client(_ retry: RetryPolicy, _ transport: (any Transport)? = nil) -> APIClient {
        APIClient(server.baseURL) {
            $0.transport = transport ?? self.transport
            $0.rateLimit = .unlimited
            $0.retry = retry
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
        }
    }

    /// Opens connections that have served one request each, and will close at their second.
    private func warm(_ client: APIClient, _ count: Int) async throws {
        let meeting = Meeting(of: count)
        server.onAny { request in
            guard request.path == "/warm" else { return request.number == 1 ? .json("1") : .close }
            // No response is sent before all requests have arrived, so each needs a connection of its own.
            meeting.wait()
            return .json("1")
        }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<count { group.addTask { try await client.run(.get("warm")) } }
            try await group.waitForAll()
        }
    }

    @Test("C11: a GET is sent once on a kept connection that dies under it, however many others are kept")
    func oneSend() async throws {
        let client = client(.never)
        try await warm(client, 8)
        let error = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .reset && failure.mayHaveReachedServer)
        #expect(failure.message.contains("closed the connection that was kept"))
        #expect(server.received.count { $0.path == "/x" } == 1)
    }

    @Test("C11: a retry uses a new connection, though others to that server are kept")
    func freshConnection() async throws {
        let client = client(.standard)
        try await warm(client, 8)
        let reply = try await client.reply(to: Endpoint<Int>.get("x"))
        #expect(reply.attempts == 2)
        #expect(server.received.count { $0.path == "/x" } == 2)
        #expect(server.connections == 9)
    }

    @Test("a cancelled call closes no other connection")
    func cancelled() async throws {
        let client = client(.never)
        try await warm(client, 2)
        server.on(.get, "/silent", .silence)
        server.on(.get, "/x", .json("1"))
        let silent = Task { try await client.run(Endpoint<Int>.get("silent")) }
        await server.received(atLeast: 3)
        silent.cancel()
        await #expect(throws: ServiceError.cancelled) { try await silent.value }
        #expect(try await client.run(.get("x")) == 1)
        #expect(server.connections == 2)
    }

    @Test("calls that no server accepts disturb no others, though their sockets' numbers come again")
    func refused() async throws {
        let closed = try LoopbackServer(isListening: false)
        server.onAny { request in request.number == 3 ? .json("1", headers: ["Connection": "close"]) : .json("1") }
        let client = client(.never)
        let refused = APIClient(closed.baseURL) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.retry = .never
        }
        for _ in 0..<50 {
            await #expect(throws: ServiceError.self) { try await refused.run(Endpoint<Int>.get("x")) }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<3 { group.addTask { try await client.run(.get("x")) } }
                for try await number in group { #expect(number == 1) }
            }
        }
    }

    // MARK: What the server has seen

    @Test(
        "C11: a POST on a connection that the server has closed meanwhile never reached it, which is known",
        arguments: ["", "body", String(repeating: "x", count: 200_000)])
    func closedMeanwhile(body: String) async throws {
        server.on(.post, "/x", .json("1").always)
        let client = client(.standard, ClosingTransport(transport, server))
        let endpoint = Endpoint<Int>.post("x", body: .data(Data(body.utf8), contentType: "text/plain"))
        for round in 1...10 {
            let reply = try await client.reply(to: endpoint)
            #expect(reply.attempts == 2)
            #expect(server.received.count { $0.method == .post } == round)
        }
    }

    @Test(
        "C11: a POST that the server read before it closed the connection may have been processed, and is not repeated")
    func readAndClosed() async throws {
        server.on(.get, "/warm", .json("1").always)
        server.on(.post, "/x", .close.always)
        let client = client(.standard)
        for round in 1...10 {
            _ = try await client.run(Endpoint<Int>.get("warm"))
            let error = await #expect(throws: ServiceError.self) {
                try await client.run(Endpoint<Int>.post("x", body: .json([1])))
            }
            guard case .transport(let failure) = error else { throw try #require(error) }
            #expect(failure.kind == .reset && failure.mayHaveReachedServer)
            #expect(failure.message == "the server closed the connection that was kept, and did not respond")
            #expect(server.received.count { $0.method == .post } == round)
        }
    }

    @Test("C11: a POST whose connection was reset may have been processed: a reset does not tell what was read")
    func readAndReset() async throws {
        server.on(.get, "/warm", .json("1").always)
        server.on(.post, "/x", .reset.always)
        let client = client(.standard)
        for _ in 1...10 {
            _ = try await client.run(Endpoint<Int>.get("warm"))
            let error = await #expect(throws: ServiceError.self) {
                try await client.run(Endpoint<Int>.post("x", body: .json([1])))
            }
            #expect(error?.mayHaveReachedServer == true)
        }
        #expect(server.received.count { $0.method == .post } == 10)
    }

    @Test("C41: a connection that dies excludes those to its own server from reuse, and no others")
    func othersKept() async throws {
        let other = try LoopbackServer()
        other.on(.get, "/x", .json("2").always)
        server.on(.get, "/warm", .json("1").always)
        server.on(.get, "/x", .close.always)
        let (mine, others) = (client(.never), APIClient(other.baseURL) { $0.transport = transport })
        #expect(try await others.run(Endpoint<Int>.get("x")) == 2)
        #expect(try await mine.run(Endpoint<Int>.get("warm")) == 1)
        await #expect(throws: ServiceError.self) { try await mine.run(Endpoint<Int>.get("x")) }
        #expect(try await others.run(Endpoint<Int>.get("x")) == 2)
        #expect(other.connections == 1)
    }
}

/// Has the server close its connection at the last moment before a request is sent on it; the first, third and fifth
/// time.
private struct ClosingTransport: Transport {
    private let transport: CurlTransport
    private let server: LoopbackServer
    private let sends = Noted(0)

    init(_ transport: CurlTransport, _ server: LoopbackServer) {
        (self.transport, self.server) = (transport, server)
    }

    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        if server.connections == 0 {
            // From now on there is a connection to keep.
            var warm = request
            warm.method = .get
            warm.body = nil
            server.on(.get, request.url.path, .json("1"))
            _ = try await transport.send(warm, context: TransportContext())
        }
        sends.update { $0 += 1 }
        let isOdd = sends.value % 2 == 1
        return try await transport.send(
            request,
            context: TransportContext { phase in
                if isOdd, phase == .waitingForResponse { server.closeConnections() }
            })
    }

    func shutdown() async { await transport.shutdown() }
}
#endif
