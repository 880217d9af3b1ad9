// With the other traits the program links libraries that need libcrypto to start.
#if os(Linux) && !URLSession && !LinkedCurl
import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("A process without libcrypto, such as one in a small container", .timeLimit(.minutes(10)))
struct MissingLibraryTests {
    private let scratch: Scratch
    private let file: FileTokenPersistence

    init() throws {
        scratch = try Scratch()
        file = FileTokenPersistence(path: scratch.path("session"))
    }

    /// Uses the session in a process that finds files in place of the library, and none of them is one.
    private func run() async throws -> (lines: [String], status: Int32) {
        for name in ["libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so"] {
            try scratch.write("not a library", to: name)
        }
        let others = ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"].map { ":\($0)" } ?? ""
        let child = try Child(
            "TokenSharer", ["run", scratch.path("session"), scratch.path("server")],
            environment: ["LD_LIBRARY_PATH": scratch.folder + others])
        return try await child.end()
    }

    @Test("S13, C82: a session whose token is bound to a key stays in the file for the processes that can use it")
    func bound() async throws {
        let token = Token(accessToken: "a", refreshToken: "r", type: "DPoP", proofKey: try SigningKey())
        let session = SavedSession(id: UUID(), token: token, received: Date(timeIntervalSince1970: 1_000_000_000))
        try await file.save(session)
        let (lines, status) = try await run()
        #expect(status == 1)
        #expect(lines.contains { $0.contains("libcrypto") && $0.contains("bound to a key") }, "\(lines)")
        #expect(try await file.load() == session)
        #expect(!scratch.exists("session.damaged"))
    }

    @Test("S13: a session without a key needs no library")
    func bearer() async throws {
        try await file.save(SavedSession(id: UUID(), token: Token(accessToken: "a"), received: Date()))
        let (lines, status) = try await run()
        #expect(lines == ["a"] && status == 0)
    }
}
#endif
