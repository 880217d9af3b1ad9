#if os(Linux)
import Errand
import ErrandTestSupport
import Foundation
import Testing

/// Calls that begin at once, to a server that no connection leads to yet. The first of them shows whether the others
/// can share its connection.
@Suite(
    "The first calls to a server",
    .enabled(
        if: Program.openssl.isInstalled && Program.python3.isInstalled, "openssl or python3 is not installed"),
    .timeLimit(.minutes(10)))
struct CurlFirstCallsTests {
    /// What the server does with the first connection: its handshake, or nothing.
    private enum First: String {
        case connected = "shake_hands(context, plain, number)"
        case ignored = #"note("ignored"); plain.recv(1, socket.MSG_PEEK); time.sleep(60)"#
    }

    /// Begins the handshakes after the first one when seven have come, and completes a response when `bodies` have
    /// begun.
    private static func script(_ first: First, bodies: Int) -> String {
        """
        handshakes, bodies = threading.Barrier(7), threading.Barrier(\(bodies))
        shake_hands = begin

        def begin(context, plain, number):
            if number == 1:
                \(first.rawValue)
            else:
                handshakes.wait()
                shake_hands(context, plain, number)

        def serve(connection, number):
            # A call that begins late may find a connection free.
            while True:
                head(connection)
                connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n")
                bodies.wait()
                connection.sendall(b"ok")
        """
    }

    private func send(_ transport: CurlTransport, _ url: String, timeout: Duration? = .seconds(30)) async -> String {
        do {
            let request = HTTPRequest(method: .get, url: try HTTPURL(url))
            return "\(try await transport.send(request, context: TransportContext(timeout: timeout)).status)"
        } catch {
            return "\(error)"
        }
    }

    private func send(_ calls: Int, _ transport: CurlTransport, _ url: String) async -> [String] {
        await withTaskGroup(of: String.self) { group in
            for _ in 0..<calls { group.addTask { await send(transport, url) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test(
        "C44: over HTTP/1.1, they wait for one handshake, and make their connections at the same time then",
        arguments: ["localhost", "127.0.0.1"])
    func together(_ host: String) async throws {
        let authority = try await TestAuthority()
        let server = try await PythonServer(authority.issue(to: host), Self.script(.connected, bodies: 8))
        let url = server.url.replacing("localhost", with: host)
        let ends = await send(8, authority.transport(), url)
        #expect(ends == Array(repeating: "200", count: 8))
    }

    @Test(
        "C44: if the first handshake takes too long, the others do not wait for its timeout, which is that of all",
        arguments: [.seconds(30), nil] as [Duration?])
    func late(timeout: Duration?) async throws {
        let authority = try await TestAuthority()
        let server = try await PythonServer(authority.issue(), Self.script(.ignored, bodies: 7))
        let (transport, url) = (authority.transport(), server.url)
        let ends = await withTaskGroup(of: String.self) { group in
            for _ in 0..<8 { group.addTask { await send(transport, url, timeout: timeout) } }
            var ends: [String] = []
            while ends.count < 7, let end = await group.next() { ends.append(end) }
            // What is left is the call whose connection the server ignores.
            group.cancelAll()
            return await group.reduce(into: ends) { $0.append($1) }
        }
        #expect(ends == Array(repeating: "200", count: 7) + ["\(ServiceError.cancelled)"])
    }

    @Test(
        "C1: the permit of a call counts from when its connection is open",
        .enabled(if: InstalledLibrary.announcesRequests, InstalledLibrary.announcesNothing))
    func permit() async throws {
        let authority = try await TestAuthority()
        let script = """
            shake_hands = begin

            def begin(context, plain, number):
                time.sleep(0.3)
                shake_hands(context, plain, number)

            def serve(connection, number):
                head(connection)
                connection.sendall(b"HTTP/1.1 204 No Content\\r\\n\\r\\n")
            """
        let server = try await PythonServer(authority.issue(), script)
        let client = APIClient(server.url) {
            $0.transport = authority.transport()
            $0.rateLimit = .requests(1, per: .seconds(1000))
        }
        let time: any TimeSource = .system
        let start = time.now
        try await client.run(Endpoint<NoContent>.get("a"))
        #expect(client.limiter.snapshot.nextGrant >= start.advanced(by: .seconds(1000.3)))
    }

    @Test("C44: if the first call is cancelled during its handshake, the next one makes a connection")
    func cancelled() async throws {
        let authority = try await TestAuthority()
        let script = Self.script(.ignored, bodies: 1).replacing("Barrier(7)", with: "Barrier(1)")
        let server = try await PythonServer(authority.issue(), script)
        let (transport, url) = (authority.transport(), server.url)
        let first = Task { await send(transport, url) }
        await server.note()
        let others = Task { await send(7, transport, url) }
        first.cancel()
        let ends = await others.value
        #expect(ends == Array(repeating: "200", count: 7))
        #expect(await first.value == "\(ServiceError.cancelled)")
    }
}
#endif
