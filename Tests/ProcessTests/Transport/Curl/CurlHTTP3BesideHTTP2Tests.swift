#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// A server that speaks HTTP/3 over UDP and HTTP/2 over TCP, as most do that speak HTTP/3: an nginx, and a server of
/// aioquic on the same port number.
@Suite(
    "HTTP/3 beside HTTP/2, through libcurl", .enabled(if: HTTP3Server.isAvailable, HTTP3Server.isMissing),
    .enabled(if: Program.nginx.isInstalled, "nginx is not installed"),
    .enabled(if: InstalledLibrary.speaksHTTP2, InstalledLibrary.speaksNoHTTP2), .timeLimit(.minutes(10)))
struct CurlHTTP3BesideHTTP2Tests {
    private let authority: TestAuthority

    init() async throws {
        authority = try await TestAuthority()
    }

    /// Starts both. Each response announces HTTP/3.
    private func servers(
        _ datagrams: HTTP3Server.Datagrams = .taken
    ) async throws -> (front: HTTP2Server, server: HTTP3Server) {
        var failure: any Error = CancellationError()
        // Something else may have the port of UDP.
        for _ in 0..<5 {
            let front = try await HTTP2Server(authority.issue())
            do {
                let server = try await HTTP3Server(authority, datagrams: datagrams, beside: front)
                for method in [HTTPMethod.get, .post] {
                    front.backend.on(method, "/x", .json("1", headers: server.announcement).always)
                }
                return (front, server)
            } catch { failure = error }
        }
        throw failure
    }

    private func client(_ server: HTTP3Server, _ http3: CurlTransport.Options.HTTP3 = .whenAnnounced) -> APIClient {
        APIClient(server.url) {
            $0.transport = authority.transport { $0.http3 = http3 }
            $0.rateLimit = .unlimited
            $0.retry = .never
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
        }
    }

    private func version(_ client: APIClient, _ method: HTTPMethod = .get) async throws -> String? {
        let endpoint: Endpoint<Int> = method == .get ? .get("x") : .post("x")
        return try await client.reply(to: endpoint).timings?.httpVersion
    }

    /// The connections to nginx of the requests that have arrived.
    private func connectionsOverTCP(_ front: HTTP2Server) -> Set<String> {
        front.connections.filter { !$0.hasPrefix("h3-") }
    }

    @Test("C44, C96: HTTP/3 is tried beside a kept connection of HTTP/2, which is used again when UDP falls silent")
    func silence() async throws {
        let (front, server) = try await servers()
        let client = client(server)
        #expect(try await version(client) == "2")
        for _ in 0..<3 { #expect(try await version(client) == "3") }
        #expect(server.connections.subtracting(connectionsOverTCP(front)) == ["h3-1"])
        try await server.tell(.mute)
        let late = Endpoint<Int>.get("x").timeout(.seconds(4))
        let error = await #expect(throws: ServiceError.self) { try await client.run(late) }
        guard case .timedOut = error else { throw try #require(error) }
        for _ in 0..<3 { #expect(try await version(client) == "2") }
        #expect(connectionsOverTCP(front).count == 1)
        #expect(front.backend.received.count == 7)
    }

    @Test(
        "C11, C44, C96: where UDP is dropped, HTTP/3 falls back to HTTP/2, and a POST is sent once",
        arguments: [HTTPMethod.get, .post])
    func fallback(method: HTTPMethod) async throws {
        let (front, server) = try await servers(.mute)
        for http3 in [CurlTransport.Options.HTTP3.whenAnnounced, .assumed] {
            let client = client(server, http3)
            for _ in 0..<4 { #expect(try await version(client, method) == "2") }
        }
        #expect(front.backend.received.count == 8)
        // The one that tried HTTP/3 made a connection of its own, and the next ones tried nothing.
        #expect(connectionsOverTCP(front).count <= 3)
    }
}
#endif
