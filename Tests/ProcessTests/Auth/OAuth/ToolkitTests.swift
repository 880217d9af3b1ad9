#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite(
    "OAuth, against the authorization server of django-oauth-toolkit", .timeLimit(.minutes(10)),
    .enabled(if: ToolkitServer.isAvailable, ToolkitServer.isMissing))
struct ToolkitTests {
    @Test("S8, S12: its metadata are found by the issuer, and by the API that names it")
    func discovery() async throws {
        let server = try await ToolkitServer()
        let metadata = try #require(try await server.oauth().metadata)
        #expect(metadata.issuer == server.issuer && metadata.tokenEndpoint == "\(server.issuer)/token/")
        #expect(metadata.revocationEndpoint != nil && metadata.namesIssuerInRedirect)
        let oauth = try await OAuth.discover(for: server.origin, client: .public(id: "tool"))
        #expect(oauth.metadata == metadata)
        let token = try await oauth.signIn(scopes: ["read"], using: server.browser)
        #expect(try await server.me(token) == ["user": "ann", "scope": "read"])
    }

    @Test("S15: the secret is accepted in the header and in the body, and not as it is in the header")
    func clients() async throws {
        let server = try await ToolkitServer()
        let secret = ToolkitServer.secret
        let apps: [(OAuth.Client, isRight: Bool)] = [
            (.basic(id: "service", secret: secret), true), (.body(id: "service", secret: secret), true),
            (.basic(id: "service", secret: secret, encoding: .raw), false),
            (.basic(id: "service", secret: "wrong"), false),
        ]
        for (app, isRight) in apps {
            let oauth = try await server.oauth(as: app)
            let outcome = await Result { () async throws(ServiceError) in try await oauth.token(.clientCredentials) }
            switch outcome {
            case .success(let token):
                #expect(isRight && token.expiry != nil, "\(app)")
                #expect(try await server.me(token) == ["user": nil, "scope": "read"])
            case .failure(let error):
                #expect(!isRight && error.refusalCode == "invalid_client", "\(app): \(error)")
            }
        }
    }

    @Test("S1, S2, S11: the code grant with PKCE and an ID token, as a public app and with a secret")
    func signIn() async throws {
        let server = try await ToolkitServer()
        for app in [OAuth.Client.public(id: "tool"), .basic(id: "web", secret: ToolkitServer.secret)] {
            let oauth = try await server.oauth(as: app)
            let token = try await oauth.signIn(scopes: ["openid", "profile", "read"], using: server.browser)
            #expect(token.scopes == ["openid", "profile", "read"] && token.refreshToken != nil)
            #expect(token.claims?.name == "Ann" && token.claims?.audience == [app.id])
            #expect(try await server.me(token)["user"] == "ann")
        }
    }

    @Test("S4: a refusal is rejected with its code, though its redirect has no issuer")
    func refusal() async throws {
        let server = try await ToolkitServer()
        let oauth = try await server.oauth()
        let error = await failure { () async throws(ServiceError) in
            try await oauth.signIn(scopes: ["read"], using: server.browser, parameters: ["user": "refuses"])
        }
        #expect(error?.refusalCode == "access_denied")
    }

    @Test("T1, T8: fifty calls spend one refresh token; a second use of one ends the session")
    func rotation() async throws {
        let server = try await ToolkitServer()
        let oauth = try await server.oauth()
        let tokens = TokenStore { try await oauth.refresh($0) }
        let first = try await oauth.signIn(scopes: ["read"], using: server.browser)
        var token = first
        for _ in 1...2 {
            let next = try await server.replace(token, of: tokens)
            #expect(next.refreshToken != token.refreshToken && next.scopes == ["read"])
            token = next
        }
        // Somebody uses a copy of the first one.
        let reused = await failure { () async throws(ServiceError) in try await oauth.refresh(first) }
        #expect(reused?.refusalCode == "invalid_grant")
        token.expiry = Date(timeIntervalSinceNow: -1)
        await tokens.signIn(token)
        #expect(await failure(of: tokens.token)?.reason == .refreshRefused)
    }

    @Test("S7: on another device, with an endpoint that the metadata do not name")
    func device() async throws {
        let server = try await ToolkitServer()
        var metadata = try #require(try await server.oauth().metadata)
        metadata.deviceAuthorizationEndpoint = "\(server.issuer)/device-authorization/"
        let oauth = OAuth(metadata, client: .public(id: "tool")) { $0.rateLimit = .unlimited }
        let token = try await oauth.signInOnAnotherDevice(scopes: ["read"]) { prompt in
            #expect(prompt.address == "\(server.origin)/activate")
            try await server.activate(prompt, user: "ann")
        }
        #expect(try await server.me(token) == ["user": "ann", "scope": "read"])
        #expect(try await oauth.refresh(token).accessToken != token.accessToken)
        let error = await failure { () async throws(ServiceError) in
            try await oauth.signInOnAnotherDevice { try await server.activate($0, user: "refuses") }
        }
        #expect(error?.refusalCode == "access_denied")
    }

    @Test("S9: a sign-out revokes the session at the server")
    func revocation() async throws {
        let server = try await ToolkitServer()
        let oauth = try await server.oauth()
        let tokens = TokenStore {
            try await oauth.refresh($0)
        } revoke: {
            try await oauth.revoke($0)
        }
        let token = try await oauth.signIn(scopes: ["read"], using: server.browser)
        await tokens.signIn(token)
        #expect(try await server.me(token)["user"] == "ann")
        await tokens.signOut()
        await tokens.waitUntilSaved()
        #expect(await failure { () async throws(ServiceError) in try await server.me(token) }?.status == 401)
        let error = await failure { () async throws(ServiceError) in try await oauth.refresh(token) }
        #expect(error?.refusalCode == "invalid_grant")
    }
}
#endif
