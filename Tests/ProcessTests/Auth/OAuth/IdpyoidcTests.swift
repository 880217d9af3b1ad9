#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite(
    "OAuth: pushed parameters and bound tokens, against the authorization server of idpyoidc",
    .timeLimit(.minutes(10)), .enabled(if: IdpyoidcServer.isAvailable, IdpyoidcServer.isMissing))
struct IdpyoidcTests {
    private let scopes = ["profile", "offline_access"]

    @Test("S14: the server accepts what is pushed, the page gets only its reference, and the reference works once")
    func pushed() async throws {
        let server = try await IdpyoidcServer()
        let oauth = try await server.oauth().bindingTokens(to: SigningKey())
        let metadata = try #require(oauth.metadata)
        #expect(metadata.pushedAuthorizationRequestEndpoint == "\(server.issuer)/par")
        #expect(metadata.requiresPushedAuthorizationRequests && metadata.namesIssuerInRedirect)
        let request = try await oauth.signInRequest(
            scopes: scopes, redirectURI: IdpyoidcServer.redirectURI, parameters: ["prompt": "consent"])
        #expect(try #require(request.expiry) <= Date(timeIntervalSinceNow: 60))
        let redirect = try await server.visit(request.address)
        let token = try await request.token(redirectedTo: redirect)
        #expect(token.scopes == scopes && token.refreshToken != nil)
        let pushed = [
            "client_id", "code_challenge", "code_challenge_method", "dpop_jkt", "prompt", "redirect_uri",
            "response_type", "scope", "state",
        ]
        #expect(try await server.asked("par") == [pushed])
        #expect(try await server.asked("authorize") == [["client_id", "request_uri"]])
        // Used already.
        let again = await #expect(throws: ServiceError.self) { try await server.visit(request.address) }
        #expect(again?.refusalCode == "invalid_client" && again?.status == 401)
    }

    @Test("S14: the server refuses a page whose parameters were not pushed, and parameters that it does not accept")
    func refused() async throws {
        let server = try await IdpyoidcServer()
        let oauth = try await server.oauth().bindingTokens(to: SigningKey())
        var metadata = try #require(oauth.metadata)
        metadata.requiresPushedAuthorizationRequests = false
        let request = try await OAuth(metadata, client: .public(id: "tool"))
            .signInRequest(scopes: scopes, redirectURI: IdpyoidcServer.redirectURI)
        let direct = await #expect(throws: ServiceError.self) { try await server.visit(request.address) }
        #expect(direct?.status == 401)
        let error = await failure { () async throws(ServiceError) in
            try await oauth.signInRequest(redirectURI: "https://elsewhere.test/signed-in")
        }
        #expect(error?.refusalCode == "invalid_request")
    }

    @Test("S14, S15: an app that signs its requests signs the pushed one, with the issuer as audience")
    func signed() async throws {
        let server = try await IdpyoidcServer()
        let oauth = try await server.oauth(as: .privateKey(id: "signer", server.key))
            .bindingTokens(to: SigningKey())
        for _ in 1...2 {
            let token = try await oauth.signIn(scopes: scopes, using: server.browser)
            #expect(token.type == "DPoP" && token.scopes == scopes)
        }
        let pushed = try await server.asked("par")
        #expect(pushed.count == 2 && pushed.allSatisfy { $0.contains("client_assertion") })
        let others: [OAuth.Client] = [
            .privateKey(id: "signer", try SigningKey()), .public(id: "signer"), .public(id: "unknown"),
        ]
        for app in others {
            let error = await failure { () async throws(ServiceError) in
                try await server.oauth(as: app).signInRequest(redirectURI: IdpyoidcServer.redirectURI)
            }
            #expect(error?.refusalCode == "invalid_client", "\(app)")
        }
    }

    @Test("S13: the server binds a token to the key, and its API takes calls with proofs by that key, each once")
    func bound() async throws {
        let server = try await IdpyoidcServer()
        let key = try SigningKey()
        let token = try await server.oauth().bindingTokens(to: key).signIn(scopes: scopes, using: server.browser)
        #expect(token.type == "DPoP" && token.proofKey == key)
        let tokens = TokenStore { old in old }
        await tokens.signIn(token)
        let client = server.client(tokens)
        let users = try await withThrowingTaskGroup { group in
            // The query is not part of the URL in a proof.
            for number in 1...20 {
                group.addTask {
                    try await client.run(Endpoint<IdpyoidcServer.User>.get("me", query: ["number": number]))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(users.count == 20 && users.allSatisfy { $0.name == "Ann" && $0 == users[0] })
        #expect(try await server.asked("me").count == 20)
    }

    @Test("S13: whoever has stolen the tokens, but not the key, can neither call nor refresh")
    func stolen() async throws {
        let server = try await IdpyoidcServer()
        let oauth = try await server.oauth()
        let token = try await oauth.bindingTokens(to: SigningKey()).signIn(scopes: scopes, using: server.browser)
        for type in ["Bearer", "DPoP"] {
            let error = await failure { () async throws(ServiceError) in
                try await server.me(["Authorization": "\(type) \(token.accessToken)"])
            }
            #expect(error?.status == 401, "\(type)")
        }
        var thiefs = token
        thiefs.proofKey = try SigningKey()
        let tokens = TokenStore { try await oauth.refresh($0) }
        await tokens.signIn(thiefs)
        // The API refuses the proof, and then the token endpoint.
        let error = await failure { () async throws(ServiceError) in
            try await server.client(tokens).run(Endpoint<IdpyoidcServer.User>.get("me"))
        }
        #expect(error?.reason == .refreshRefused)
        #expect(try await server.asked("me").count == 3)
        let direct = await failure { () async throws(ServiceError) in try await oauth.refresh(thiefs) }
        #expect(direct?.refusalCode == "invalid_grant")
        thiefs.proofKey = nil
        let unproven = await failure { () async throws(ServiceError) in try await oauth.refresh(thiefs) }
        #expect(unproven?.refusalCode == "invalid_dpop_proof")
        // The owner of the key still has both.
        _ = try await oauth.refresh(token)
    }

    @Test("S13: a refresh proves the key that was saved with the session, and the new token is bound to it")
    func refreshed() async throws {
        let server = try await IdpyoidcServer()
        let oauth = try await server.oauth()
        let key = try SigningKey()
        var token = try await oauth.bindingTokens(to: key).signIn(scopes: scopes, using: server.browser)
        // Another process has only what was saved.
        token = try JSONDecoder().decode(Token.self, from: JSONEncoder().encode(token))
        let tokens = TokenStore { try await oauth.refresh($0) }
        for _ in 1...2 {
            token.expiry = Date(timeIntervalSinceNow: -1)
            await tokens.signIn(token)
            let user = try await server.client(tokens).run(Endpoint<IdpyoidcServer.User>.get("me"))
            #expect(user.name == "Ann")
            let next = try await tokens.token()
            #expect(next.accessToken != token.accessToken && next.refreshToken != token.refreshToken)
            #expect(next.proofKey == key && next.type == "DPoP")
            token = next
        }
        #expect(try await server.asked("token").count == 3)
    }
}
#endif
