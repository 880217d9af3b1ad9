#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite(
    "OAuth, against the authorization server of Authlib", .timeLimit(.minutes(10)),
    .enabled(if: AuthlibServer.isAvailable, AuthlibServer.isMissing))
struct AuthlibTests {
    @Test("S8: its metadata are found by the issuer; another issuer at the same address is refused")
    func discovery() async throws {
        let server = try await AuthlibServer()
        let metadata = try #require(try await server.oauth().metadata)
        #expect(metadata.issuer == server.issuer)
        #expect(metadata.tokenEndpoint == "\(server.issuer)/token" && metadata.revocationEndpoint != nil)
        #expect(metadata.deviceAuthorizationEndpoint != nil && metadata.authorizationEndpoint != nil)
        #expect(metadata.codeChallengeMethods == ["S256"])
        #expect(metadata.namesIssuerInRedirect)
        let error = await failure { () async throws(ServiceError) in
            let other = server.issuer.replacing("127.0.0.1", with: "localhost")
            return try await OAuth.discover(other, client: .public(id: "tool"))
        }
        #expect(error?.refusedPath == "issuer")
    }

    @Test("S15: each way of proving itself gets a token from the server that accepts only it, and no other does")
    func clients() async throws {
        let server = try await AuthlibServer()
        let secret = AuthlibServer.secret
        let apps: [(OAuth.Client, isRight: Bool)] = [
            (.basic(id: "web", secret: secret), true), (.body(id: "web", secret: secret), false),
            (.basic(id: "web", secret: secret, encoding: .raw), false),
            (.basic(id: "raw", secret: secret, encoding: .raw), true), (.basic(id: "raw", secret: secret), false),
            (.body(id: "form", secret: secret), true), (.basic(id: "form", secret: secret), false),
            (.privateKey(id: "signer", server.key), true), (.privateKey(id: "signer", try SigningKey()), false),
            (.basic(id: "signer", secret: secret), false), (.basic(id: "web", secret: "wrong"), false),
        ]
        for (app, isRight) in apps {
            let oauth = try await server.oauth(as: app)
            let outcome = await Result { () async throws(ServiceError) in try await oauth.token(.clientCredentials) }
            switch outcome {
            case .success(let token):
                #expect(isRight, "\(app)")
                #expect(token.refreshToken == nil && token.expiry != nil)
                #expect(try await server.me(token) == ["user": nil, "scope": ""])
            case .failure(let error):
                #expect(!isRight && error.refusalCode == "invalid_client", "\(app): \(error)")
            }
        }
        // Each assertion is good for one request.
        let signer = try await server.oauth(as: .privateKey(id: "signer", server.key))
        #expect(try await signer.token(.clientCredentials) != signer.token(.clientCredentials))
    }

    @Test("S1, S2, S11: the code grant with PKCE and an ID token, as a public app and with a secret and with a key")
    func code() async throws {
        let server = try await AuthlibServer()
        let apps: [OAuth.Client] = [
            .public(id: "tool"), .basic(id: "web", secret: AuthlibServer.secret), .privateKey(id: "signer", server.key),
        ]
        for app in apps {
            let oauth = try await server.oauth(as: app)
            let token = try await oauth.signIn(scopes: ["openid", "read"], using: server.browser)
            #expect(token.scopes == ["openid", "read"] && token.refreshToken != nil)
            #expect(token.claims?.subject == "ann" && token.claims?.name == "Ann")
            #expect(token.claims?.audience == [app.id])
            #expect(try await server.me(token) == ["user": "ann", "scope": "openid read"])
        }
    }

    @Test("S1, S2: the server takes a code once, and only with the verifier and the address of its sign-in")
    func attacks() async throws {
        let server = try await AuthlibServer()
        let oauth = try await server.oauth()
        let uri = "https://app.test/signed-in"
        func begun() async throws -> (request: OAuth.SignInRequest, redirect: String) {
            let request = try await oauth.signInRequest(redirectURI: uri)
            return (request, try await server.visit(request.address))
        }
        // A stolen code: the thief has a verifier of its own.
        let (stolen, thief) = (try await begun(), try await begun())
        let stolenCode = try #require(parameters(of: stolen.redirect)["code"])
        let thiefsCode = try #require(parameters(of: thief.redirect)["code"])
        let injected = thief.redirect.replacing(thiefsCode, with: stolenCode)
        let refused = await failure { () async throws(ServiceError) in
            try await thief.request.token(redirectedTo: injected)
        }
        #expect(refused?.refusalCode == "invalid_grant")
        _ = try await stolen.request.token(redirectedTo: stolen.redirect)
        // Used already.
        let again = await failure { () async throws(ServiceError) in
            try await oauth.token(
                OAuth.Grant(
                    "authorization_code",
                    parameters: [
                        "code": stolenCode, "redirect_uri": uri, "code_verifier": String(repeating: "v", count: 43),
                    ]))
        }
        #expect(again?.refusalCode == "invalid_grant")
    }

