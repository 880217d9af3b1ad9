#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// What is left when clients have ended, in a process that does nothing else.
@Suite("What libcurl leaves behind", .timeLimit(.minutes(10))) struct CurlLeftoversTests {
    @Test("C25: each descriptor and each thread ends with its client", arguments: ["shutdown", "drop"])
    func leftovers(ending: String) async throws {
        let server = try LoopbackServer()
        server.on(.get, "/x") { _ in .json("1") }
        server.on(.get, "/silent") { _ in .silence }
        let probe = try Child("TransportProbe", ["leftovers", server.baseURL, ending])
        let counts = try await probe.end().lines.map { line in line.split(separator: " ").compactMap { Int($0) } }
        try #require(counts.count == 3 && counts.allSatisfy { $0.count == 2 }, "\(counts)")
        let (before, meanwhile, after) = (counts[0], counts[1], counts[2])
        // Ten clients, which share connections and the threads of a transport.
        #expect(meanwhile[0] > before[0] && (1...8).contains(meanwhile[1] - before[1]), "\(counts)")
        #expect(after[0] <= before[0] && after[1] <= before[1], "\(counts)")
    }

    /// OpenSSL's own handler at exit would free what libcurl's thread uses.
    @Test(
        "a program can end while its transport makes connections over TLS",
        .enabled(if: InstalledLibrary.canAskTLS, InstalledLibrary.leavesNoHandlerOut),
        .enabled(
            if: Program.openssl.isInstalled && Program.python3.isInstalled, "openssl or python3 is not installed"))
    func ending() async throws {
        let authority = try await TestAuthority()
        let server = try await PythonServer(
            authority.issue(),
            """
            def serve(connection, number):
                head(connection)
                connection.sendall(b"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: 0\\r\\n\\r\\n")
            """)
        let children = try (0..<4).map { _ in try Child("TransportProbe", ["ending", server.url, authority.file]) }
        for child in children {
            let (lines, status) = try await child.end()
            #expect(lines == ["200"] && status == 0)
        }
    }
}
#endif
