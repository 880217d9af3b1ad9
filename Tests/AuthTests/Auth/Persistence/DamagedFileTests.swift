@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// The valid file that the cases are derived from.
private let wholeFile = """
    {"version":1,"session":{"id":"6F6D3C2E-7B6B-4F0C-8B1B-0123456789AB","revision":1,"received":0,\
    "token":{"access":"a","type":"Bearer","scopes":[]}}}
    """

@Suite("A session file that cannot be used")
struct DamagedFileTests {
    private let scratch: Scratch
    private let file: FileTokenPersistence

    init() throws {
        scratch = try Scratch()
        file = FileTokenPersistence(path: scratch.path("session"))
    }

    @Test("C82: the file that the other cases are based on is valid")
    func good() async throws {
        try scratch.write(wholeFile, to: "session")
        #expect(try await file.load()?.token.accessToken == "a")
    }

    @Test(
        "C82: a damaged file is a typed error, and is kept aside unchanged",
        arguments: [
            "", "{", "[]", "null", "\0\0\0", "not JSON", #"{"version":1}"#, #"{"version":"1"}"#, #"{"session":{}}"#,
            String(wholeFile.dropLast(30)), wholeFile + "x",
            wholeFile.replacingOccurrences(of: "\"access\"", with: "\"excess\""),
            String(repeating: " ", count: 1 << 20) + wholeFile,
        ])
    func damaged(content: String) async throws {
        try scratch.write(content, to: "session")
        #expect(await problem { try await file.load() } == .damaged)
        #expect(try scratch.read("session.damaged") == content)
        #expect(!scratch.exists("session"))
        #expect(try await file.load() == nil)
    }

    @Test("C82: a file that another process put in place of a damaged one is not moved aside")
    func mended() async throws {
        try scratch.write(wholeFile, to: "session")
        try scratch.write("older", to: "session.damaged")
        let file = PrivateFile(path: scratch.path("session"))
        #expect(try file.setAside(.damaged, "is damaged", ifStillHolding: Data("{".utf8)) == nil)
        #expect(try await self.file.load()?.token.accessToken == "a")
        #expect(!scratch.exists("session.damaged"))
        #expect(try file.setAside(.damaged, "is damaged", ifStillHolding: Data(wholeFile.utf8))?.kind == .damaged)
        #expect(try scratch.read("session.damaged") == wholeFile)
        // The damaged file is gone by now, and the copy that was kept aside stays unchanged.
        #expect(try file.setAside(.damaged, "is damaged", ifStillHolding: Data("{".utf8))?.kind == .damaged)
        #expect(try scratch.read("session.damaged") == wholeFile)
        #expect(!scratch.exists("session"))
    }

    @Test("C82: every truncation of a valid file is reported, and none is read as a session")
    func truncated() async throws {
        for count in 0..<wholeFile.utf8.count {
            try scratch.write(String(wholeFile.prefix(count)), to: "session")
            #expect(await problem { try await file.load() } == .damaged, "the first \(count) bytes")
        }
    }

    @Test("C82: a file of a later version is reported as such, and is kept aside unchanged")
    func future() async throws {
        let content = #"{"version":2,"vault":"of the future"}"#
        try scratch.write(content, to: "session")
        #expect(await problem { try await file.load() } == .futureVersion)
        #expect(try scratch.read("session.damaged") == content)
    }

    @Test("C82: the message names the position, and contains nothing of the content")
    func message() async throws {
        try scratch.write("hunter2", to: "session")
        let error = await #expect(throws: TokenPersistenceError.self) { try await file.load() }
        let message = try #require(error?.message)
        #expect(message.contains(scratch.path("session.damaged")))
        #expect(!message.contains("hunter2"))
    }

    @Test("C82: the store reports it once; then the user is signed out, until the next sign-in")
    func store() async throws {
        try scratch.write("{", to: "session")
        let clock = TestClock()
        let tokens = TokenStore(persistence: file, time: clock) { $0 }
        let events = tokens.events
        try await clock.runTest {
            #expect(await failure(of: tokens.token)?.reason == .damaged)
            #expect(await failure(of: tokens.token) == .signInRequired)
            await tokens.signIn(Token(accessToken: "a"))
            let reported = await first(3, of: events)
            guard case .notSaved(let error) = try #require(reported.first) else {
                Issue.record("\(reported)")
                return
            }
            #expect(error.kind == .damaged)
            guard case .expired(let expiry) = reported[1] else { throw error }
            #expect(expiry.reason == .damaged && reported[2] == .signedIn)
        }
        #expect(try await file.load()?.token.accessToken == "a")
        #expect(try scratch.read("session.damaged") == "{")
    }
}
