import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Events of a store")
struct TokenEventsTests {
    @Test("each listener gets all events from its beginning on, in order, and the streams end with the store")
    func listeners() async throws {
        let clock = TestClock()
        var tokens: TokenStore? = TokenStore(time: clock) { _ in Token(accessToken: "new") }
        let early = try #require(tokens).events
        let store = try #require(tokens)
        try await clock.runTest {
            await store.signIn(Token(accessToken: "old"))
            _ = try await store.replacement(for: Token(accessToken: "old"))
        }
        let late = try #require(tokens).events
        await tokens?.signOut()
        tokens = nil
        // `store` above is the last reference.
        _ = consume store
        #expect(await first(10, of: early) == [.signedIn, .refreshed, .signedOut])
        #expect(await first(10, of: late) == [.signedOut])
    }

    @Test("T1: one refresh for many calls is reported once", arguments: 0..<5)
    func once(seed: UInt64) async throws {
        let scene = AuthScene(seed: seed)
        let events = scene.tokens.events
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            scene.server.refuseAccess(of: "ann")
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<20 { group.addTask { try await scene.me() } }
                for try await _ in group {}
            }
            await scene.tokens.signOut()
            #expect(await first(3, of: events) == [.signedIn, .refreshed, .signedOut])
        }
    }

    @Test("signing out without a session reports nothing")
    func signedOutTwice() async throws {
        let scene = AuthScene()
        let events = scene.tokens.events
        try await scene.clock.runTest {
            #expect(await scene.tokens.isSignedIn == false)
            await scene.tokens.signOut()
            await scene.tokens.signIn(scene.server.signIn("ann"))
            #expect(await scene.tokens.isSignedIn)
            await scene.tokens.signOut()
            await scene.tokens.signOut()
            #expect(await scene.tokens.isSignedIn == false)
            await scene.tokens.signIn(scene.server.signIn("bo"))
            #expect(await first(3, of: events) == [.signedIn, .signedOut, .signedIn])
        }
    }

    @Test("a discarded refresh is not reported", arguments: 0..<10)
    func discarded(seed: UInt64) async throws {
        let scene = AuthScene(seed: seed, takes: .seconds(5))
        let events = scene.tokens.events
        try await scene.clock.runTest {
            let token = scene.server.signIn("ann")
            await scene.tokens.signIn(token)
            async let waiting = failure { () async throws(ServiceError) in
                try await scene.tokens.replacement(for: token)
            }
            try await scene.clock.sleep(for: .seconds(1))
            await scene.tokens.signOut()
            _ = await waiting
            try await scene.clock.sleep(for: .seconds(10))
            await scene.tokens.signIn(scene.server.signIn("bo"))
            #expect(await first(3, of: events) == [.signedIn, .signedOut, .signedIn])
        }
    }
}
