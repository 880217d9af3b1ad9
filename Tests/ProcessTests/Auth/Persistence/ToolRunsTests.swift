import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// A tool that a script starts twenty times at once: `TokenSharer run`.
@Suite("Many runs of a tool", .timeLimit(.minutes(10))) struct ToolRunsTests {
    private static let runs = 20

    private let scratch: Scratch
    private let file: FileTokenPersistence

    init() throws {
        scratch = try Scratch()
        file = FileTokenPersistence(path: scratch.path("session"))
    }

    /// Saves a session whose token has expired, runs the tool, and returns what was printed.
    private func run(_ token: Token, at server: String) async throws -> Set<String> {
        var token = token
        token.expiry = Date(timeIntervalSinceNow: -60)
        let received = Date(timeIntervalSinceNow: -3600)
        try await file.save(SavedSession(id: UUID(), token: token, received: received))
        // No one waits for another one: some load the session when others have replaced the token.
        let children = try (0..<Self.runs).map { _ in
            try Child("TokenSharer", ["run", scratch.path("session"), server])
        }
        var printed: Set<String> = []
        for child in children {
            let (lines, status) = try await child.end()
            #expect(status == 0 && lines.count == 1, "\(lines)")
            printed.formUnion(lines)
        }
        return printed
    }

    @Test("T15: an expired session costs one refresh, and nobody is signed out")
    func once() async throws {
        let token = Token(accessToken: "access.0", refreshToken: "refresh.0")
        #expect(try await run(token, at: scratch.path("server")) == ["access.1"])
        #expect(try scratch.read("server") == "refresh.0")
        #expect(try await file.load()?.token.refreshToken == "refresh.1")
    }

    #if os(Linux)
    @Test(
        "T15: the same at a real authorization server, which ends the session if a refresh token comes twice",
        .enabled(if: AuthlibServer.isAvailable, AuthlibServer.isMissing))
    func atServer() async throws {
        let server = try await AuthlibServer()
        let token = try await server.oauth().signIn(scopes: ["read"], using: server.browser)
        let printed = try await run(token, at: server.issuer)
        #expect(printed.count == 1 && !printed.contains(token.accessToken))
        #expect(try await server.spent() == ["used": 1, "again": 0])
        let saved = try #require(try await file.load())
        #expect(try await server.me(saved.token)["user"] == "ann")
    }
    #endif
}
