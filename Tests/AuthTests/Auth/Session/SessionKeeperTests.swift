@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Objects that keep what belongs to a session") struct SessionKeeperTests {
    private let tokens = TokenStore(time: TestClock()) { $0 }

    @Test("T6, T7: a keeper learns of the end of each session and why it has ended, once", arguments: [true, false])
    func ends(bySignOut: Bool) async throws {
        let listener = SessionListener()
        tokens.live.add(listener)
        tokens.live.add(listener)
        await tokens.signIn(Token(accessToken: "ann"))
        let session = try #require(tokens.presentSession)
        #expect(listener.ends.value.isEmpty)
        if bySignOut { await tokens.signOut() } else { await tokens.signIn(Token(accessToken: "bo")) }
        #expect(listener.ends.value == [.init(session, bySignOut ? .signedOut : .otherSession)])
    }

    @Test("T6: a keeper is not kept by the store")
    func released() async throws {
        weak var released: SessionListener?
        do {
            let listener = SessionListener()
            tokens.live.add(listener)
            released = listener
        }
        #expect(released == nil)
        await tokens.signIn(Token(accessToken: "ann"))
        await tokens.signOut()
    }
}
