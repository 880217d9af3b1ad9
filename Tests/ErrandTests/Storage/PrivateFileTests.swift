@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The file of a session")
struct PrivateFileTests {
    private let scratch: Scratch
    private let file: FileTokenPersistence
    private let session = SavedSession(
        id: UUID(), revision: 3,
        token: Token(
            accessToken: "a", refreshToken: "r", type: "JWT", expiry: Date(timeIntervalSince1970: 2e9), scopes: ["x"]),
        received: Date(timeIntervalSince1970: 1e9))

    init() throws {
        scratch = try Scratch()
        file = FileTokenPersistence(path: scratch.path("session"))
    }

    @Test("C80: a saved session can be loaded; removing it leaves nothing, and removing it twice is fine")
    func roundTrip() async throws {
        #expect(try await file.load() == nil)
        try await file.save(session)
        #expect(try await file.load() == session)
        let byURL = FileTokenPersistence(url: URL(fileURLWithPath: scratch.path("session")))
        #expect(try await byURL.load() == session)
        try await file.save(nil)
        try await file.save(nil)
        #expect(try await file.load() == nil)
    }

    @Test("C80: the names in a saved session are fixed, so that each version of a program can read it")
    func names() throws {
        let token: JSONValue = [
            "access": "a", "refresh": "r", "type": "JWT", "expiry": 1_021_692_800, "scopes": ["x"],
        ]
        let written = try FastJSONDecoder().decode([String: JSONValue].self, from: try JSONEncoder().encode(session))
        #expect(written["token"] == token)
        let read = try JSONDecoder().decode(Token.self, from: try JSONEncoder().encode(token))
        #expect(read == session.token)
    }

    @Test("C80: the file and the lock have mode 0600, and folders that are created for them have 0700")
    func modes() async throws {
        let deep = FileTokenPersistence(path: scratch.path("app/tokens/session"))
        try await deep.exclusively { _ in }
        try await deep.save(session)
        #expect(try scratch.mode("app") == 0o700)
        #expect(try scratch.mode("app/tokens") == 0o700)
        #expect(try scratch.mode("app/tokens/session") == 0o600)
        #expect(try scratch.mode("app/tokens/session.lock") == 0o600)
    }

    @Test("C80: a file that others could read is private after the next save")
    func widerMode() async throws {
        try await file.save(session)
        try scratch.setMode(0o644, of: "session")
        try scratch.setMode(0o755, of: ".")
        try await file.save(session)
        #expect(try scratch.mode("session") == 0o600)
        #expect(try scratch.mode(".") == 0o755, "a folder that was there is used as it is")
    }

    @Test("C80: a symbolic link at the file's path is neither read nor written through")
    func symbolicLink() async throws {
        try scratch.write("treasure", to: "target")
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path("session"), withDestinationPath: scratch.path("target"))
        #expect(await problem { try await file.load() } == .symbolicLink)
        #expect(await problem { try await file.save(session) } == .symbolicLink)
        #expect(try scratch.read("target") == "treasure")
    }

    @Test("C80: a symbolic link at the draft's path is not written through")
    func draftLink() async throws {
        try scratch.write("treasure", to: "target")
        try FileManager.default.createSymbolicLink(
            atPath: scratch.path("session.new"), withDestinationPath: scratch.path("target"))
        try await file.save(session)
        #expect(try scratch.read("target") == "treasure")
        #expect(try await file.load() == session)
    }

    @Test("C80: a folder at the file's path is reported, and left alone")
    func folderInTheWay() async throws {
        try FileManager.default.createDirectory(
            atPath: scratch.path("session/inner"), withIntermediateDirectories: true)
        #expect(await problem { try await file.load() } == .notAFile)
        #expect(await problem { try await file.save(session) } == .notAFile)
        #expect(await problem { try await file.save(nil) } == .notAFile)
        #expect(scratch.exists("session/inner"))
    }

    @Test("C80: a pipe at the file's path is reported, and opening it does not block", .timeLimit(.minutes(10)))
    func pipeInTheWay() async throws {
        #expect(mkfifo(scratch.path("session"), 0o600) == 0)
        #expect(await problem { try await file.load() } == .notAFile)
        #expect(await problem { try await file.save(session) } == .notAFile)
    }

    @Test("C80: a folder that cannot be created or written", arguments: ["plain/session", "plain/deep/session"])
    func unwritable(path: String) async throws {
        try scratch.write("", to: "plain")
        let file = FileTokenPersistence(path: scratch.path(path))
        #expect(await problem { try await file.load() } == .missingFolder)
        #expect(await problem { try await file.save(session) } == .unwritable)
        try await file.save(nil)
    }

    @Test("C80: a session that cannot be saved continues in memory, and is refreshed there; each failure is reported")
    func memoryGoesOn() async throws {
        try scratch.write("", to: "plain")
        let clock = TestClock()
        let server = AuthServer(clock)
        let file = FileTokenPersistence(path: scratch.path("plain/session"))
        let tokens = TokenStore(persistence: file, time: clock) { try await server.refresh($0) }
        let events = tokens.events
        try await clock.runTest {
            await tokens.signIn(server.signIn("ann"))
            let second = try await tokens.replacement(for: server.token("ann", 0))
            let third = try await tokens.replacement(for: second)
            #expect(third.accessToken == "ann.2")
            let reported = await first(5, of: events).map { event in
                if case .notSaved(let error) = event { "not saved: \(error.kind)" } else { "\(event)" }
            }
            #expect(
                reported == ["signedIn", "not saved: unwritable", "not saved: unwritable", "refreshed"]
                    + ["not saved: unwritable"])
        }
    }
}