    @Test("S3, S4: a user who refuses is rejected with the server's words")
    func refusal() async throws {
        let server = try await AuthlibServer()
        let oauth = try await server.oauth()
        let error = await failure { () async throws(ServiceError) in
            try await oauth.signIn(scopes: ["read"], using: server.browser, parameters: ["user": "refuses"])
        }
        #expect(error?.refusalCode == "access_denied")
        guard case .rejected(let rejection) = error else { return }
        #expect(rejection.message?.contains("denied") == true)
    }

    @Test("T1: fifty calls on an expired token spend one refresh token, and the next refresh works with the new one")
    func rotation() async throws {
        let server = try await AuthlibServer()
        let oauth = try await server.oauth()
        let tokens = TokenStore { try await oauth.refresh($0) }
        var token = try await oauth.signIn(scopes: ["read"], using: server.browser)
        for round in 1...3 {
            let next = try await server.replace(token, of: tokens)
            #expect(next.refreshToken != token.refreshToken && next.scopes == ["read"])
            token = next
            #expect(try await server.spent() == ["used": round, "again": 0])
        }
    }

    @Test("T8: a refresh token that somebody has used already ends the session, for good")
    func reuse() async throws {
        let server = try await AuthlibServer()
        let oauth = try await server.oauth()
        let tokens = TokenStore { try await oauth.refresh($0) }
        var token = try await oauth.signIn(using: server.browser)
        // Somebody has a copy.
        let thiefs = try await oauth.refresh(token)
        token.expiry = Date(timeIntervalSinceNow: -1)
        await tokens.signIn(token)
        let error = await failure(of: tokens.token)
        #expect(error?.reason == .refreshRefused)
        #expect(await failure(of: tokens.token) != nil)
        #expect(try await server.spent() == ["used": 1, "again": 1])
        // The server has ended all tokens of that sign-in.
        #expect(await failure { () async throws(ServiceError) in try await server.me(thiefs) }?.status == 401)
        let later = await failure { () async throws(ServiceError) in try await oauth.refresh(thiefs) }
        #expect(later?.refusalCode == "invalid_grant")
    }

    @Test("S7: on another device, a user who takes a while and then agrees, and one who refuses")
    func device() async throws {
        let server = try await AuthlibServer()
        let (answers, noted) = AsyncStream<Void>.makeStream()
        let oauth = try await OAuth.discover(server.issuer, client: .public(id: "tool")) {
            $0.rateLimit = .unlimited
            $0.observe = { event in
                guard case .ended(.rejected(let rejection), _, _) = event.kind else { return }
                if rejection.code == "authorization_pending" { noted.yield() }
            }
        }
        let agreed = Noted<Task<Void, any Error>?>(nil)
        let token = try await oauth.signInOnAnotherDevice(scopes: ["read"]) { prompt in
            #expect(prompt.address == "\(server.issuer)/activate")
            #expect(prompt.code.utf8.count == 9)
            // After the first poll, which must have found nothing yet.
            agreed.value = Task {
                for await _ in answers { break }
                try await server.activate(prompt, user: "ann")
            }
        }
        try await agreed.value?.value
        #expect(try await server.me(token) == ["user": "ann", "scope": "read"])
        let refreshed = try await oauth.refresh(token)
        #expect(refreshed.accessToken != token.accessToken)
        let error = await failure { () async throws(ServiceError) in
            try await oauth.signInOnAnotherDevice { try await server.activate($0, user: "refuses") }
        }
        #expect(error?.refusalCode == "access_denied")
    }

    @Test("S9: a sign-out revokes the session at the server; a token that it does not know counts as revoked")
    func revocation() async throws {
        let server = try await AuthlibServer()
        let oauth = try await server.oauth()
        let tokens = TokenStore {
            try await oauth.refresh($0)
        } revoke: {
            try await oauth.revoke($0)
        }
        let token = try await oauth.signIn(using: server.browser)
        await tokens.signIn(token)
        #expect(try await server.me(token)["user"] == "ann")
        await tokens.signOut()
        await tokens.waitUntilSaved()
        #expect(await failure { () async throws(ServiceError) in try await server.me(token) }?.status == 401)
        let error = await failure { () async throws(ServiceError) in try await oauth.refresh(token) }
        #expect(error?.refusalCode == "invalid_grant")
        try await oauth.revoke(Token(accessToken: "unknown", refreshToken: "unknown"))
    }

    @Test("S5: a whole sign-in with the receiver on this machine, where a browser follows the redirect")
    func receiver() async throws {
        let server = try await AuthlibServer()
        let oauth = try await server.oauth()
        let pages = Noted<[Task<String, any Error>]>([])
        let browser = SystemBrowser(redirectURI: "http://127.0.0.1/back") { _ in
        } open: { address in
            let opening = Task {
                // This client follows redirects to other origins, as browsers do.
                try await APIClient(server.issuer).run(Endpoint<String>.get(url: address))
            }
            pages.update { $0.append(opening) }
        }
        let token = try await oauth.signIn(scopes: ["read"], using: browser)
        #expect(try await server.me(token) == ["user": "ann", "scope": "read"])
        let page = try #require(pages.value.first)
        #expect(try await page.value.contains("You are signed in"))
    }
}
#endif
