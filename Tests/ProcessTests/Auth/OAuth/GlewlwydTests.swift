#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite(
    "OAuth, against the authorization server Glewlwyd", .timeLimit(.minutes(10)),
    .enabled(if: GlewlwydServer.isAvailable, GlewlwydServer.isMissing))
struct GlewlwydTests {
    private struct User: Decodable {
        let sub: String
    }

    /// What the server says about the user, each time that it is asked.
    private func users(_ oauth: OAuth, _ token: Token, count: Int = 1) async throws -> [String] {
        let endpoint = try #require(oauth.metadata?.userinfoEndpoint)
        let tokens = TokenStore { try await oauth.refresh($0) }
        await tokens.signIn(token)
        let client = APIClient(endpoint) {
            $0.tokens = tokens
            $0.rateLimit = .unlimited
        }
        var users: [String] = []
        for _ in 0..<count { users.append(try await client.run(Endpoint<User>.get("")).sub) }
        return users
    }

    @Test("S8: its metadata are found by the issuer, where only OpenID has a document")
    func discovery() async throws {
        let server = try await GlewlwydServer()
        let metadata = try #require(try await server.oauth().metadata)
        #expect(metadata.issuer == server.issuer && metadata.tokenEndpoint == "\(server.issuer)/token")
        #expect(metadata.pushedAuthorizationRequestEndpoint != nil && metadata.deviceAuthorizationEndpoint != nil)
        #expect(!metadata.requiresPushedAuthorizationRequests && metadata.introspectionEndpoint != nil)
        let strict = try #require(try await server.oauth(at: server.strictIssuer).metadata)
        #expect(strict.requiresPushedAuthorizationRequests)
    }

    @Test("S1, S2, S11, S15: the code grant with an ID token, for each way of an app to prove itself")
    func signIn() async throws {
        let server = try await GlewlwydServer()
        let apps: [OAuth.Client] =
            [
                .public(id: "tool"), .basic(id: "web", secret: GlewlwydServer.secret, encoding: .raw),
                .body(id: "form", secret: GlewlwydServer.secret),
            ] + server.keys.map(GlewlwydServer.signer)
        for app in apps {
            let oauth = try await server.oauth(as: app)
            let token = try await oauth.signIn(scopes: ["openid", "read"], using: server.browser)
            #expect(Set(token.scopes) == ["openid", "read"] && token.refreshToken != nil, "\(app)")
            #expect(token.claims?.audience == [app.id])
            let next = try await oauth.refresh(token)
            #expect(next.accessToken != token.accessToken && next.refreshToken != token.refreshToken)
            #expect(try await users(oauth, next) == [token.claims?.subject])
        }
    }

    @Test("S15: an assertion for one endpoint, with ES256 and with RS256; another key and another app are refused")
    func signer() async throws {
        let server = try await GlewlwydServer()
        let endpoint = "\(server.issuer)/token"
        for key in server.keys {
            let oauth = try await server.oauth(as: .privateKey(id: "signer", key, audience: endpoint))
            #expect(try await oauth.token(.clientCredentials, scopes: ["read"]).expiry != nil)
        }
        for app in [
            OAuth.Client.privateKey(id: "signer", try SigningKey(), audience: endpoint),
            .basic(id: "signer", secret: GlewlwydServer.secret), .privateKey(id: "signer", server.keys[0]),
        ] {
            let oauth = try await server.oauth(as: app)
            let error = await failure { () async throws(ServiceError) in
                try await oauth.token(.clientCredentials, scopes: ["read"])
            }
            #expect(error?.status == 403)
        }
    }

    @Test("S3, S4: what the page refuses is rejected with its code")
    func refusal() async throws {
        let server = try await GlewlwydServer()
        let request = try await server.oauth().signInRequest(
            scopes: ["read"], redirectURI: GlewlwydServer.redirectURI)
        let redirect = try await server.visit(request.address, user: "refuses")
        let error = await failure { () async throws(ServiceError) in
            try await request.token(redirectedTo: redirect)
        }
        #expect(error?.refusalCode == "interaction_required")
    }

    @Test("T21: a refresh token that was used already is refused without a word, and the session goes on for now")
    func reuse() async throws {
        let server = try await GlewlwydServer()
        let oauth = try await server.oauth()
        var token = try await oauth.signIn(scopes: ["read"], using: server.browser)
        _ = try await oauth.refresh(token)
        let tokens = TokenStore { try await oauth.refresh($0) }
        token.expiry = Date(timeIntervalSinceNow: -1)
        await tokens.signIn(token)
        let error = await failure(of: tokens.token)
        #expect(error?.status == 400)
        #expect(await tokens.isSignedIn)
    }

    @Test("S13, S14: pushed parameters, and a nonce that the server wants in each proof")
    func strict() async throws {
        let server = try await GlewlwydServer()
        let key = try SigningKey()
        for app in [OAuth.Client.public(id: "tool"), GlewlwydServer.signer(server.keys[1])] {
            let oauth = try await server.oauth(as: app, at: server.strictIssuer).bindingTokens(to: key)
            let token = try await oauth.signIn(scopes: ["openid", "read"], using: server.browser)
            #expect(token.type == "DPoP" && token.proofKey == key)
            let subject = token.claims?.subject
            // A nonce is good for five proofs.
            let users = try await users(oauth, token, count: 12)
            #expect(users.count == 12 && users.allSatisfy { $0 == subject })
            let next = try await oauth.refresh(token)
            #expect(next.type == "DPoP" && next.accessToken != token.accessToken)
            #expect(try await self.users(oauth, next) == [subject])
        }
    }

    @Test("S7: on another device, with a server that asks for patience")
    func device() async throws {
        let server = try await GlewlwydServer()
        let oauth = try await server.oauth()
        let token = try await oauth.signInOnAnotherDevice(scopes: ["read"]) { try await server.activate($0) }
        #expect(token.scopes == ["read"] && token.refreshToken != nil)
    }

    @Test("S9: an app with a secret revokes its session at the server")
    func revocation() async throws {
        let server = try await GlewlwydServer()
        let app = OAuth.Client.basic(id: "web", secret: GlewlwydServer.secret, encoding: .raw)
        let oauth = try await server.oauth(as: app)
        let token = try await oauth.signIn(scopes: ["read"], using: server.browser)
        try await oauth.revoke(token)
        #expect(await failure { () async throws(ServiceError) in try await oauth.refresh(token) }?.status == 400)
    }
}
#endif
