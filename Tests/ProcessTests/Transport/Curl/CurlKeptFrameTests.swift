#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// What happens to the second request on a connection under TLS, frame by frame.
@Suite(
    "A second request on a connection under TLS",
    .enabled(
        if: Program.openssl.isInstalled && Program.python3.isInstalled, "openssl or python3 is not installed"),
    .enabled(if: InstalledLibrary.speaksHTTP2, InstalledLibrary.speaksNoHTTP2),
    .timeLimit(.minutes(10)))
struct CurlKeptFrameTests {
    private let authority: TestAuthority
    private let transport: CurlTransport

    init() async throws {
        authority = try await TestAuthority()
        transport = authority.transport()
    }

    private func client(_ server: PythonServer) -> APIClient {
        APIClient(server.url) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.retry = .never
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
        }
    }

    private func failure(_ method: HTTPMethod, _ client: APIClient) async throws -> TransportFailure {
        let error = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>(method, "x")) }
        guard case .transport(let failure) = error else { throw try #require(error) }
        return failure
    }

    /// Returns a script that responds to the first request, records the second, and then reacts.
    private static func answeringOnce(_ reaction: String) -> String {
        """
        def serve(connection, number):
            greet(connection)
            stream, _ = next_request(connection)
            connection.sendall(frame(HEADERS, END_HEADERS, stream, OK) + frame(DATA, END_STREAM, stream, b"1"))
            stream, _ = next_request(connection)
            note("second")
            \(reaction)
            next_request(connection)
        """
    }

    @Test(
        "C44: it is refused: a GET was not processed; of a POST, libcurl leaves it open",
        .enabled(if: InstalledLibrary.explainsResets, InstalledLibrary.explainsNoReset), arguments: [true, false])
    func refused(isSafe: Bool) async throws {
        let script = Self.answeringOnce(#"connection.sendall(frame(RESET, 0, stream, struct.pack(">I", 7)))"#)
        let server = try await PythonServer(authority.issue(), speaking: "h2", script)
        let client = client(server)
        #expect(try await client.run(.get("x")) == 1)
        let failure = try await failure(isSafe ? .get : .post, client)
        #expect(failure.kind == .reset && failure.mayHaveReachedServer == !isSafe)
        #expect(server.stop() == ["second"])
    }

    @Test(
        "C44: the server requires HTTP/1.1 for it: it was not processed",
        .enabled(if: InstalledLibrary.explainsResets, InstalledLibrary.explainsNoReset))
    func downgraded() async throws {
        let script = Self.answeringOnce(#"connection.sendall(frame(RESET, 0, stream, struct.pack(">I", 13)))"#)
        let server = try await PythonServer(authority.issue(), speaking: "h2", script)
        let client = client(server)
        #expect(try await client.run(.get("x")) == 1)
        let failure = try await failure(.post, client)
        #expect(failure.kind == .reset && !failure.mayHaveReachedServer)
        #expect(failure.message.contains("HTTP/1.1"))
        #expect(server.stop() == ["second"])
    }

    @Test(
        "C11: over HTTP/1.1 it is read, and the connection ends: it may have been processed, though it is a GET",
        .enabled(if: InstalledLibrary.keepsTLS, InstalledLibrary.keepsNoTLS))
    func readAndEnded() async throws {
        let script = """
            def serve(connection, number):
                head(connection)
                connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 1\\r\\n\\r\\n1")
                head(connection)
                note("second")
                end(connection)
            """
        let server = try await PythonServer(authority.issue(), script)
        let client = client(server)
        #expect(try await client.run(.get("x")) == 1)
        let failure = try await failure(.get, client)
        #expect(failure.kind == .reset && failure.mayHaveReachedServer)
        #expect(server.stop() == ["second"])
    }

    @Test(
        "C44: a refused request says nothing about the next one, which is read before its connection ends",
        .enabled(if: InstalledLibrary.explainsResets, InstalledLibrary.explainsNoReset))
    func nextAfterRefusal() async throws {
        let script = """
            def serve(connection, number):
                greet(connection)
                stream, _ = next_request(connection)
                note("request")
                if number == 1:
                    connection.sendall(frame(RESET, 0, stream, struct.pack(">I", 7)))
                    next_request(connection)
                end(connection)
            """
        let server = try await PythonServer(authority.issue(), speaking: "h2", script)
        let client = client(server)
        #expect(try await !failure(.post, client).mayHaveReachedServer)
        #expect(try await failure(.post, client).mayHaveReachedServer)
        #expect(server.stop() == ["request", "request"])
    }

    @Test("C41: frames that arrived since the first over HTTP/2, and belong to no request, keep the connection")
    func unaskedFrames() async throws {
        let script = """
            def serve(connection, number):
                note("connection")
                greet(connection)
                while True:
                    stream, _ = next_request(connection)
                    connection.sendall(frame(HEADERS, END_HEADERS, stream, OK) + frame(DATA, END_STREAM, stream, b"1"))
                    time.sleep(0.03)
                    connection.sendall(frame(PING, 0, 0, b"12345678"))
            """
        let server = try await PythonServer(authority.issue(), speaking: "h2", script)
        let client = client(server)
        for _ in 0..<3 {
            #expect(try await client.run(.get("x")) == 1)
            // Until the frame has arrived, which nothing reports.
            try await Task.sleep(for: .milliseconds(120))
        }
        #expect(server.stop() == ["connection"])
    }
}
#endif
