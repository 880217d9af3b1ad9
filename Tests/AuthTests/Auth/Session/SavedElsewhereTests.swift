@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("T20: the saved session changes elsewhere", .timeLimit(.minutes(10)))
struct SavedElsewhereTests {
    private let clock = TestClock()
    private let shared = SharedSession()

    /// Creates a store of one machine, whose refreshes are counted.
    private func store(_ refreshes: Noted<Int> = Noted(0)) -> TokenStore {
        TokenStore(persistence: shared.handle(), time: clock) { [clock] old in
            try await clock.sleep(for: .seconds(1))
            refreshes.update { $0 += 1 }
            return Token(
                accessToken: old.accessToken + "'", refreshToken: "r", expiry: clock.date.addingTimeInterval(600))
        }
    }

    @Test("T20: a sign-in elsewhere is used at once, and a sign-out ends the session and its streams at once")
    func signInAndOut() async throws {
        let (here, there) = (store(), store())
        let events = here.events
        try await clock.runTest {
            #expect(await here.isSignedIn == false)
            await there.signIn(Token(accessToken: "ann"))
            try await clock.sleep(for: .milliseconds(1))
            let session = try #require(here.presentSession)
            #expect(try await here.token().accessToken == "ann")
            let listener = SessionListener()
            here.live.add(listener)
            await there.signOut()
            try await clock.sleep(for: .milliseconds(1))
            #expect(listener.ends.value == [.init(session, because: .sessionExpired(.endedElsewhere))])
            #expect(await here.isSignedIn == false)
            #expect(await first(2, of: events) == [.signedIn, .signedOut])
        }
    }

    @Test("T20: another user signs in elsewhere; calls of the old session fail, later ones use the new one")
    func otherUser() async throws {
        let (here, there) = (store(), store())
        try await clock.runTest {
            await here.signIn(Token(accessToken: "ann"))
            let session = try #require(here.presentSession)
            await there.signIn(Token(accessToken: "bo"))
            try await clock.sleep(for: .milliseconds(1))
            let error = await failure { () async throws(ServiceError) in
                try await here.token(of: session, in: CallScope())
            }
            #expect(error?.reason == .otherSession)
            #expect(try await here.token().accessToken == "bo")
        }
    }

    @Test("T20: a token that was refreshed elsewhere is used without a refresh of its own")
    func refreshed() async throws {
        let refreshes = Noted(0)
        let (here, there) = (store(refreshes), store(refreshes))
        try await clock.runTest {
            let old = Token(accessToken: "ann", refreshToken: "r", expiry: clock.date.addingTimeInterval(600))
            await here.signIn(old)
            _ = try await there.replacement(for: old)
            try await clock.sleep(for: .milliseconds(1))
            let loads = shared.loads
            #expect(try await here.token().accessToken == "ann'")
            #expect(shared.loads == loads, "it has been loaded already")
        }
        #expect(refreshes.value == 1)
    }

    @Test("T20: calls that wait for the end of a delay continue with a token that was refreshed elsewhere")
    func whilePausing() async throws {
        let fails = Noted(true)
        let here = TokenStore(persistence: shared.handle(), time: clock) { _ in
            if fails.value { throw ServiceError.reset }
            return Token(accessToken: "here")
        }
        let there = store()
        try await clock.runTest {
            let old = Token(accessToken: "ann", refreshToken: "r", expiry: clock.date.addingTimeInterval(10))
            await here.signIn(old)
            try await clock.sleep(for: .seconds(11))
            // Failures make the delay longer than the refresh elsewhere takes.
            for _ in 0..<8 { _ = await failure { () async throws(ServiceError) in try await here.token() } }
            let paused = clock.now
            async let waiting = here.token()
            try await clock.sleep(for: .milliseconds(1))
            let newer = try await there.token()
            #expect(try await waiting == newer)
            #expect(paused.duration(to: clock.now) < .seconds(2))
        }
    }

    @Test("a store that is dropped is released, and listens no more")
    func released() async throws {
        let shared = shared
        var here: TokenStore? = store()
        weak let released = here
        try await clock.runTest { [here, clock] in
            await here?.signIn(Token(accessToken: "ann"))
            #expect(shared.listeners == 1)
            // The store hears of its own change, too, and is busy with it for a moment.
            try await clock.sleep(for: .milliseconds(1))
        }
        here = nil
        #expect(released == nil)
        try await clock.runTest { [clock] in try await clock.sleep(for: .milliseconds(1)) }
        #expect(shared.listeners == 0)
    }

    @Test("what could not be read elsewhere signs no user out")
    func unreadable() async throws {
        let disk = Announcing()
        let tokens = TokenStore(persistence: disk, time: clock) { $0 }
        let events = tokens.events
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "ann"))
            let problem = TokenPersistenceError(.unreadable, "torn")
            disk.base.failLoads(with: problem)
            disk.announce()
            #expect(await first(2, of: events) == [.signedIn, .notSaved(problem)])
            #expect(await tokens.isSignedIn)
        }
    }
}

/// A persistence whose loads can fail, and which announces changes.
private final class Announcing: TokenPersistence {
    let base = CountingPersistence()
    private let listener = Noted<AsyncStream<Void>.Continuation?>(nil)

    func load() throws -> SavedSession? { try base.load() }
    func save(_ session: SavedSession?) throws { try base.save(session) }

    func changes() -> AsyncStream<Void>? {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        listener.value = continuation
        return stream
    }

    func announce() { listener.value?.yield() }
}
