import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite("OAuth: sign-ins at the same time", .timeLimit(.minutes(10)))
struct TwoSignInsTests {
    /// A sign-in whose page is open, and whose receiver waits.
    private struct Open {
        let page: String
        let token: Task<Result<Token, ServiceError>, Never>

        init(_ oauth: OAuth) async throws {
            let opened = Promise<String, ServiceError>()
            let browser = SystemBrowser(redirectURI: "http://127.0.0.1/back") { _ in
            } open: { address in
                opened.complete(.success(address))
            }
            token = Task {
                await Result { () async throws(ServiceError) in
                    try await oauth.signIn(scopes: ["read"], using: browser)
                }
            }
            page = try await opened.value()
        }

        /// The port of its receiver.
        var port: Int {
            get throws { try #require(parameters(of: page)["redirect_uri"].flatMap(URLComponents.init(string:))?.port) }
        }

        /// Opens the address as a browser does, and returns the status.
        func follow(_ redirect: String) async throws -> Int {
            var address = try #require(URLComponents(string: redirect))
            address.port = try port
            let reply = try await APIClient("http://127.0.0.1:\(try port)") { $0.retry = .never }
                .reply(to: Endpoint<Data>.get(url: try #require(address.string)).accepting(404))
            return reply.status
        }
    }

    @Test("S6: two sign-ins at once: each receiver takes its own answer only, whichever comes first")
    func receivers() async throws {
        let scene = try await SignInScene()
        let (one, two) = (try await Open(scene.oauth), try await Open(scene.oauth))
        #expect(try one.port != two.port)
        let (answerToOne, answerToTwo) = (try scene.server.visit(one.page), try scene.server.visit(two.page))
        // Each comes to the receiver of the other first.
        #expect(try await one.follow(answerToTwo) == 404)
        #expect(try await two.follow(answerToOne) == 404)
        #expect(scene.forms.isEmpty)
        #expect(try await two.follow(answerToTwo) == 200)
        let second = try await two.token.value.get()
        #expect(try await one.follow(answerToOne) == 200)
        let first = try await one.token.value.get()
        let sent = scene.forms.map { parameters(of: "?" + $0) }
        #expect(sent.map { $0["code"] } == [answerToTwo, answerToOne].map { parameters(of: $0)["code"] })
        #expect(Set(sent.map { $0["code_verifier"] }).count == 2)
        #expect(Set([first.accessToken, second.accessToken, first.refreshToken, second.refreshToken]).count == 4)
    }

    @Test("S6: a sign-in that fails or is canceled does not disturb the other one")
    func apart() async throws {
        let scene = try await SignInScene()
        let (one, two, three) = (
            try await Open(scene.oauth), try await Open(scene.oauth), try await Open(scene.oauth)
        )
        one.token.cancel()
        #expect(await one.token.value == .failure(.cancelled))
        scene.server.answerOfUser = .refuses
        let refused = try await two.follow(scene.server.visit(two.page))
        #expect(refused == 200)
        guard case .failure(.rejected(let rejection)) = await two.token.value else {
            Issue.record("the user has refused")
            return
        }
        #expect(rejection.code == "access_denied")
        scene.server.answerOfUser = .agrees
        let agreed = try await three.follow(scene.server.visit(three.page))
        #expect(agreed == 200)
        #expect(try await three.token.value.get().scopes == ["read"])
    }

    @Test("S6: the later session wins whole: what a refresh of the earlier one brings is nowhere")
    func laterWins() async throws {
        let scene = try await SignInScene()
        let (begun, goOn) = (Latch(), Latch())
        let persistence = MemoryTokenPersistence()
        let tokens = TokenStore(persistence: persistence, time: scene.clock) { [oauth = scene.oauth] old in
            begun.open()
            await goOn.opened()
            return try await oauth.refresh(old)
        }
        var earlier = try await scene.signIn(scopes: ["read"])
        earlier.expiry = scene.clock.date
        await tokens.signIn(earlier)
        let waiting = Task { await failure(of: tokens.token) }
        await begun.opened()
        let later = try await scene.signIn(scopes: ["read", "write"])
        await tokens.signIn(later)
        goOn.open()
        #expect(await waiting.value != nil)
        await tokens.waitUntilSaved()
        #expect(try await tokens.token() == later)
        #expect(persistence.load()?.token == later)
    }
}
