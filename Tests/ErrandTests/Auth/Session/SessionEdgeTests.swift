@testable import Errand
import ErrandTesting
import Foundation
import Testing

@Suite("A session at the edge of what can happen to it")
struct SessionEdgeTests {
    @Test("T9: that nothing of it is saved does not sign its user out, though somebody's was saved before")
    func afterASavedOne() async throws {
        let (clock, disk) = (TestClock(), CountingPersistence())
        let server = AuthServer(clock, takes: .zero)
        let tokens = TokenStore(persistence: disk, time: clock) { try await server.refresh($0) }
        try await clock.play {
            await tokens.signIn(server.signIn("ann"))
            disk.failSaves(with: TokenPersistenceError(.unwritable, "the disk is full"))
            await tokens.signIn(server.signIn("bob"))
            disk.put(nil)
            let newer = try await tokens.replacement(for: server.token("bob", 0))
            #expect(newer.access == "bob.1")
            #expect(await tokens.isSignedIn)
        }
    }

    @Test("T2: who asks for a refresh when another has just ended is given what came of that")
    func askedTooLate() async throws {
        let clock = TestClock()
        let server = AuthServer(clock, takes: .zero)
        let tokens = TokenStore(time: clock) { try await server.refresh($0) }
        try await clock.play {
            let old = server.signIn("ann")
            await tokens.signIn(old)
            let session = try #require(tokens.presentSession)
            _ = try await tokens.replacement(for: old)
            // It had looked at the token before it was replaced, and enters the store after that.
            let flight = try await tokens.startRefresh(of: session, rejecting: old.access)
            #expect(try flight.outcome?.get().access == "ann.1")
        }
        #expect(server.refreshes.count == 1)
    }

    @Test("a revision that is as large as it can be stays so, and ends no process")
    func largestRevision() {
        let session = SavedSession(id: UUID(), revision: .max, token: Token(access: "a"), received: Date())
        #expect(session.continued(with: Token(access: "b"), at: Date()).revision == .max)
    }
}
