@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Streams that watch their session") struct SessionWatchTests {
    private let tokens = TokenStore(time: TestClock()) { $0 }

    @Test("a watch of a session that has ended already is notified at once", arguments: [true, false])
    func ended(bySignOut: Bool) async throws {
        await tokens.signIn(Token(accessToken: "ann"))
        let session = try #require(tokens.presentSession)
        if bySignOut { await tokens.signOut() } else { await tokens.signIn(Token(accessToken: "bo")) }
        let reported = Noted<[ServiceError]>([])
        let watch = tokens.live.watch(session) { error in reported.update { $0.append(error) } }
        #expect(reported.value == [.sessionExpired(SessionExpiry(bySignOut ? .signedOut : .otherSession))])
        watch.cancel()
    }

    @Test("a watch of the present session is notified when it ends, and not after it was cancelled")
    func present() async throws {
        let reported = Noted<[String]>([])
        await tokens.signIn(Token(accessToken: "ann"))
        let session = try #require(tokens.presentSession)
        let (stays, goes) = (
            tokens.live.watch(session) { _ in reported.update { $0.append("stays") } },
            tokens.live.watch(session) { _ in reported.update { $0.append("goes") } }
        )
        #expect(reported.value.isEmpty)
        goes.cancel()
        await tokens.signOut()
        #expect(reported.value == ["stays"])
        stays.cancel()
    }
}
