#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Responses that are complete before the body of their request has been sent (RFC 9113, 8.1).
@Suite(
    "Early responses through libcurl", .enabled(if: InstalledLibrary.speaksHTTP2, InstalledLibrary.speaksNoHTTP2),
    .timeLimit(.minutes(10)))
struct CurlEarlyResponseTests {
    private static let hasNginx = Program.openssl.isInstalled && Program.nginx.isInstalled
    private static let hasPython = Program.openssl.isInstalled && Program.python3.isInstalled

    private func client(_ url: String, _ transport: CurlTransport) -> APIClient {
        APIClient(url) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.retry = .never
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
        }
    }

    @Test(
        "C42, C44: nginx responds over HTTP/2 without reading the body, and that response is the result",
        .enabled(if: hasNginx, "openssl or nginx is not installed"), arguments: [10, 2_000, 100_000, 1_000_000])
    func nginx(count: Int) async throws {
        let authority = try await TestAuthority()
        let location = "location /early { default_type application/json; return 200 '[1]'; }"
        let server = try await HTTP2Server(authority.issue(), location)
        let client = client(server.url, authority.transport())
        for _ in 0..<40 {
            #expect(try await client.run(Endpoint<[Int]>.post("early", body: Self.body(count))) == [1])
        }
    }

    @Test(
        "C42, C44: nginx responds to the last request of a connection without reading its body, and closes it",
        .enabled(if: hasNginx, "openssl or nginx is not installed"), arguments: [0, 7, 2_000, 100_000],
        ["return 200;", "return 200 '[1]';"])
    func lastOfConnection(count: Int, reply: String) async throws {
        let authority = try await TestAuthority()
        let server = try await HTTP2Server(authority.issue(), "keepalive_requests 7;", "location /early { \(reply) }")
        let client = client(server.url, authority.transport())
        // Ten connections.
        for _ in 0..<70 { try await client.run(.post("early", body: Self.body(count))) }
    }

    private func serve(_ authority: TestAuthority, _ ending: String) async throws -> PythonServer {
        try await PythonServer(
            authority.issue(), speaking: "h2",
            """
            def serve(connection, number):
                greet(connection)
                while True:
                    stream, _ = next_request(connection)
                    answer = (frame(HEADERS, END_HEADERS, stream, OK) + frame(DATA, 0, stream, b"[1,")
                        + frame(DATA, END_STREAM, stream, b"2]"))
                    reset = frame(RESET, 0, stream, struct.pack(">I", 0))
                    \(ending)
            """)
    }

    /// Starts a server that responds to each head of a request with a body in so many frames of a byte each.
    private func servePieces(
        _ count: Int, _ authority: TestAuthority, fields: String = "OK", then ending: String = "pass"
    ) async throws -> PythonServer {
        try await PythonServer(
            authority.issue(), speaking: "h2",
            """
            def serve(connection, number):
                greet(connection)
                while True:
                    stream, _ = next_request(connection)
                    connection.sendall(frame(HEADERS, END_HEADERS, stream, \(fields)))
                    # All at once, they would keep libcurl busy for so long that the transport takes them for a flood.
                    for _ in range(4):
                        connection.sendall(frame(DATA, 0, stream, b"1") * \(count / 4))
                        until_read(connection)
                    connection.sendall(frame(DATA, END_STREAM, stream))
                    \(ending)
            """)
    }

    private static func body(_ count: Int) -> RequestBody {
        .data(Data(count: count), contentType: "application/octet-stream")
    }

    @Test(
        "C42, C44: the end of the stream completes a response that has no length",
        .enabled(if: hasPython, "openssl or python3 is not installed"),
        .enabled(if: InstalledLibrary.handlesStreams, InstalledLibrary.handlesNoStreams),
        arguments: [10, 100_000, 1_000_000])
    func withoutLength(count: Int) async throws {
        let authority = try await TestAuthority()
        let script = "connection.sendall(answer); until_read(connection); connection.sendall(reset)"
        let server = try await serve(authority, script)
        let client = client(server.url, authority.transport())
        for _ in 0..<20 {
            #expect(try await client.run(Endpoint<[Int]>.post("early", body: Self.body(count))) == [1, 2])
        }
    }

    @Test(
        "C42, C44: a response in many pieces, which has to let others go on meanwhile, is complete all the same",
        .enabled(if: hasPython, "openssl or python3 is not installed"),
        .enabled(if: InstalledLibrary.handlesStreams, InstalledLibrary.handlesNoStreams), arguments: [false, true])
    func inPieces(hasLength: Bool) async throws {
        let authority = try await TestAuthority()
        let count = 400_000
        // `content-length` comes after the status.
        let fields = hasLength ? #"OK + bytes([0x0F, 0x0D, 6]) + b"\#(count)""# : "OK"
        let server = try await servePieces(
            count, authority, fields: fields,
            then: #"until_read(connection); connection.sendall(frame(RESET, 0, stream, struct.pack(">I", 0)))"#)
        let client = client(server.url, authority.transport())
        for _ in 0..<3 {
            let body = try await client.run(Endpoint<Data>.post("early", body: Self.body(1_000_000)))
            #expect(body == Data(repeating: UInt8(ascii: "1"), count: count))
        }
    }

    @Test(
        "C44: so is one in many pieces to a request without a body",
        .enabled(if: hasPython, "openssl or python3 is not installed"))
    func wholeInPieces() async throws {
        let authority = try await TestAuthority()
        let count = 400_000
        let server = try await servePieces(count, authority)
        let client = client(server.url, authority.transport())
        for _ in 0..<3 {
            #expect(try await client.run(Endpoint<Data>.get("x")) == Data(repeating: UInt8(ascii: "1"), count: count))
        }
    }

    @Test(
        "C42, C44: a response that libcurl loses, because the end came along with it, is reported as lost",
        .enabled(if: hasPython, "openssl or python3 is not installed"),
        .enabled(if: InstalledLibrary.explainsResets, InstalledLibrary.explainsNoReset), arguments: [10, 100_000])
    func lost(count: Int) async throws {
        let authority = try await TestAuthority()
        let server = try await serve(authority, "connection.sendall(answer + reset)")
        let client = client(server.url, authority.transport())
        for _ in 0..<20 {
            do throws(ServiceError) {
                #expect(try await client.run(Endpoint<[Int]>.post("early", body: Self.body(count))) == [1, 2])
            } catch {
                // Newer versions of libcurl lose nothing.
                guard case .transport(let failure) = error else { throw error }
                #expect(failure.kind == .truncated && failure.mayHaveReachedServer)
                #expect(failure.message == "the server responded before it had read the request, and libcurl lost that")
            }
        }
    }

    /// How a response breaks off after the body `[1]`.
    enum Break: String, CaseIterable {
        /// With a stream error, in a response without a length.
        case error = """
            connection.sendall(frame(HEADERS, END_HEADERS, stream, OK) + frame(DATA, 0, stream, b"[1]"))
            reset = frame(RESET, 0, stream, struct.pack(">I", 2))
            """
        /// Without an error, two bytes before its end: `content-length: 5` comes after the status.
        case early = """
            fields = OK + bytes([0x0F, 0x0D, 1]) + b"5"
            connection.sendall(frame(HEADERS, END_HEADERS, stream, fields) + frame(DATA, 0, stream, b"[1]"))
            """
    }

    @Test(
        "C42: an early response that breaks off is a failure",
        .enabled(if: hasPython, "openssl or python3 is not installed"),
        arguments: Break.allCases, [10, 100_000])
    func brokenOff(way: Break, count: Int) async throws {
        let authority = try await TestAuthority()
        let lines =
            way.rawValue.split(separator: "\n").map(String.init)
            + ["until_read(connection)", "connection.sendall(reset)"]
        let server = try await serve(authority, lines.joined(separator: "\n" + String(repeating: " ", count: 8)))
        let client = client(server.url, authority.transport())
        for _ in 0..<5 {
            let error = await #expect(throws: ServiceError.self) {
                try await client.run(Endpoint<[Int]>.post("early", body: Self.body(count)))
            }
            guard case .transport(let failure) = error else { throw try #require(error) }
            #expect(failure.mayHaveReachedServer)
        }
    }

    /// Sends an endless stream, and waits until the stream is released.
    private func sendEndlessStream(to url: String, by transport: CurlTransport) async throws -> HTTPResponse {
        let ended = AsyncStream<Void>.makeStream()
        let response = try await transport.send(
            endless(url, finishing: ended.continuation), context: TransportContext())
        for await _ in ended.stream {}
        return response
    }

    /// Returns a request whose stream only its reader holds: the stream ends when the reader is cancelled, or when a
    /// response arrives before it is read. If the transport forgot the reader, the stream would stay for ever.
    private func endless(_ url: String, finishing end: AsyncStream<Void>.Continuation) throws -> HTTPRequest {
        let chunks = HTTPBody.Chunks { feed in
            feed.yield(Data(count: 100))
            feed.onTermination = { _ in end.finish() }
        }
        return HTTPRequest(method: .post, url: try HTTPURL(url), body: .stream(chunks))
    }

    @Test(
        "C42: when a server refuses early, the stream that was being sent is released",
        arguments: ["Content-Length: 0\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"])
    func streamLetGo(rest: String) async throws {
        let server = try LoopbackServer()
        server.onHead(.post, "/x") { _ in .raw("HTTP/1.1 413 Content Too Large\r\n\(rest)", then: .readBody) }
        for _ in 0..<10 {
            let response = try await sendEndlessStream(to: server.baseURL + "/x", by: CurlTransport())
            #expect(response.status == 413)
        }
    }
}
#endif
