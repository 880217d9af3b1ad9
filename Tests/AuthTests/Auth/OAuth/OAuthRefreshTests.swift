import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("OAuth: refreshing the session of a store")
struct OAuthRefreshTests {
    private static let rotated = #"{"access_token":"new","token_type":"Bearer","expires_in":3600,"refresh_token":"r2"}"#
    private static let refused = #"{"error":"invalid_grant","error_description":"Revoked"}"#

    private func store(_ scene: OAuthScene, _ disk: any TokenPersistence = .memory) -> TokenStore {
        TokenStore(persistence: disk, time: scene.clock) { [oauth = scene.oauth] in try await oauth.refresh($0) }
    }

    @Test(
        "T1: fifty calls that meet an expired token wait for one refresh, at the head of a shared limiter's queue",
        arguments: UInt64(0)..<5)
    func fifty(seed: UInt64) async throws {
        let scene = OAuthScene(.json(Self.rotated).after(.seconds(1)), seed: seed) {
            $0.rateLimit = .requests(1, per: .seconds(1))
        }
        let tokens = store(scene)
        scene.network.on(.get, "/me", times: 50) { request in
            let isGood = request.headers["Authorization"] == "Bearer new"
            return .status(isGood ? 200 : 401, body: #""ann""#)
        }
        let api = testClient(scene.network, scene.clock) {
            $0.tokens = tokens
            $0.limiter = scene.login.limiter
        }
        let start = scene.clock.now
        try await scene.clock.runTest {
            await tokens.signIn(
                Token(accessToken: "old", refreshToken: "r1", expiry: scene.clock.date, scopes: ["read"]))
            let names = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<50 { group.addTask { try await api.run(.me) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(names == Array(repeating: "ann", count: 50))
            let token = try await tokens.token()
            #expect(token.refreshToken == "r2")
            #expect(token.scopes == ["read"])
        }
        #expect(scene.network.sent.map(\.request.url.path) == ["/token"] + Array(repeating: "/me", count: 50))
        // The first call gives its permit to the refresh. Once the response is there, the calls continue at the limit's
        // pace.
        let instants = scene.network.sent.map { start.duration(to: $0.at) }
        #expect(instants == (0...50).map { .seconds($0) })
    }

    @Test("T10: a response without a new refresh token or scopes keeps the old ones; one that has them rotates")
    func rotation() async throws {
        let scene = OAuthScene(
            .json(#"{"access_token":"a2"}"#), .json(#"{"access_token":"a3","refresh_token":"r3","scope":"less"}"#))
        let second = try await scene.oauth.refresh(Token(accessToken: "a1", refreshToken: "r1", scopes: ["read"]))
        #expect(second == Token(accessToken: "a2", refreshToken: "r1", scopes: ["read"]))
        let third = try await scene.oauth.refresh(second)
        #expect(third == Token(accessToken: "a3", refreshToken: "r3", scopes: ["less"]))
        #expect(scene.forms.map { $0.suffix(2) } == ["r1", "r1"])
    }

    @Test(
        "T8: a refused refresh ends the session with one event, and the calls with the server's message",
        arguments: [400, 401, 403, 200])
    func refusedRefresh(status: Int) async throws {
        let scene = OAuthScene(.json(Self.refused, status: status))
        let disk = MemoryTokenPersistence()
        let tokens = store(scene, disk)
        let events = tokens.events
        try await scene.clock.runTest {
            await tokens.signIn(Token(accessToken: "old", refreshToken: "r", expiry: scene.clock.date))
            let errors = await withTaskGroup(of: ServiceError?.self) { group in
                for _ in 0..<50 { group.addTask { await failure(of: tokens.token) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            let expiry = SessionExpiry(.refreshRefused, message: "Revoked", status: status)
            #expect(errors == Array(repeating: .sessionExpired(expiry), count: 50))
            try await scene.clock.sleep(for: .seconds(1))
            #expect(await failure(of: tokens.token) == .signInRequired)
            #expect(disk.load() == nil)
            await tokens.signIn(Token(accessToken: "next"))
            #expect(await first(3, of: events) == [.signedIn, .expired(expiry), .signedIn])
        }
        #expect(scene.network.sent.count == 1)
    }

    @Test("a session without a refresh token ends when its token expires, and nothing is sent", arguments: [nil, ""])
    func noRefreshToken(refresh: String?) async throws {
        let scene = OAuthScene()
        let tokens = store(scene)
        try await scene.clock.runTest {
            await tokens.signIn(Token(accessToken: "old", refreshToken: refresh, expiry: scene.clock.date))
            let expiry = SessionExpiry(.refreshRefused, message: "there is no refresh token")
            #expect(await failure(of: tokens.token) == .sessionExpired(expiry))
            #expect(await tokens.isSignedIn == false)
        }
    }

    @Test(
        "T9: a temporary failure leaves the store and its saved session untouched; the next call tries again",
        arguments: [
            .failure(.reset), .status(503), .status(403, body: #"{"error":"forbidden"}"#), .status(429),
            .json("{}"), .json(#"{"access_token":7}"#),
            .status(200, headers: ["Content-Type": "text/html"], body: "<html>"),
        ] as [ScriptedReply])
    func passing(reply: ScriptedReply) async throws {
        let scene = OAuthScene(reply, .json(Self.rotated)) { $0.retry = .never }
        let disk = MemoryTokenPersistence()
        let tokens = store(scene, disk)
        let events = tokens.events
        try await scene.clock.runTest {
            await tokens.signIn(Token(accessToken: "old", refreshToken: "r", expiry: scene.clock.date))
            let before = disk.load()
            let error = await failure(of: tokens.token)
            #expect(error != nil && error?.reason == nil)
            #expect(await tokens.isSignedIn)
            #expect(disk.load() == before)
            let token = try await tokens.token()
            #expect(token.accessToken == "new")
            #expect(await first(2, of: events) == [.signedIn, .refreshed])
        }
    }

    @Test("a store of client credentials asks for another token instead of refreshing")
    func clientCredentials() async throws {
        let scene = OAuthScene(.json(#"{"access_token":"new","expires_in":60}"#))
        let tokens = TokenStore(time: scene.clock) { [oauth = scene.oauth] _ in
            try await oauth.token(.clientCredentials)
        }
        try await scene.clock.runTest {
            await tokens.signIn(Token(accessToken: "old", expiry: scene.clock.date))
            let token = try await tokens.token()
            #expect(token.accessToken == "new")
        }
        #expect(scene.forms == ["grant_type=client_credentials"])
    }

    @Test("what else the server says is kept with the token, and an answer to a refresh replaces what it names")
    func members() async throws {
        let scene = OAuthScene(
            .json(#"{"access_token":"a","refresh_token":"r","instance_url":"https://x.test","team":{"id":7}}"#),
            .json(#"{"access_token":"b","instance_url":"https://y.test"}"#))
        let token = try await scene.signIn()
        #expect(token.members == ["instance_url": "https://x.test", "team": ["id": 7]])
        let saved = try JSONDecoder().decode(Token.self, from: JSONEncoder().encode(token))
        #expect(saved == token && !printed(token).contains("x.test"))
        let next = try await scene.oauth.refresh(saved)
        #expect(next.members == ["instance_url": "https://y.test", "team": ["id": 7]])
    }

    @Test("T22: members that are too large to be saved with each token are left out, and told")
    func largeMembers() async throws {
        let warnings = Noted<[String]>([])
        let text = String(repeating: "x", count: 20_000)
        let scene = OAuthScene(.json(#"{"access_token":"a","refresh_token":"r","team":"\#(text)"}"#)) {
            $0.observe = { event in if case .warned(let text) = event.kind { warnings.update { $0.append(text) } } }
        }
        let token = try await scene.signIn()
        #expect(token.members.isEmpty && token.refreshToken == "r")
        #expect(warnings.value.count == 1 && warnings.value.first?.contains("more than 16384 bytes of its own") == true)
    }

    @Test("a refresh may ask for some of the scopes")
    func fewerScopes() async throws {
        let scene = OAuthScene(.json(#"{"access_token":"b"}"#), .json(#"{"access_token":"c"}"#))
        let token = Token(accessToken: "a", refreshToken: "r", scopes: ["read", "write"])
        #expect(try await scene.oauth.refresh(token, scopes: ["read"]).scopes == ["read"])
        #expect(try await scene.oauth.refresh(token).scopes == ["read", "write"])
        #expect(scene.forms[0].contains("scope=read") && !scene.forms[1].contains("scope"))
    }
}
