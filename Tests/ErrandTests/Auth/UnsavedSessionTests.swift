import Errand
import ErrandTesting
import Testing

@Suite("A session that could not be saved")
struct UnsavedSessionTests {
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
}
