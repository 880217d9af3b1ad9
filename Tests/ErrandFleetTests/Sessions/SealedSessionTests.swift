import Errand
import ErrandFleet
import ErrandSimulation
import ErrandTestSupport
import Foundation
import Testing

@Suite("Sessions in a fleet's store", .timeLimit(.minutes(10))) struct SealedSessionTests {
    private let scene: SessionScene
    private let recordKey = "errand/test/sessions/api"

    init() throws {
        scene = try SessionScene()
    }

    private func session(_ revision: Int = 0, id: UUID = UUID()) -> SavedSession {
        let token = Token(accessToken: "access.\(revision)", refreshToken: "refresh.\(revision)")
        return SavedSession(id: id, revision: revision, token: token, received: Date(timeIntervalSince1970: 1e9 + 0.1))
    }

    /// Puts bytes in the place of a record.
    private func put(_ bytes: [UInt8], at key: String? = nil) async throws {
        let key = key ?? recordKey
        let revision = try await scene.store.read(key)?.revision
        guard case .written = try await scene.store.write(bytes, to: key, replacing: revision) else {
            throw NotReady(what: "the record")
        }
    }

    private func bytes(at key: String? = nil) async throws -> [UInt8] {
        try #require(try await scene.store.read(key ?? recordKey)).bytes
    }

    /// Expects that nothing reads or overwrites the record.
    private func expect(_ kind: TokenPersistenceError.Kind, of sessions: FleetSessions) async throws {
        let before = try await scene.store.read(sessions.storeKey)
        #expect(await sessionProblem { try await sessions.load() } == kind)
        #expect(await sessionProblem { try await sessions.save(session()) } == kind)
        #expect(await sessionProblem { try await sessions.save(nil) } == kind)
        #expect(await sessionProblem { try await sessions.replace(session().version, with: session(1)) } == kind)
        let hasRun = Noted(false)
        #expect(await sessionProblem { try await sessions.exclusively { _ in hasRun.value = true } } == kind)
        #expect(!hasRun.value)
        #expect(try await scene.store.read(sessions.storeKey) == before)
    }

    @Test("a session is saved, found by another node, replaced at its version only, and removed")
    func roundTrip() async throws {
        let (one, other) = (scene.sessions(), scene.sessions())
        #expect(try await one.load() == nil)
        let first = session()
        try await one.save(first)
        #expect(try await other.load() == first)
        let second = session(1, id: first.id)
        #expect(try await other.replace(first.version, with: second))
        #expect(try await one.replace(first.version, with: session(2, id: first.id)) == false)
        #expect(try await one.load() == second)
        #expect(try await one.replace(second.version, with: nil))
        #expect(try await other.load() == nil)
        #expect(try await other.replace(second.version, with: first) == false)
    }

    @Test("F8: what is stored, and what is printed, shows no token and no key")
    func secrets() async throws {
        try await scene.sessions().save(session())
        struct Envelope: Decodable {
            var version: Int
            var key: String
            var sealed: Data
        }
        let whole = Data(try await bytes())
        let members = try JSONDecoder().decode([String: JSONValue].self, from: whole)
        #expect(members.keys.sorted() == ["key", "sealed", "version"])
        let envelope = try JSONDecoder().decode(Envelope.self, from: whole)
        #expect(envelope.key == "k1")
        // Without its Base64, which would hide a readable text.
        let sealed = String(decoding: envelope.sealed, as: UTF8.self)
        for secret in ["access", "refresh"] { #expect(!sealed.contains(secret)) }
        var dumped = "\(scene.key) \(String(reflecting: scene.key))"
        dump(scene.key, to: &dumped)
        #expect(!dumped.contains("BwcH") && !dumped.contains("7, 7"))
    }

    @Test("F8: another key is unknown, and one with the same name does not fit")
    func wrongKey() async throws {
        try await scene.sessions().save(session())
        let unknown = try FleetKey(id: "k2", rawRepresentation: scene.key.rawRepresentation)
        try await expect(.unknownKey, of: scene.sessions(key: unknown))
        try await expect(.notAuthentic, of: scene.sessions(key: try FleetKey(id: "k1")))
    }

    @Test("F8: each changed byte is noticed")
    func changed() async throws {
        struct Envelope: Decodable, Equatable {
            var version: Int
            var key: String
            var sealed: Data
        }
        func envelope(_ bytes: [UInt8]) -> Envelope? { try? JSONDecoder().decode(Envelope.self, from: Data(bytes)) }
        try await scene.sessions().save(session())
        let whole = try await bytes()
        for index in whole.indices {
            var bytes = whole
            bytes[index] ^= 1
            // The last bits of Base64 may stand for nothing.
            if envelope(bytes) == envelope(whole) { continue }
            try await put(bytes)
            let problem = await sessionProblem { try await scene.sessions().load() }
            #expect([.notAuthentic, .unknownKey].contains(problem))
        }
        try await put(Array(whole.dropLast(10)))
        try await expect(.notAuthentic, of: scene.sessions())
        try await put([])
        try await expect(.notAuthentic, of: scene.sessions())
        try await put(whole)
        #expect(try await scene.sessions().load() != nil)
    }

    @Test("F8: a record that was moved to another name does not belong there")
    func moved() async throws {
        try await scene.sessions("api").save(session())
        try await put(try await bytes(), at: "errand/test/sessions/other")
        try await expect(.notAuthentic, of: scene.sessions("other"))
    }

    @Test("F8: an older record that was put back is noticed by a node that has seen a newer one")
    func putBack() async throws {
        let (one, other) = (scene.sessions(), scene.sessions())
        let first = session()
        try await one.save(first)
        let backup = try await bytes()
        #expect(try await other.replace(first.version, with: session(1, id: first.id)))
        // The one that has written it, and one that has read it.
        let reader = scene.sessions()
        #expect(try await reader.load()?.revision == 1)
        try await put(backup)
        try await expect(.outdated, of: other)
        try await expect(.outdated, of: reader)
        // Neither is a sign-out undone.
        try await scene.sessions().discard()
        try await one.save(first)
        let signedIn = try await bytes()
        try await one.save(nil)
        try await put(signedIn)
        try await expect(.outdated, of: one)
    }

    @Test("F8: another record with the same number of writes is noticed, too")
    func fork() async throws {
        let one = scene.sessions()
        let first = session()
        try await one.save(first)
        let backup = try await bytes()
        #expect(try await one.replace(first.version, with: session(1, id: first.id)))
        try await put(backup)
        // A node that knows of nothing goes on from the backup.
        #expect(try await scene.sessions().replace(first.version, with: session(1, id: first.id)))
        try await expect(.outdated, of: one)
    }

    @Test("F8: a record that cannot be used is removed on request, and the next sign-in is seen by all")
    func discard() async throws {
        let (one, other) = (scene.sessions(), scene.sessions())
        try await one.save(session())
        #expect(try await other.load() != nil)
        try await put([1, 2, 3])
        #expect(await sessionProblem { try await one.load() } == .notAuthentic)
        try await one.discard()
        #expect(try await other.load() == nil)
        let next = session()
        // With a key and a node that know nothing of what was before.
        try await scene.sessions().save(next)
        #expect(try await one.load() == next)
        #expect(try await other.load() == next)
    }

    @Test("keys are replaced one after the other: a former key reads, and the next write uses the new one")
    func rotation() async throws {
        let (old, new) = (scene.key, try FleetKey(id: "k2"))
        let first = session()
        try await scene.sessions().save(first)
        let early = scene.sessions(key: old, oldKeys: [new])
        let late = scene.sessions(key: new, oldKeys: [old])
        #expect(try await late.load() == first)
        #expect(try await late.replace(first.version, with: session(1, id: first.id)))
        #expect(String(decoding: try await bytes(), as: UTF8.self).contains("k2"))
        #expect(try await early.load()?.revision == 1)
        #expect(try await scene.sessions(key: new).load()?.revision == 1)
        try await expect(.unknownKey, of: scene.sessions())
    }

    @Test("a key has 32 bytes and a name")
    func keys() throws {
        let bytes = Data(repeating: 1, count: 32)
        #expect(try FleetKey(id: "a.b-c_1", base64: "\(bytes.base64EncodedString())\n").rawRepresentation == bytes)
        #expect(throws: ServiceError.self) { try FleetKey(id: "a", rawRepresentation: Data(count: 16)) }
        #expect(throws: ServiceError.self) { try FleetKey(id: "a", base64: "%") }
        for id in ["", "a b", "a/b", String(repeating: "a", count: 65)] {
            #expect(throws: ServiceError.self) { try FleetKey(id: id, rawRepresentation: bytes) }
        }
        #expect(try FleetKey(id: "a") != FleetKey(id: "a"))
    }

    @Test("a write whose answer was lost is made once, and found")
    func lostAnswers() async throws {
        let store = FaultyStore(scene.store)
        let sessions = scene.sessions(in: store)
        let first = session()
        try await sessions.save(first)
        for (round, fault) in [FaultyStore.Fault.loseAnswer, .loseWrite].enumerated() {
            let before = session(round, id: first.id)
            store.failWrites(fault, fault)
            #expect(try await sessions.replace(before.version, with: session(round + 1, id: first.id)))
            #expect(try await scene.sessions().load()?.revision == round + 1)
        }
        store.failWrites(.loseAnswer)
        try await sessions.save(nil)
        #expect(try await scene.sessions().load() == nil)
    }

    @Test("a session that is being saved is saved, even if the task is canceled")
    func canceled() async throws {
        let first = session()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await scene.sessions().save(first)
        }
        task.cancel()
        try await task.value
        #expect(try await scene.sessions().load() == first)
    }

    @Test("F13: others learn of each new session, and not of marks")
    func changes() async throws {
        let (one, other) = (scene.sessions(), scene.sessions())
        var changes = try #require(other.changes()).makeAsyncIterator()
        await changes.next()
        let first = session()
        try await one.save(first)
        await changes.next()
        #expect(try await other.load() == first)
        // Two marks and their removals are no change; the next element is the new session.
        for _ in 0..<2 { try await one.exclusively { _ in } }
        #expect(try await one.replace(first.version, with: session(1, id: first.id)))
        await changes.next()
        #expect(try await other.load()?.revision == 1)
    }
}
