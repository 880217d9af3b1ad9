#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// HTTP/2 over TLS, against nginx.
@Suite(
    "HTTP/2 through libcurl",
    .enabled(if: Program.openssl.isInstalled && Program.nginx.isInstalled, "openssl or nginx is not installed"),
    .enabled(if: InstalledLibrary.speaksHTTP2, InstalledLibrary.speaksNoHTTP2),
    .timeLimit(.minutes(10)))
struct CurlHTTP2Tests {
    private let authority: TestAuthority
    private let transport: CurlTransport

    init() async throws {
        authority = try await TestAuthority()
        transport = authority.transport()
    }

    private func client(_ server: HTTP2Server, _ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        var configuration = Configuration(ServerEnvironment(name: "nginx", baseURL: server.url))
        configuration.transport = transport
        configuration.rateLimit = .unlimited
        configuration.retry = .never
        // Real time: a busy machine must not fail the test.
        configuration.timeout = .seconds(60)
        configure(&configuration)
        return APIClient(configuration)
    }

    /// Returns the results of a hundred calls that begin at once.
    private func hundred(_ client: APIClient, _ endpoint: Endpoint<Int>) async -> [Result<Reply<Int>, ServiceError>] {
        await withTaskGroup(of: Result<Reply<Int>, ServiceError>.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    await Result(of: { () async throws(ServiceError) in try await client.reply(to: endpoint) })
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test("C44: a hundred calls at once share one connection")
    func multiplexed() async throws {
        let server = try await HTTP2Server(authority.issue())
        // No response is sent before all requests have arrived, so none of them waited for another.
        let (arrived, gate) = (Noted(0), DispatchSemaphore(value: 0))
        server.backend.on(.get, "/x") { _ in
            arrived.update { count in
                count += 1
                if count == 100 { for _ in 0..<100 { gate.signal() } }
            }
            gate.wait()
            return .json("1")
        }
        let replies = try await hundred(client(server), .get("x")).map { try $0.get() }
        #expect(replies.allSatisfy { $0.value == 1 })
        #expect(Set(replies.map { $0.timings?.httpVersion }) == ["2"])
        #expect(server.connections.count == 1)
    }

    @Test("C44: a cancelled call resets its own stream; the others continue, and the connection stays")
    func cancelled() async throws {
        // A backend of its own, which notices when nginx closes its connection.
        let other = try LoopbackServer()
        other.onAny { _ in .silence }
        let server = try await HTTP2Server(
            authority.issue(),
            """
            location /silent {
                proxy_pass http://127.0.0.1:\(other.port); proxy_http_version 1.1;
                proxy_set_header X-Connection $connection; proxy_set_header Connection "";
            }
            """)
        let gate = DispatchSemaphore(value: 0)
        server.backend.on(.get, "/held") { _ in
            gate.wait()
            return .json("2")
        }
        server.backend.on(.get, "/x") { _ in .json("1") }
        let client = client(server)
        let silent = Task { try await client.run(Endpoint<Int>.get("silent")) }
        let held = Task { try await client.run(Endpoint<Int>.get("held")) }
        await server.backend.received(atLeast: 1)
        await other.received(atLeast: 1)
        silent.cancel()
        await #expect(throws: ServiceError.cancelled) { try await silent.value }
        // libcurl 7.88 sends the reset only when the connection is used again.
        #expect(try await client.run(.get("x")) == 1)
        await other.connectionsClosed()
        gate.signal()
        #expect(try await held.value == 2)
        #expect(server.connections.count == 1)
        #expect(Set(other.received.compactMap { $0.headers["X-Connection"] }) == server.connections)
    }

    @Test(
        "C44: a server that ends its connections after ten requests each fails no call",
        .enabled(if: InstalledLibrary.explainsResets, InstalledLibrary.explainsNoReset))
    func goAway() async throws {
        let server = try await HTTP2Server(authority.issue(), "keepalive_requests 10;")
        server.backend.on(.get, "/x") { _ in .json("1") }
        for outcome in await hundred(client(server) { $0.retry = RetryPolicy(attempts: 20) }, .get("x")) {
            #expect(try outcome.get().value == 1)
        }
        #expect(server.connections.count >= 10)
    }

    @Test("C11, C44: a POST is sent at most once, whenever the server ends its connections", arguments: ["", "body"])
    func noSecondPost(body: String) async throws {
        let server = try await HTTP2Server(authority.issue(), "keepalive_requests 10;")
        let ids = Noted(Set<String>())
        server.backend.on(.post, "/x") { request in
            let id = request.headers["X-Id"] ?? ""
            ids.update { seen in #expect(seen.insert(id).inserted, "\(id) came twice") }
            return .json("1")
        }
        let client = client(server) { $0.headersForEachCall = { ["X-Id": UUID().uuidString] } }
        let endpoint = Endpoint<Int>.post("x", body: .data(Data(body.utf8), contentType: "text/plain"))
        let answered = await hundred(client, endpoint).count { $0.failure == nil }
        #expect(answered > 0)
        #expect(ids.value.count >= answered)
    }

    @Test(
        "C44: once the client knows after how many requests a server ends its connections, no POST fails by that",
        .enabled(if: InstalledLibrary.explainsResets, InstalledLibrary.explainsNoReset))
    func turnovers() async throws {
        let server = try await HTTP2Server(authority.issue(), "keepalive_requests 50;")
        server.backend.on(.post, "/x") { _ in .json("1") }
        let other = try LoopbackServer()
        other.onAny { _ in .json("1") }
        let posts = LongRun.isWanted ? 20_000 : 2000
        let probe = try Child(
            "TransportProbe", ["turnovers", "\(server.url)/x", authority.file, "\(posts)", other.baseURL])
        let (lines, status) = try await probe.end()
        #expect(status == 0)
        let failed = lines.filter { $0.hasPrefix("failed ") }
        #expect(failed.count == 2 && failed.last == "failed 0", "\(lines)")
        CallsBeside.expect(lines)
        // Each of the connections is used for what it may have: not for fewer.
        #expect(server.connections.count >= posts / 50 && server.connections.count <= posts / 50 * 2)
    }

    @Test("C39: a compressed response is unpacked")
    func compressed() async throws {
        let server = try await HTTP2Server(authority.issue())
        let one = try #require(Data(base64Encoded: "H4sIAGbtAGsC/zMEALfv3IMBAAAA"))
        server.backend.on(.get, "/x") { _ in .status(200, headers: ["Content-Encoding": "gzip"], body: one) }
        #expect(try await client(server).run(.get("x")) == 1)
    }

    // MARK: Streams

    private func send(
        _ server: HTTP2Server, _ method: HTTPMethod, _ path: String, body: HTTPBody? = nil,
        delivery: TransportContext.Delivery
    ) async throws -> HTTPResponse {
        let request = HTTPRequest(method: method, url: try HTTPURL(server.url + path), body: body)
        return try await transport.send(request, context: TransportContext(delivery: delivery))
    }

    @Test("a body of unknown length is streamed to the server")
    func upload() async throws {
        let server = try await HTTP2Server(authority.issue())
        server.backend.on(.post, "/x") { .status(200, body: Data("\($0.body.count)".utf8)) }
        let parts = (0..<300).map { Data(repeating: UInt8($0 % 256), count: 10_007) }
        let stream = HTTPBody.Chunks { continuation in
            for part in parts { continuation.yield(part) }
            continuation.finish()
        }
        let response = try await send(server, .post, "/x", body: .stream(length: nil, stream), delivery: .whole)
        #expect(response.timings?.httpVersion == "2")
        #expect(response.body.bytes == Data("3002100".utf8))
        #expect(server.backend.received.first?.body == parts.reduce(Data(), +))
    }

    @Test("a response is read while it arrives; one that is not read delays no other on its connection")
    func download() async throws {
        let server = try await HTTP2Server(authority.issue())
        let body = Data((0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        server.backend.on(.get, "/large") { _ in .status(200, body: body) }
        server.backend.on(.get, "/x") { _ in .json("1") }
        let response = try await send(server, .get, "/large", delivery: .stream)
        let client = client(server)
        for _ in 0..<50 { #expect(try await client.run(.get("x")) == 1) }
        var received = Data()
        for try await chunk in response.body.chunks { received += chunk }
        #expect(received == body)
        #expect(server.connections.count == 1)
    }

    @Test("C33: a body that breaks off is truncated, and fails no other call on its connection")
    func truncated() async throws {
        let server = try await HTTP2Server(authority.issue())
        server.backend.on(.get, "/x") { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123") }
        server.backend.on(.get, "/y") { _ in .json("1") }
        let client = client(server)
        for _ in 0..<3 {
            let outcome = await Result(of: { () async throws(ServiceError) in
                try await client.run(Endpoint<Int>.get("x"))
            })
            guard case .transport(let failure) = outcome.failure else {
                throw try #require(outcome.failure, "half a body was taken for a whole one")
            }
            #expect(failure.kind == .truncated)
            #expect(try await client.run(.get("y")) == 1)
        }
        #expect(server.connections.count == 1)
    }
}
#endif
