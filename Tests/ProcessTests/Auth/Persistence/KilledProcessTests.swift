import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("A process that dies", .timeLimit(.minutes(10)))
struct KilledProcessTests {
    private let scratch: Scratch
    private let file: FileTokenPersistence

    init() throws {
        scratch = try Scratch()
        file = FileTokenPersistence(path: scratch.path("session"))
    }

    @Test("C81: after a kill at any point of a write, the file holds the old session or the new one, whole")
    func killedWhileWriting() async throws {
        var last = 0
        for _ in 0..<40 {
            let child = try Child("rewrite", scratch.path("session"))
            try await child.firstWord()
            // Another process is killed at a moment of real time, so that any point of its write may be hit.
            try await Task.sleep(for: .microseconds(Int.random(in: 0...8000)))
            child.kill()
            let (_, status) = try await child.end()
            #expect(status == SIGKILL)
            let session = try #require(try await file.load())
            #expect(session.token.accessToken == String(repeating: "\(session.revision).", count: 40_000))
            #expect(session.revision > last, "the next process goes on where the killed one was")
            last = session.revision
        }
    }

    @Test("C81: the draft that a killed process left half written is removed with the session")
    func draftGoes() async throws {
        try scratch.write("{\"version\":1,", to: "session.new")
        let session = SavedSession(id: UUID(), token: Token(accessToken: "a"), received: Date())
        try await file.save(session)
        #expect(try await file.load() == session)
        #expect(!scratch.exists("session.new"))
        try scratch.write("{\"version\":1,", to: "session.new")
        try await file.save(nil)
        #expect(!scratch.exists("session"))
        #expect(!scratch.exists("session.new"))
    }

    @Test(
        "T14: the process dies as soon as the first waiter continues; the new token is on the disk", arguments: 0..<10)
    func diesAfterRotation(_: Int) async throws {
        let old = SavedSession(id: UUID(), token: Token(accessToken: "old", refreshToken: "old"), received: Date())
        try await file.save(old)
        let (_, status) = try await Child("die", scratch.path("session")).end()
        #expect(status == SIGKILL)
        let saved = try #require(try await file.load())
        #expect(saved.token == Token(accessToken: "rotated", refreshToken: "rotated"))
        #expect(saved.id == old.id)
        #expect(saved.revision == 1)
    }

    @Test("C80: the disk is full after a rotation; the new token is used from memory, and the error is reported")
    func fullDisk() async throws {
        let old = SavedSession(id: UUID(), token: Token(accessToken: "old", refreshToken: "old"), received: Date())
        try await file.save(old)
        let (lines, status) = try await Child("fill", scratch.path("session")).end()
        #expect(status == 0)
        #expect(lines == ["rotated", "rotated", "notSaved unwritable"])
        #expect(try await file.load() == old, "the file is whole")
        #expect(!scratch.exists("session.new"))
    }
}
