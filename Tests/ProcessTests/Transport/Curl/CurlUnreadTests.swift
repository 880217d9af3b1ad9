#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Streams over HTTP/2 that are not read.
@Suite(
    "Unread streams over HTTP/2",
    .enabled(if: Program.openssl.isInstalled && Program.nginx.isInstalled, "openssl or nginx is not installed"),
    .enabled(if: InstalledLibrary.speaksHTTP2, InstalledLibrary.speaksNoHTTP2), .timeLimit(.minutes(10)))
struct CurlUnreadTests {
    private let authority: TestAuthority
    private let scratch: Scratch

    init() async throws {
        authority = try await TestAuthority()
        scratch = try Scratch()
    }

    /// Starts a server whose response to `/large` has more bytes than anything may take in memory.
    private func server() async throws -> HTTP2Server {
        try scratch.write("", to: "large")
        #expect(truncate(scratch.path("large"), 1 << 30) == 0)
        let server = try await HTTP2Server(
            authority.issue(),
            """
            location /large { alias "\(scratch.path("large"))"; default_type application/octet-stream; }
            """)
        server.backend.on(.get, "/x") { _ in .json("1") }
        server.backend.on(.get, "/held") { _ in .silence }
        return server
    }

    @Test(
        "C46: however many streams are not read, they take little memory beside calls, and leave nothing behind",
        .enabled(
            if: InstalledLibrary.version >= 0x075800,
            "libcurl 7.80: a stream that is not read holds up the other calls on its connection"))
    func bounded() async throws {
        let (server, other) = (try await server(), try LoopbackServer())
        other.onAny { _ in .json("1") }
        // Otherwise glibc keeps what is freed, if it has freed as much before.
        let environment = ["MALLOC_MMAP_THRESHOLD_": "131072"]
        let probe = try Child(
            "TransportProbe", ["unread", server.url, authority.file, "12", other.baseURL], environment: environment)
        let (lines, status) = try await probe.end()
        #expect(status == 0)
        CallsBeside.expect(lines)
        func megabytes(_ word: String) throws -> Int {
            let line = try #require(lines.first { $0.hasPrefix(word) }, "\(lines)")
            return try #require(line.split(separator: " ").last.flatMap { Int($0) })
        }
        // A stream on a connection that is read takes what the server may send on it, and the others a megabyte or two
        // each; with 8.4 and 8.6, ten. The next test sees whether they share a connection.
        #expect(try megabytes("taken") < 200, "\(lines)")
        #expect(try megabytes("left") < 32, "\(lines)")
    }

    @Test("C44, C46: no two streams share a connection; those that come one after the other use one, and calls join it")
    func alone() async throws {
        let server = try await server()
        let transport = authority.transport()
        server.backend.on(.get, "/begun") { _ in
            LoopbackReply([.write(Data("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n1".utf8)), .silence])
        }
        func response(_ path: String, _ delivery: TransportContext.Delivery) async throws -> HTTPResponse {
            let request = HTTPRequest(method: .get, url: try HTTPURL("\(server.url)/\(path)"))
            return try await transport.send(request, context: TransportContext(delivery: delivery))
        }
        for _ in 0..<5 { for try await _ in try await response("x", .stream).body.chunks {} }
        #expect(server.connections.count == 1)
        var held: [HTTPResponse] = []
        for _ in 0..<5 { held.append(try await response("begun", .stream)) }
        #expect(server.connections.count == 5)
        for _ in 0..<5 { _ = try await response("x", .whole) }
        #expect(server.connections.count == 5)
        withExtendedLifetime(held) {}
    }
}
#endif
