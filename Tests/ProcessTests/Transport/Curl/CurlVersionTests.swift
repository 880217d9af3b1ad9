#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite(
    "Versions of HTTP by choice", .enabled(if: Program.nginx.isInstalled, "nginx is not installed"),
    .timeLimit(.minutes(10)))
struct CurlVersionTests {
    @Test("without HTTP/2, a server that offers it is called over HTTP/1.1", arguments: [true, false])
    func firstVersion(allowsHTTP2: Bool) async throws {
        let authority = try await TestAuthority()
        let server = try await HTTP2Server(authority.issue())
        server.backend.on(.get, "/x", .json("1").always)
        let client = APIClient(server.url) {
            $0.transport = authority.transport {
                $0.allowsHTTP2 = allowsHTTP2
                $0.http3 = .assumed
            }
            $0.rateLimit = .unlimited
            $0.retry = .never
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
        }
        for _ in 0..<2 {
            let version = try await client.reply(to: Endpoint<Int>.get("x")).timings?.httpVersion
            #expect(version == (allowsHTTP2 && InstalledLibrary.speaksHTTP2 ? "2" : "1.1"))
        }
    }
}
#endif
