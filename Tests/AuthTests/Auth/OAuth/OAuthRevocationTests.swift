import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("S9: OAuth revokes tokens", .timeLimit(.minutes(10)))
struct OAuthRevocationTests {
    private let clock = TestClock()
    private let network = scripted()
    private let token = Token(accessToken: "access+1", refreshToken: "refresh+1")

    private func oauth(
        _ client: OAuth.Client = .basic(id: "pins", secret: "s3cret"), endpoint: String? = "https://login.test/revoke"
    ) -> OAuth {
        let metadata = OAuth.ServerMetadata(
            issuer: "https://login.test", tokenEndpoint: "https://login.test/token", revocationEndpoint: endpoint)
        return OAuth(metadata, client: client) { [network, clock] in
            $0.transport = network
            $0.time = clock
            $0.rateLimit = .unlimited
        }
    }

    private var forms: [String] { network.sent.map { String(decoding: $0.body, as: UTF8.self) } }

    @Test("S9: the refresh token goes to the endpoint, otherwise the access token, and the app proves itself")
    func requests() async throws {
        network.on(.post, "https://login.test/revoke") { ScriptedReply.status(200).times(3) }
        try await oauth().revoke(token)
        try await oauth().revoke(Token(accessToken: "access+1"))
        try await oauth(.public(id: "tool")).revoke(Token(accessToken: "access+1", refreshToken: ""))
        #expect(
            forms == [
                "token=refresh%2B1&token_type_hint=refresh_token", "token=access%2B1&token_type_hint=access_token",
                "token=access%2B1&token_type_hint=access_token&client_id=tool",
            ])
        let headers = network.sent.map { $0.request.headers["Authorization"] }
        #expect(headers == ["Basic cGluczpzM2NyZXQ=", "Basic cGluczpzM2NyZXQ=", nil])
    }

    @Test("S9: a token that the server does not know counts as revoked; other refusals are thrown, without secrets")
    func refusals() async throws {
        network.on(.post, "https://login.test/revoke") {
            ScriptedReply.json(#"{"error":"invalid_token"}"#, status: 400)
            ScriptedReply.json(#"{"error":"unsupported_token_type","error_description":"no refresh+1"}"#, status: 400)
            ScriptedReply.status(503)
        }
        try await oauth().revoke(token)
        let refused = await failure { () async throws(ServiceError) in try await oauth().revoke(token) }
        guard case .rejected(let rejection) = refused else { throw try #require(refused) }
        #expect(rejection.code == "unsupported_token_type")
        #expect(!"\(rejection)".contains("refresh+1"))
        let failed = await failure { () async throws(ServiceError) in try await oauth().revoke(token) }
        #expect(failed?.status == 503)
        #expect(network.sent.count == 3)
    }

    @Test("S9: without an endpoint, or over plain http, nothing is sent", arguments: [nil, "http://login.test/revoke"])
    func nothing(endpoint: String?) async throws {
        let error = await failure { () async throws(ServiceError) in try await oauth(endpoint: endpoint).revoke(token) }
        guard case .invalidRequest = error else { throw try #require(error) }
        #expect(network.sent.isEmpty)
    }

    @Test("S9: whether the server can revoke is known, and a sign-out at one that cannot reports nothing")
    func unable() async throws {
        #expect(self.oauth().canRevoke)
        #expect(!OAuth(server: testClient(network, clock), clientID: "app", clientSecret: "s").canRevoke)
        let oauth = oauth(endpoint: nil)
        let tokens = TokenStore(time: clock) {
            try await oauth.refresh($0)
        } revoke: {
            if oauth.canRevoke { try await oauth.revoke($0) }
        }
        let events = tokens.events
        try await clock.runTest {
            for _ in 1...2 {
                await tokens.signIn(token)
                await tokens.signOut()
                await tokens.waitUntilSaved()
            }
        }
        #expect(await first(4, of: events) == [.signedIn, .signedOut, .signedIn, .signedOut])
        #expect(network.sent.isEmpty)
    }

    @Test("S9: a sign-out does not wait for it, and its failure is an event that changes nothing")
    func signOut() async throws {
        network.on(.post, "https://login.test/revoke") {
            ScriptedReply.status(503).after(.seconds(5))
            ScriptedReply.status(200).after(.seconds(5))
        }
        let oauth = oauth()
        let tokens = TokenStore(time: clock) {
            try await oauth.refresh($0)
        } revoke: {
            try await oauth.revoke($0)
        }
        let events = tokens.events
        try await clock.runTest {
            for round in 1...2 {
                await tokens.signIn(token)
                await tokens.signOut()
                #expect(clock.elapsed == .seconds(5 * (round - 1)))
                #expect(await tokens.isSignedIn == false)
                await tokens.waitUntilSaved()
                #expect(clock.elapsed == .seconds(5 * round))
            }
        }
        let told = await first(5, of: events)
        #expect(told.prefix(2) == [.signedIn, .signedOut])
        guard case .notRevoked(let error) = told[2] else {
            Issue.record("the failure is not reported")
            return
        }
        #expect(error.status == 503)
        #expect(told.suffix(2) == [.signedIn, .signedOut])
    }

    @Test("S9: a server that does not answer is given up at the limit of a refresh")
    func bounded() async throws {
        network.on(.post, "https://login.test/revoke", .silence)
        let oauth = oauth()
        let tokens = TokenStore(refreshTimeout: .seconds(10), time: clock) {
            try await oauth.refresh($0)
        } revoke: {
            try await oauth.revoke($0)
        }
        try await clock.runTest {
            await tokens.signIn(token)
            await tokens.signOut()
            await tokens.waitUntilSaved()
            #expect(clock.elapsed == .seconds(10))
        }
    }
}
