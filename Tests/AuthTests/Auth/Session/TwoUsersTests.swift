@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Synchronization
import Testing

@Suite("What one user's session leaves to the next")
struct TwoUsersTests {
    @Test("an old token of the previous user signs no user out")
    func oldToken() async throws {
        let scene = AuthScene()
        try await scene.clock.runTest {
            let old = scene.server.signIn("ann")
            await scene.tokens.signIn(old)
            _ = try await scene.tokens.replacement(for: old)
            await scene.tokens.signIn(scene.server.signIn("bo"))
            await scene.tokens.signOut(of: old)
            #expect(await scene.tokens.isSignedIn)
            #expect(scene.disk.load()?.token.accessToken == "bo.0")
        }
    }

    @Test("a store remembers the last sixteen tokens that were replaced")
    func memory() {
        var state = SessionState<Int>(leeway: 0)
        let (id, start) = (UUID(), Date(timeIntervalSince1970: 0))
        func session(_ number: Int) -> SavedSession {
            SavedSession(id: id, revision: number, token: Token(accessToken: "\(number)"), received: start)
        }
        _ = state.signIn(session(0))
        for number in 1...20 {
            _ = state.startRefresh(number, of: id)
            _ = state.complete(number, with: session(number), at: .zero)
            #expect(state.session == session(number))
        }
        #expect(state.replaced == (4..<20).map { "\($0)" })
    }

    @Test("if the new session cannot be saved, the old one is removed, and the next start is signed out")
    func unsaved() async throws {
        let clock = TestClock()
        let disk = ReadOnlyPersistence()
        let tokens = TokenStore(persistence: disk, time: clock) { $0 }
        let events = tokens.events
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "ann"))
            #expect(disk.load()?.token.accessToken == "ann")
            disk.isFull.store(true, ordering: .relaxed)
            await tokens.signIn(Token(accessToken: "bo"))
            #expect(disk.load() == nil)
            let present = try await tokens.token()
            #expect(present.accessToken == "bo")
            #expect(
                await first(3, of: events)
                    == [.signedIn, .signedIn, .notSaved(TokenPersistenceError(.unwritable, "full"))])
        }
    }

    @Test(
        "signing out before the session was read removes the saved session, and is reported",
        .timeLimit(.minutes(10)))
    func signOutFirst() async throws {
        let clock = TestClock()
        let disk = MemoryTokenPersistence()
        disk.save(SavedSession(id: UUID(), token: Token(accessToken: "ann"), received: clock.date))
        let tokens = TokenStore(persistence: disk, time: clock) { $0 }
        let events = tokens.events
        try await clock.runTest {
            await tokens.signOut()
            #expect(disk.load() == nil)
            await tokens.signIn(Token(accessToken: "bo"))
            #expect(await first(2, of: events) == [.signedOut, .signedIn])
        }
    }

    @Test("T6: the user signs out while the new token is saved; no refresh is reported, and nothing stays saved")
    func signOutDuringSave() async throws {
        let clock = TestClock()
        let disk = StubbornPersistence(clock)
        let tokens = TokenStore(persistence: disk, time: clock) { _ in Token(accessToken: "new") }
        let events = tokens.events
        try await clock.runTest {
            let old = Token(accessToken: "old")
            await tokens.signIn(old)
            let call = Task(executorPreference: clock.executor) {
                await failure { () async throws(ServiceError) in try await tokens.replacement(for: old) }
            }
            while disk.saving != "new" { try await clock.sleep(for: .milliseconds(10)) }
            await tokens.signOut()
            #expect(await call.value?.reason == .signedOut)
            #expect(disk.saved.load() == nil)
            await tokens.signIn(Token(accessToken: "bo"))
            #expect(await first(3, of: events) == [.signedIn, .signedOut, .signedIn])
        }
    }

    @Test("T14: a task that a refresh closure left behind may wait for the new token while that is saved")
    func leftBehind() async throws {
        let clock = TestClock()
        let disk = StubbornPersistence(clock)
        let store = Noted<TokenStore?>(nil)
        let (asked, answer) = AsyncStream<String>.makeStream()
        let tokens = TokenStore(persistence: disk, time: clock) { _ in
            Task(executorPreference: clock.executor) {
                while disk.saving != "new" { try await clock.sleep(for: .milliseconds(10)) }
                let token = try? await store.value?.token()
                answer.yield(token?.accessToken ?? "nothing")
            }
            return Token(accessToken: "new")
        }
        store.update { $0 = tokens }
        try await clock.runTest {
            let old = Token(accessToken: "old", expiry: clock.date)
            await tokens.signIn(old)
            _ = try await tokens.token()
            #expect(await first(1, of: asked) == ["new"])
        }
        store.update { $0 = nil }
    }
}

/// A persistence in memory that can remove, but not save, because it is full.
private final class ReadOnlyPersistence: TokenPersistence {
    let isFull = Atomic(false)
    private let saved = MemoryTokenPersistence()

    func load() -> SavedSession? { saved.load() }

    func save(_ session: SavedSession?) throws {
        if session != nil, isFull.load(ordering: .relaxed) { throw TokenPersistenceError(.unwritable, "full") }
        saved.save(session)
    }
}

/// A persistence that takes a second to save, and ignores cancellation.
private final class StubbornPersistence: TokenPersistence {
    let saved = MemoryTokenPersistence()
    private let clock: TestClock
    private let present = Noted<String?>(nil)

    init(_ clock: TestClock) { self.clock = clock }

    /// The access token that is being saved, or was saved last.
    var saving: String? { present.value }

    func load() -> SavedSession? { saved.load() }

    func save(_ session: SavedSession?) async {
        present.update { $0 = session?.token.accessToken }
        let clock = clock
        await Task(executorPreference: clock.executor) { try? await clock.sleep(for: .seconds(1)) }.value
        saved.save(session)
    }
}
