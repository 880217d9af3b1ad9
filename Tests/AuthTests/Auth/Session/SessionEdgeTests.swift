@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A session: edge cases")
struct SessionEdgeTests {
    @Test("T9: an unsaved session is not signed out because nothing is saved, though another one was saved before")
    func afterASavedOne() async throws {
        let (clock, disk) = (TestClock(), CountingPersistence())
        let server = AuthServer(clock, takes: .zero)
        let tokens = TokenStore(persistence: disk, time: clock) { try await server.refresh($0) }
        try await clock.runTest {
            await tokens.signIn(server.signIn("ann"))
            disk.failSaves(with: TokenPersistenceError(.unwritable, "the disk is full"))
            await tokens.signIn(server.signIn("bob"))
            disk.put(nil)
            let newer = try await tokens.replacement(for: server.token("bob", 0))
            #expect(newer.accessToken == "bob.1")
            #expect(await tokens.isSignedIn)
        }
    }

    @Test("T2: a refresh that is requested just after another one ended gets the result of that one")
    func askedTooLate() async throws {
        let clock = TestClock()
        let server = AuthServer(clock, takes: .zero)
        let tokens = TokenStore(time: clock) { try await server.refresh($0) }
        try await clock.runTest {
            let old = server.signIn("ann")
            await tokens.signIn(old)
            let session = try #require(tokens.presentSession)
            _ = try await tokens.replacement(for: old)
            // This call read the token before it was replaced, and enters the store afterwards.
            let promise = try await tokens.startRefresh(of: session, rejecting: old.accessToken)
            #expect(try promise.outcome?.get().accessToken == "ann.1")
        }
        #expect(server.refreshes.count == 1)
    }

    @Test("the largest possible revision stays as it is, and does not trap")
    func largestRevision() {
        let session = SavedSession(id: UUID(), revision: .max, token: Token(accessToken: "a"), received: Date())
        #expect(session.continued(with: Token(accessToken: "b"), at: Date()).revision == .max)
    }
}
