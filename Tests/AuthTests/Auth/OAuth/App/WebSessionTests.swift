import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@testable import Errand

/// Sessions that end as a script says.
private struct FakeSessions: WebSessions {
    struct Begun: Sendable {
        let address: String
        let callback: WebSessionCallback
        let onEnd: @Sendable (WebSessionEnd) -> Void
    }

    /// What happens when a session begins.
    let script: @Sendable (Begun) -> Void
    let canceled = Noted(0)

    init(_ script: @escaping @Sendable (Begun) -> Void) { self.script = script }

    func start(
        _ address: String, until callback: WebSessionCallback, onEnd: @escaping @Sendable (WebSessionEnd) -> Void
    ) -> @MainActor () -> Void {
        script(Begun(address: address, callback: callback, onEnd: onEnd))
        return { [canceled] in canceled.update { $0 += 1 } }
    }
}

/// What an app's browser does with them.
private struct FakeAppBrowser: Browser {
    var redirectURI = "com.example.app:/signed-in"
    let sessions: FakeSessions

    func redirect(from page: SignInPage) async throws -> String {
        try await sessions.redirect(from: page, to: redirectURI)
    }
}

@Suite("OAuth: the system's session in an app", .timeLimit(.minutes(10)))
struct WebSessionTests {
    @Test(
        "the session ends at the app's own scheme, or at its site on request",
        arguments: [
            ("com.example.app:/signed-in", .scheme("com.example.app")),
            ("Example+App-1.x://back", .scheme("example+app-1.x")),
            ("https://example.com/signed-in", .https(host: "example.com", path: "/signed-in")),
            ("https://Example.com", .https(host: "example.com", path: "/")),
            ("http://127.0.0.1/", nil), ("https://example.com:8443/x", nil), ("https://example.com/x?y", nil),
            ("https://example.com/x#y", nil), ("signed-in", nil), ("1app:/x", nil), ("my app:/x", nil), (":/x", nil),
            ("", nil),
        ] as [(String, WebSessionCallback?)])
    func callbacks(redirectURI: String, expected: WebSessionCallback?) {
        guard let expected else {
            #expect(throws: ServiceError.self) { try WebSessionCallback(redirectURI) }
            return
        }
        #expect((try? WebSessionCallback(redirectURI)) == expected)
    }

    @Test("a whole sign-in: the session shows the page, ends at the redirect, and is not canceled")
    func whole() async throws {
        let scene = try await SignInScene()
        let sessions = FakeSessions { [server = scene.server] begun in
            do {
                begun.onEnd(.redirect(try server.visit(begun.address)))
            } catch {
                Issue.record(error)
            }
            // The system may report the end of a session that has ended.
            begun.onEnd(.failure(code: WebSessionEnd.canceledLogin, reason: nil))
        }
        let token = try await scene.oauth.signIn(using: FakeAppBrowser(sessions: sessions))
        #expect(token.accessToken == "access-2")
        #expect(sessions.canceled.value == 0)
        #expect(parameters(of: "?" + (scene.forms.first ?? ""))["redirect_uri"] == "com.example.app:/signed-in")
    }

    @Test(
        "S4: a user who closes the sheet is cancelled; a session that the system refuses is an error that says why",
        arguments: [
            (.failure(code: 1, reason: nil), nil),
            (.failure(code: 1, reason: "HTTPS requires Associated Domains"), "webcredentials:example.com"),
            (.failure(code: 2, reason: nil), "anchor"), (.failure(code: 3, reason: "no window"), "anchor"),
            (.failure(code: 9, reason: "new"), "the number 9: new"), (.other("NSError"), "NSError"),
            (.notStarted, "could not begin"),
        ] as [(WebSessionEnd, String?)])
    func ends(end: WebSessionEnd, words: String?) async throws {
        let scene = try await SignInScene()
        let sessions = FakeSessions { $0.onEnd(end) }
        let browser = FakeAppBrowser(redirectURI: "https://example.com/signed-in", sessions: sessions)
        let error = await failure { () async throws(ServiceError) in try await scene.oauth.signIn(using: browser) }
        if let words {
            #expect("\(String(describing: error))".contains(words))
            #expect(error != .cancelled && error?.mayHaveReachedServer == false)
        } else {
            #expect(error == .cancelled)
        }
        #expect(scene.forms.isEmpty && sessions.canceled.value == 0)
    }

    @Test("S4: canceling closes the sheet and ends the sign-in, whatever the system does then")
    func canceling() async throws {
        for ending in [nil, WebSessionEnd.failure(code: 1, reason: nil)] {
            let scene = try await SignInScene()
            let begun = Latch()
            let late = Noted<FakeSessions.Begun?>(nil)
            let sessions = FakeSessions {
                late.value = $0
                begun.open()
            }
            let task = Task { [oauth = scene.oauth] in
                await failure { () async throws(ServiceError) in
                    try await oauth.signIn(using: FakeAppBrowser(sessions: sessions))
                }
            }
            await begun.opened()
            task.cancel()
            #expect(await task.value == .cancelled)
            #expect(sessions.canceled.value == 1)
            // Afterwards it changes nothing.
            if let ending { late.value?.onEnd(ending) }
        }
    }

    @Test("S4: at the limit of a sign-in the sheet closes, and the error says so")
    func limit() async throws {
        let scene = try await SignInScene()
        let opened = Latch()
        let sessions = FakeSessions { _ in opened.open() }
        let oauth = scene.oauth
        let begun = Task(executorPreference: scene.clock.executor) {
            await failure { () async throws(ServiceError) in
                try await oauth.signIn(using: FakeAppBrowser(sessions: sessions), within: .seconds(90))
            }
        }
        await opened.opened()
        await scene.clock.advance(by: .seconds(90))
        #expect(await begun.value == .timedOut(Timeout(.signIn, limit: .seconds(90), phase: .preparing)))
        #expect(sessions.canceled.value == 1)
    }

    @Test("a redirect that the system cannot watch for opens no session")
    func noSession() async throws {
        let scene = try await SignInScene()
        let opened = Noted(false)
        let sessions = FakeSessions { _ in opened.value = true }
        let browser = FakeAppBrowser(redirectURI: "http://127.0.0.1/", sessions: sessions)
        let error = await failure { () async throws(ServiceError) in try await scene.oauth.signIn(using: browser) }
        guard case .invalidRequest = error else { throw try #require(error) }
        #expect(!opened.value)
    }
}
