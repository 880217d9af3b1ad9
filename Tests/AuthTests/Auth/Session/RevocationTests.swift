@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A sign-out revokes the token", .timeLimit(.minutes(10)))
struct RevocationTests {
    private let clock = TestClock()
    private let disk = MemoryTokenPersistence()
    private let revoked = Noted<[String]>([])
    private let refreshes = Noted(0)

    /// Creates a store whose refreshes take ten seconds, and whose revocations take that long.
    private func store(
        revoking: Duration = .seconds(5), failing problem: ServiceError? = nil
    ) -> TokenStore {
        TokenStore(persistence: disk, refreshTimeout: .seconds(30), time: clock) { [clock, refreshes] old in
            try await clock.sleep(for: .seconds(10))
            refreshes.update { $0 += 1 }
            return Token(accessToken: old.accessToken + "'", refreshToken: "r")
        } revoke: { [clock, revoked] token in
            try await clock.sleep(for: revoking)
            if let problem { throw problem }
            revoked.value.append(token.accessToken)
        }
    }

    @Test("T6: a sign-out does not wait for the revocation, and the store can be waited for")
    func beside() async throws {
        let tokens = store()
        let events = tokens.events
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "ann"))
            await tokens.signOut()
            #expect(clock.elapsed == .zero)
            #expect(await tokens.isSignedIn == false)
            #expect(disk.load() == nil)
            #expect(revoked.value.isEmpty)
            await tokens.waitUntilSaved()
            #expect(clock.elapsed == .seconds(5))
            #expect(revoked.value == ["ann"])
            #expect(await first(2, of: events) == [.signedIn, .signedOut])
        }
    }

    @Test("T6: a token that a refresh brings after the sign-out is revoked and not saved", arguments: [false, true])
    func duringRefresh(withSignIn: Bool) async throws {
        let tokens = store()
        try await clock.runTest {
            let old = Token(accessToken: "ann", refreshToken: "r")
            await tokens.signIn(old)
            async let waiting = failure { () async throws(ServiceError) in try await tokens.replacement(for: old) }
            try await clock.sleep(for: .seconds(1))
            await tokens.signOut()
            // T7: somebody else uses the store by then.
            if withSignIn { await tokens.signIn(Token(accessToken: "bo")) }
            #expect(await waiting?.reason == .signedOut)
            #expect(clock.elapsed == .seconds(1), "the waiter does not wait for the closure")
            await tokens.waitUntilSaved()
            #expect(clock.elapsed == .seconds(15))
            #expect(revoked.value == ["ann", "ann'"])
            #expect(disk.load()?.token.accessToken == (withSignIn ? "bo" : nil))
        }
    }

    @Test("a revocation that fails is reported")
    func fails() async throws {
        let tokens = store(failing: .reset)
        let events = tokens.events
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "ann"))
            await tokens.signOut()
            #expect(await first(3, of: events) == [.signedIn, .signedOut, .notRevoked(.reset)])
        }
    }

    @Test("a revocation that does not come back ends at the limit, and so does the wait for the store")
    func hangs() async throws {
        let hung = Latch()
        let tokens = TokenStore(persistence: disk, refreshTimeout: .seconds(30), time: clock) {
            $0
        } revoke: { _ in
            await hung.opened()
        }
        let events = tokens.events
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "ann"))
            await tokens.signOut()
            await tokens.waitUntilSaved()
            #expect(clock.elapsed == .seconds(30))
            let problem = TransportFailure(.other, "the token was not revoked within 30 s")
            #expect(await first(3, of: events) == [.signedIn, .signedOut, .notRevoked(.transport(problem))])
            hung.open()
        }
    }

    @Test("a closure of a refresh that does not come back after the sign-out is given up at the limit")
    func refreshHangs() async throws {
        let hung = Promise<Token, ServiceError>()
        let tokens = TokenStore(persistence: disk, refreshTimeout: .seconds(30), time: clock) { _ in
            try await hung.value()
        } revoke: { [revoked] token in
            revoked.value.append(token.accessToken)
        }
        try await clock.runTest {
            let old = Token(accessToken: "ann", refreshToken: "r")
            await tokens.signIn(old)
            async let waiting = failure { () async throws(ServiceError) in try await tokens.replacement(for: old) }
            try await clock.sleep(for: .seconds(1))
            await tokens.signOut()
            _ = await waiting
            await tokens.waitUntilSaved()
            #expect(clock.elapsed == .seconds(31))
            #expect(revoked.value == ["ann"])
        }
    }

    @Test("a saved session that was not loaded yet is loaded, and revoked")
    func notLoaded() async throws {
        disk.save(SavedSession(id: UUID(), token: Token(accessToken: "ann"), received: clock.date))
        let tokens = store()
        try await clock.runTest {
            await tokens.signOut()
            await tokens.waitUntilSaved()
        }
        #expect(revoked.value == ["ann"])
        #expect(disk.load() == nil)
    }

    @Test("another user's sign-in, and a refused refresh, revoke nothing")
    func others() async throws {
        let tokens = TokenStore(persistence: disk, time: clock) { _ in
            throw ServiceError.sessionExpired(SessionExpiry(.refreshRefused))
        } revoke: { [revoked] token in
            revoked.value.append(token.accessToken)
        }
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "ann"))
            let bo = Token(accessToken: "bo", refreshToken: "r")
            await tokens.signIn(bo)
            _ = await failure { () async throws(ServiceError) in try await tokens.replacement(for: bo) }
            #expect(await tokens.isSignedIn == false)
            await tokens.waitUntilSaved()
        }
        #expect(revoked.value.isEmpty)
    }

    @Test("the calls of the closure are not signed, and a shutdown of its client lets them finish")
    func calls() async throws {
        let network = scripted()
        network.on(.post, "/revoke") { ScriptedReply.status(200).after(.seconds(3)) }
        let client = Noted<APIClient?>(nil)
        let tokens = TokenStore(persistence: disk, time: clock) {
            $0
        } revoke: { _ in
            try await client.value?.run(.post("revoke"))
        }
        client.value = testClient(network, clock) { $0.tokens = tokens }
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "ann"))
            await tokens.signOut()
            try await clock.sleep(for: .seconds(1))
            await client.value?.shutdown()
            #expect(clock.elapsed == .seconds(3))
        }
        #expect(network.sent.map { $0.request.headers["Authorization"] } == [nil])
    }
}
