#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A command-line tool, run against a server", .timeLimit(.minutes(10)))
struct ReleaseToolTests {
    private let server: LoopbackServer
    private let home: Scratch

    init() throws {
        server = try LoopbackServer()
        home = try Scratch()
        server.on(.post, "/token", .json(#"{"access_token": "a1", "expires_in": 3600}"#))
    }

    /// Starts the tool, which is in the same folder as the tests.
    private func start(_ arguments: String..., input: String = "") throws -> Subprocess {
        var environment = ProcessInfo.processInfo.environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
        environment.merge(["HOME": home.folder, "RELEASES_SERVER": server.baseURL, "LANG": "C"]) { $1 }
        let itself = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let tool = URL(filePath: itself).deletingLastPathComponent().appending(path: "ReleaseTool")
        let process = try Subprocess(tool.path, arguments, environment: environment, errors: .withOutput)
        process.input.write(Data(input.utf8))
        try process.input.close()
        return process
    }

    private func end(_ process: Subprocess) async throws -> (said: String, code: CInt) {
        let (said, code) = try await process.outcome()
        return (String(decoding: said, as: UTF8.self), code)
    }

    @Test("one run signs in, and the next one uses the session")
    func session() async throws {
        server.on(.get, "/releases/1.0", .status(200, body: Data("release".utf8)))
        let signedOut = try await end(start("get", "1.0", home.path("release")))
        #expect(signedOut == ("\nYou need to sign in first.\n", 77))
        #expect(try await end(start("sign-in", "ann", input: "secret\n")) == ("", 0))
        let fetched = try await end(start("get", "1.0", home.path("release")))
        #expect(fetched.said.hasSuffix("100 %7 bytes in \(home.path("release"))\n") && fetched.code == 0)
        #expect(server.received.last?.headers["Authorization"] == "Bearer a1")
        #expect(String(decoding: server.received[0].body, as: UTF8.self).contains("password=secret"))
    }

    @Test("Ctrl-C ends a download, and the next run continues it")
    func interruption() async throws {
        let body = Data("release".utf8)
        let version: HTTPHeaders = ["ETag": "\"1\""]
        server.on(
            .get, "/releases/1.0", .status(200, headers: version, body: body).cut(.withinBody, by: .silence),
            .status(
                206, headers: ["ETag": "\"1\"", "Content-Range": "bytes 3-6/7"], body: body.suffix(4)))
        _ = try await end(start("sign-in", "ann", input: "secret\n"))
        let first = try start("get", "1.0", home.path("release"))
        // The first report of the progress.
        _ = try await Subprocess.waiting { first.output.availableData }
        first.interrupt()
        #expect(try await end(first).code == 130)
        #expect(try await end(start("get", "1.0", home.path("release"))).code == 0)
        #expect(try Data(contentsOf: URL(filePath: home.path("release"))) == body)
    }

    @Test("what is missing, and a usage that is wrong, have exit codes of their own")
    func codes() async throws {
        _ = try await end(start("sign-in", "ann", input: "secret\n"))
        #expect(try await end(start("get", "2.0", home.path("release"))) == ("\nThe server could not find this.\n", 1))
        #expect(try await end(start()).code == 64)
    }
}
#endif
