@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A lock that fails or is lost, and saves that compare", .timeLimit(.minutes(10)))
struct LostLockTests {
    private let clock = TestClock()
    private let shared = SharedSession()
    private let old = Token(accessToken: "ann", refreshToken: "r")

    /// Creates a store whose refresh takes ten seconds.
    private func store(
        _ result: @escaping @Sendable () throws -> Token = { Token(accessToken: "here", refreshToken: "r'") }
    ) -> TokenStore {
        TokenStore(persistence: shared.handle(), time: clock) { [clock] _ in
            try await clock.sleep(for: .seconds(10))
            return try result()
        }
    }

    private func saved(_ access: String, revision: Int, expiry: Date? = nil) throws -> SavedSession {
        let id = try #require(shared.saved?.id)
        let token = Token(accessToken: access, refreshToken: "r", expiry: expiry)
        return SavedSession(id: id, revision: revision, token: token, received: clock.date)
    }

    @Test("T15: a lock that cannot be acquired fails the refresh, and the refresh token is not sent")
    func notAcquired() async throws {
        let runs = Noted(0)
        let tokens = TokenStore(persistence: shared.handle(), time: clock) { _ in
            runs.update { $0 += 1 }
            return Token(accessToken: "new")
        }
        try await clock.runTest {
            await tokens.signIn(old)
            shared.failAcquisition(with: TokenPersistenceError(.other, "no leader"))
            let error = await failure { () async throws(ServiceError) in try await tokens.replacement(for: old) }
            #expect(error == .transport(TransportFailure(.storage, "no leader")))
            #expect(runs.value == 0)
            shared.failAcquisition(with: nil)
            let newer = try await tokens.replacement(for: old)
            #expect(newer.accessToken == "new")
        }
    }

    @Test("T15: a lock that is lost before the refresh token is sent fails the refresh, and it is not sent")
    func lostBefore() async throws {
        let runs = Noted(0)
        let disk = LosingPersistence()
        let tokens = TokenStore(persistence: disk, time: clock) { _ in
            runs.update { $0 += 1 }
            return Token(accessToken: "new")
        }
        try await clock.runTest {
            await tokens.signIn(old)
            disk.isLosing.value = true
            let error = await failure { () async throws(ServiceError) in try await tokens.replacement(for: old) }
            #expect(error == .transport(TransportFailure(.storage, "lost")))
            #expect(runs.value == 0)
            disk.isLosing.value = false
            let newer = try await tokens.replacement(for: old)
            #expect(newer.accessToken == "new")
        }
    }

    @Test("a lock that is lost before a sign-in is saved leaves what is saved alone, and that is reported")
    func lostBeforeSave() async throws {
        let disk = LosingPersistence()
        let tokens = TokenStore(persistence: disk, time: clock) { $0 }
        let events = tokens.events
        try await clock.runTest {
            disk.isLosing.value = true
            await tokens.signIn(old)
            #expect(await first(2, of: events) == [.signedIn, .notSaved(TokenPersistenceError(.lockLost, "lost"))])
            #expect(disk.saved.load() == nil)
        }
    }

    @Test("T15: the lock is lost during the refresh and another machine refreshes; its token is used by both")
    func lostDuring() async throws {
        let tokens = store()
        try await clock.runTest {
            await tokens.signIn(old)
            async let waiting = tokens.replacement(for: old)
            try await clock.sleep(for: .seconds(5))
            shared.revoke()
            // Not announced: the save finds it.
            shared.put(try saved("there", revision: 1), notifying: false)
            #expect(try await waiting.accessToken == "there")
            #expect(shared.saved?.token.accessToken == "there")
            #expect(clock.elapsed == .seconds(10))
        }
    }

    @Test("T15: the token that another machine saved during the refresh has expired; it is refreshed, not overwritten")
    func expiredMeanwhile() async throws {
        let tokens = TokenStore(persistence: shared.handle(), time: clock) { [clock] old in
            try await clock.sleep(for: .seconds(10))
            return Token(accessToken: old.accessToken + "'", refreshToken: "r")
        }
        try await clock.runTest {
            await tokens.signIn(old)
            async let waiting = tokens.replacement(for: old)
            try await clock.sleep(for: .seconds(5))
            // The revision that this refresh is about to save. Not announced: the save finds it.
            let there = try saved("there", revision: 1, expiry: clock.date.addingTimeInterval(2))
            shared.put(there, notifying: false)
            #expect(try await waiting.accessToken == "there'")
            #expect(shared.saved?.token.accessToken == "there'" && shared.saved?.revision == 2)
        }
    }

    @Test("T14: the lock is lost during the refresh and no other process uses it; the new token is saved all the same")
    func lostAndFree() async throws {
        let tokens = store()
        try await clock.runTest {
            await tokens.signIn(old)
            async let waiting = tokens.replacement(for: old)
            try await clock.sleep(for: .seconds(5))
            shared.revoke()
            #expect(try await waiting.accessToken == "here")
            #expect(shared.saved?.token.accessToken == "here")
        }
    }

    @Test("T8, T9: a refusal after the lock was lost signs no user out: another machine may have used the token")
    func refused() async throws {
        let tokens = store { throw ServiceError.sessionExpired(SessionExpiry(.refreshRefused)) }
        try await clock.runTest {
            await tokens.signIn(old)
            async let error = failure { () async throws(ServiceError) in try await tokens.replacement(for: old) }
            try await clock.sleep(for: .seconds(5))
            shared.revoke()
            #expect(await error == .transport(TransportFailure(.storage, "the lease was revoked")))
            #expect(await tokens.isSignedIn)
            shared.put(try saved("there", revision: 1))
            try await clock.sleep(for: .seconds(1))
            #expect(try await tokens.token().accessToken == "there")
        }
    }

