#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// HTTP/2 frame by frame: what no proper server sends, and what a proper one sends at the worst moment.
@Suite(
    "HTTP/2 through libcurl, frame by frame",
    .enabled(
        if: Program.openssl.isInstalled && Program.python3.isInstalled, "openssl or python3 is not installed"),
    .enabled(if: InstalledLibrary.speaksHTTP2, InstalledLibrary.speaksNoHTTP2),
    .timeLimit(.minutes(10)))
struct CurlHTTP2FrameTests {
    private let authority: TestAuthority
    private let transport: CurlTransport

    init() async throws {
        authority = try await TestAuthority()
        transport = authority.transport()
    }

    private func client(_ server: PythonServer, _ retry: RetryPolicy = .never) -> APIClient {
        APIClient(server.url) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.retry = retry
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
        }
    }

    private func server(_ script: String) async throws -> PythonServer {
        try await PythonServer(authority.issue(), speaking: "h2", script)
    }

    private func failure<Value>(_ endpoint: Endpoint<Value>, _ client: APIClient) async throws -> TransportFailure {
        let error = await #expect(throws: ServiceError.self) { try await client.run(endpoint) }
        guard case .transport(let failure) = error else { throw try #require(error) }
        return failure
    }

    // MARK: What a TLS library has read

    @Test(
        "C44: a response arrives that the TLS library has read together with the end of another",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"))
    func readTogether() async throws {
        let server = try await server(
            """
            def serve(connection, number):
                greet(connection)
                first, _ = next_request(connection)
                second, _ = next_request(connection)
                connection.sendall(frame(HEADERS, END_HEADERS, second, OK) + frame(DATA, 0, second, b"1" * 5000))
                settle(connection)
                # Records of their own.
                connection.sendall(frame(DATA, END_STREAM, second))
                connection.sendall(frame(HEADERS, END_HEADERS, first, OK) + frame(DATA, END_STREAM, first, b"1"))
                note("sent")
                next_request(connection)
            """)
        let scratch = try Scratch()
        let probe = try await Child(
            "TransportProbe", ["together", authority.file, "\(server.url)/1", "\(server.url)/2"],
            environment: scratch.preloading(Self.readingTogether))
        let (lines, status) = try await probe.end()
        #expect(lines == ["200", "200"] && status == 0)
        #expect(server.stop() == ["sent"])
    }

    /// A `recv` that returns the end of the second response and the first response at once, while libcurl reads for the
    /// second request: when it read for the first one, there was nothing yet.
    private static let readingTogether = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <poll.h>
        #include <sys/socket.h>
        #include <unistd.h>
        ssize_t recv(int socket, void *bytes, size_t size, int flags) {
            static ssize_t (*system)(int, void *, size_t, int);
            static enum { BEFORE, HAS_BODY, HAS_NOTHING, AFTER } state;
            if (!system) system = dlsym(RTLD_NEXT, "recv");
            if (state == HAS_BODY) {
                state = HAS_NOTHING;
                errno = EAGAIN;
                return -1;
            }
            if (state == HAS_NOTHING) {
                poll(&(struct pollfd){.fd = socket, .events = POLLIN}, 1, 5000);
                // Until both have come.
                usleep(100000);
                state = AFTER;
            }
            ssize_t count = system(socket, bytes, size, flags);
            if (state == BEFORE && count >= 5000) state = HAS_BODY;
            return count;
        }
        """

    // MARK: Requests that are refused

    private static let refusing = """
        def serve(connection, number):
            greet(connection)
            while True:
                stream, _ = next_request(connection)
                note("request")
                answer = frame(HEADERS, END_HEADERS, stream, OK) + frame(DATA, END_STREAM, stream, b"1")
                connection.sendall(frame(RESET, 0, stream, struct.pack(">I", 7)) if number == 1 else answer)
        """

    @Test(
        "C44: a refused request was sent once, and was not processed",
        .enabled(if: InstalledLibrary.explainsResets, InstalledLibrary.explainsNoReset))
    func refused() async throws {
        let server = try await server(Self.refusing)
        let failure = try await failure(Endpoint<Int>.get("x"), client(server))
        #expect(failure.kind == .reset && !failure.mayHaveReachedServer)
        #expect(failure.message == "the server refused the request before it worked on it")
        #expect(server.stop() == ["request"])
    }

    @Test(
        "C44: a refused POST is retried, on another connection",
        .enabled(if: InstalledLibrary.explainsResets, InstalledLibrary.explainsNoReset))
    func refusedPost() async throws {
        let server = try await server(Self.refusing)
        let reply = try await client(server, .standard).reply(to: Endpoint<Int>.post("x"))
        #expect(reply.value == 1 && reply.attempts == 2)
        #expect(server.stop() == ["request", "request"])
    }

    private static let preferringHTTP1 = """
        def serve(connection, number):
            if connection.selected_alpn_protocol() == "h2":
                greet(connection)
                stream, _ = next_request(connection)
                note("HTTP/2")
                connection.sendall(frame(RESET, 0, stream, struct.pack(">I", 13)))
                next_request(connection)
            while True:
                head(connection)
                note("HTTP/1.1")
                connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 1\\r\\n\\r\\n1")
        """

    @Test(
        "C44: a request that the server requires over HTTP/1.1 is not repeated without a retry policy",
        .enabled(if: InstalledLibrary.explainsResets, InstalledLibrary.explainsNoReset))
    func downgradedOnce() async throws {
        let server = try await PythonServer(authority.issue(), speaking: "h2,http/1.1", Self.preferringHTTP1)
        let failure = try await failure(Endpoint<Int>.get("x"), client(server))
        #expect(failure.kind == .reset && !failure.mayHaveReachedServer && failure.message.contains("HTTP/1.1"))
        #expect(server.stop() == ["HTTP/2"])
    }

    @Test(
        "C44: a retry uses HTTP/1.1 if the server requires it, and so do later calls",
        .enabled(if: InstalledLibrary.explainsResets, InstalledLibrary.explainsNoReset))
    func downgraded() async throws {
        let server = try await PythonServer(authority.issue(), speaking: "h2,http/1.1", Self.preferringHTTP1)
        let client = client(server, .standard)
        let reply = try await client.reply(to: Endpoint<Int>.post("x"))
        #expect(reply.value == 1 && reply.attempts == 2)
        #expect(try await client.reply(to: Endpoint<Int>.post("x")).attempts == 1)
        #expect(server.stop() == ["HTTP/2", "HTTP/1.1", "HTTP/1.1"])
    }

    // MARK: Connections that end

    @Test(
        "C44: a POST whose connection ends, after others have joined it, may have been processed, and is sent once",
        arguments: [
            "pass", "connection.sendall(frame(DATA, END_STREAM, stream, bytes(1 << 20)))",
            "connection.sendall(frame(HEADERS, END_HEADERS, 2, OK) + frame(DATA, END_STREAM, 2))",
        ])
    func endedForAll(end: String) async throws {
        let server = try await server(
            """
            def serve(connection, number):
                greet(connection)
                for _ in range(3 if number == 1 else 1):
                    stream, is_get = next_request(connection)
                    if not is_get: note("POST")
                \(end)
            """)
        let client = client(server, .standard)
        async let post = failure(Endpoint<Int>.post("x", body: .json(1)), client)
        await server.note()
        async let first = failure(Endpoint<Int>.get("x"), client)
        async let second = failure(Endpoint<Int>.get("x"), client)
        _ = try await (first, second)
        let failure = try await post
        #expect(failure.mayHaveReachedServer, "\(failure)")
        #expect(server.stop() == [])
    }

    /// Takes twenty requests on each connection. On the first two that have so many, it says so only when there are
    /// more; on later ones, at once.
    private static let turningOver = """
        ended = 0

        def serve(connection, number):
            global ended
            greet(connection)
            taken, waiting = 0, None
            while True:
                stream, _ = next_request(connection)
                taken += 1
                answer = frame(HEADERS, END_HEADERS, stream, OK) + frame(DATA, END_STREAM, stream, b"1")
                if taken < 20:
                    connection.sendall(answer)
                    continue
                if taken > 20: note("refused")
                if taken == 20:
                    with lock:
                        ended += 1
                        is_late = ended <= 2
                    answer = frame(GOAWAY, 0, 0, struct.pack(">II", stream, 0)) + answer
                    if is_late: waiting = answer
                    else: connection.sendall(answer)
                if taken > 20 and waiting:
                    connection.sendall(waiting)
                    waiting = None
        """

    @Test(
        "C44: after two connections that ended after as many requests, no call fails by that any more",
        .enabled(if: InstalledLibrary.explainsResets, InstalledLibrary.explainsNoReset))
    func turnover() async throws {
        let server = try await server(Self.turningOver)
        let client = client(server)
        let outcomes = Noted<[ServiceError?]>([])
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<50 {
                        let outcome = await Result { () async throws(ServiceError) in
                            try await client.run(Endpoint<Int>.post("x", body: .json(1)))
                        }
                        outcomes.update { $0.append(outcome.failure) }
                    }
                }
            }
        }
        #expect(server.stop().count >= 2)
        let failures = outcomes.value.compactMap(\.self)
        #expect(!failures.isEmpty)
        // The first ten connections are more than enough to learn it.
        #expect(outcomes.value.suffix(200).allSatisfy { $0 == nil }, "\(failures)")
    }
}
#endif
