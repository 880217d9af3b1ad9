// With the trait URLSession, FoundationNetworking loads libcurl before this library can ask for it, and a program
// without libcurl does not start.
#if os(Linux) && !URLSession
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Machines whose libcurl is missing or unsuitable: each test starts a process that finds another library first.
@Suite("The installed libcurl", .timeLimit(.minutes(10))) struct CurlLibraryTests {
    private static let needsCompiler: Comment = "clang is not installed"
    #if LinkedCurl
    // A program that libcurl is linked with does not start without these functions.
    private static let unsuitable = [0x074300]
    #else
    private static let unsuitable = [0, 0x074300]

    @Test("without a libcurl that can be opened, a call says what to install")
    func notThere() async throws {
        let said = try await StubLibrary(text: "no library").probe()
        #expect(said.hasPrefix("unavailable false"), "\(said)")
        #expect(said.contains("apt install libcurl4"), "\(said)")
        #expect(said.contains("libcurl.so.4"), "\(said)")
    }
    #endif

    @Test(
        "C94: a libcurl that is too old is not reported as missing",
        .enabled(if: Program.clang.isInstalled, needsCompiler), arguments: unsuitable)
    func tooOld(version: Int) async throws {
        let library =
            version == 0 ? try await StubLibrary(source: "int nothing;") : try await StubLibrary(version: version)
        let said = try await library.probe()
        #expect(said.hasPrefix("unavailable false"), "\(said)")
        #expect(said.contains("older than 7.68"), "\(said)")
    }

    @Test(
        "an unsupported option that was asked for fails the call, and is named",
        .enabled(if: Program.clang.isInstalled, needsCompiler),
        arguments: [
            (10230, "pin=x9SZw6TwIqfmvrLZ/kz1o0Ossjmn728BnBKpUFqGNVM=", "pinned public keys"),
            (10025, "identity=/dev/null", "client certificates"),
            (10087, "identity=/dev/null", "client certificates"),
            (10065, "authorities=/dev/null", "trusted certificates"),
            (10004, "proxy=http://127.0.0.1:1", "proxies"),
        ])
    func lacking(option: Int, asked: String, words: String) async throws {
        let library = try await StubLibrary(lacking: [option])
        let said = try await library.probe(asked)
        #expect(said.hasPrefix("unsupported false"), "\(said)")
        #expect(said.contains(words) && said.contains("stub"), "\(said)")
    }

    @Test(
        "a libcurl without TLS is not reported as an invalid response",
        .enabled(if: Program.clang.isInstalled, needsCompiler))
    func withoutTLS() async throws {
        // CURLE_UNSUPPORTED_PROTOCOL.
        let said = try await StubLibrary(result: 1).probe()
        #expect(said.hasPrefix("unsupported false"), "\(said)")
    }

    @Test(
        "C94: result codes that newer versions have instead of older ones",
        .enabled(if: Program.clang.isInstalled, needsCompiler),
        arguments: [
            // CURLE_TOO_LARGE, while a head is received; CURLE_SSL_CLIENTCERT.
            (["HTTP/1.1 200 OK"], 100, "malformed false"), ([], 98, "tls false"),
        ])
    func newer(lines: [String], result: Int, words: String) async throws {
        let said = try await StubLibrary(lines: lines, result: result).probe()
        #expect(said.hasPrefix(words), "\(said)")
    }

    @Test(
        "C37: an interim response is never the result, even if libcurl says that the transfer is complete",
        .enabled(if: Program.clang.isInstalled, needsCompiler))
    func interim() async throws {
        let said = try await StubLibrary(lines: ["HTTP/1.1 103 Early Hints", "Link: </a>", ""]).probe()
        #expect(said.hasPrefix("truncated") && said.contains("the connection ended before the response"), "\(said)")
        let complete = try await StubLibrary(lines: ["HTTP/1.1 103 Early Hints", "", "HTTP/1.1 204 Fine", ""]).probe()
        #expect(complete.hasPrefix("204"), "\(complete)")
    }

    @Test(
        "C94: minor features that an old libcurl lacks are skipped",
        .enabled(if: Program.clang.isInstalled, needsCompiler))
    func older() async throws {
        // CURLE_COULDNT_CONNECT; before 7.80 libcurl does not report connections.
        let said = try await StubLibrary(version: 0x074400, lacking: [20312, 10313], result: 7).probe()
        #expect(said.hasPrefix("refused false"), "\(said)")
    }

    @Test(
        "C11, C34, C94: before 7.80, no connection is used again under HTTP/1.1",
        .enabled(if: Program.clang.isInstalled, needsCompiler))
    func noSecondSend() async throws {
        let server = try LoopbackServer()
        server.onAny { _ in .json("1") }
        let library = try await StubLibrary(version: 0x074F00, lacking: [20312, 10313], before: InstalledLibrary.path)
        let url = server.baseURL + "/x"
        let probe = try Child(
            "TransportProbe", ["series", url, "PATCH\(url)", "POST\(url)"], environment: library.environment)
        let (lines, status) = try await probe.end()
        #expect(Array(lines.prefix(3)) == ["200", "200", "200"])
        #expect(status == 0)
        #expect(server.received.map(\.method) == [.get, .patch, .post] && server.connections == 3)
    }
}
#endif