    @Test("T15: the refresh of a session that was never saved sends its request although the lock has ended")
    func neverSaved() async throws {
        let network = ScriptedTransport()
        network.on(.post, "/token", .json(#""new""#))
        let client = testClient(network, clock)
        let tokens = TokenStore(persistence: EndingPersistence(clock: clock), time: clock) { [clock] _ in
            try await clock.sleep(for: .seconds(10))
            return Token(accessToken: try await client.run(Endpoint<String>.post("token")))
        }
        try await clock.runTest {
            await tokens.signIn(old)
            let newer = try await tokens.replacement(for: old)
            #expect(newer.accessToken == "new")
        }
    }

    @Test(
        "T15: a session whose save has failed, and that was saved all the same, is not refreshed after its lock",
        arguments: [true, false])
    func savedUnnoticed(isReadable: Bool) async throws {
        let network = ScriptedTransport()
        let client = testClient(network, clock)
        let disk = EndingPersistence(clock: clock, losesOutcomes: true)
        let tokens = TokenStore(persistence: disk, time: clock) { [clock] _ in
            try await clock.sleep(for: .seconds(10))
            return Token(accessToken: try await client.run(Endpoint<String>.post("token")))
        }
        try await clock.runTest {
            await tokens.signIn(old)
            disk.isReadable.value = isReadable
            let error = await failure { () async throws(ServiceError) in try await tokens.replacement(for: old) }
            #expect(error != nil)
            try await clock.sleep(for: .seconds(30))
            #expect(network.sent.isEmpty, "another process may have sent the refresh token")
        }
    }

    @Test("T7: somebody signs in elsewhere during a refresh; the new token of the old session replaces nothing")
    func otherUser() async throws {
        let tokens = store()
        try await clock.runTest {
            await tokens.signIn(old)
            async let error = failure { () async throws(ServiceError) in try await tokens.replacement(for: old) }
            try await clock.sleep(for: .seconds(5))
            shared.revoke()
            let bo = SavedSession(id: UUID(), token: Token(accessToken: "bo"), received: clock.date)
            shared.put(bo, notifying: false)
            #expect(await error?.reason == .otherSession)
            #expect(shared.saved == bo)
            #expect(try await tokens.token().accessToken == "bo")
        }
    }

    @Test("an older revision that was put back during a refresh, as from a backup, is replaced")
    func backup() async throws {
        let tokens = store()
        try await clock.runTest {
            await tokens.signIn(old)
            let backup = try #require(shared.saved)
            let newer = try await tokens.replacement(for: old)
            async let waiting = tokens.replacement(for: newer)
            try await clock.sleep(for: .seconds(5))
            shared.put(backup)
            #expect(try await waiting.accessToken == "here")
            #expect(shared.saved?.revision == 2)
        }
    }

    @Test(
        "a persistence replaces only the version that it is asked to",
        arguments: ["memory", "file", "keychain", "default"])
    func replaces(kind: String) async throws {
        let scratch = try Scratch()
        let disk: any TokenPersistence =
            switch kind {
            case "memory": .memory
            case "file": .file(scratch.path("session"))
            case "keychain":
                KeychainSession(
                    keychain: FakeKeychain(), item: KeychainItem(service: "app", account: "me"), shared: nil,
                    lockTimeout: .seconds(10))
            default: CountingPersistence()
            }
        let ann = SavedSession(id: UUID(), revision: 3, token: old, received: clock.date)
        let newer = SavedSession(id: ann.id, revision: 4, token: Token(accessToken: "new"), received: clock.date)
        var replaced = try await disk.replace(ann.version, with: newer)
        var saved = try await disk.load()
        #expect(!replaced && saved == nil, "nothing was saved")
        try await disk.save(ann)
        replaced = try await disk.replace(newer.version, with: nil)
        #expect(!replaced, "another revision")
        replaced = try await disk.replace(SavedSession.Version(id: UUID(), revision: 3), with: newer)
        saved = try await disk.load()
        #expect(!replaced && saved?.version == ann.version, "another session")
        replaced = try await disk.replace(ann.version, with: newer)
        saved = try await disk.load()
        #expect(replaced && saved?.version == newer.version)
        replaced = try await disk.replace(newer.version, with: nil)
        saved = try await disk.load()
        #expect(replaced && saved == nil)
    }
}

/// A persistence in memory that loses its lock as soon as it has it, while it is told so.
private final class LosingPersistence: TokenPersistence {
    let saved = MemoryTokenPersistence()
    let isLosing = Noted(false)

    func load() -> SavedSession? { saved.load() }
    func save(_ session: SavedSession?) { saved.save(session) }

    func exclusively(_ body: @Sendable (SessionLock) async -> Void) async {
        let lock = SessionLock()
        if isLosing.value { lock.lose("lost") }
        await body(lock)
    }
}

/// A persistence that fails to save, and whose lock ends after five seconds.
private struct EndingPersistence: TokenPersistence {
    let clock: TestClock
    /// Whether it has saved the session all the same.
    var losesOutcomes = false
    let saved = MemoryTokenPersistence()
    let isReadable = Noted(true)

    func load() throws -> SavedSession? {
        guard isReadable.value else { throw TokenPersistenceError(.other, "busy") }
        return saved.load()
    }

    func save(_ session: SavedSession?) throws {
        if losesOutcomes, session != nil { saved.save(session) }
        throw TokenPersistenceError(.other, "full")
    }

    func exclusively(_ body: @Sendable (SessionLock) async -> Void) async {
        await body(SessionLock(until: clock.now.advanced(by: .seconds(5)), time: clock))
    }
}
