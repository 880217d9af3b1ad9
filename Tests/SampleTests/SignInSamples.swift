import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

extension OAuth.Grant {
    static func ticket(_ ticket: String) -> OAuth.Grant {
        OAuth.Grant("urn:example:ticket", parameters: ["ticket_token": ticket])
    }
}

private func showSession(_ address: String, _ scheme: String) async throws -> String { address + scheme }

struct Session: Browser {
    func redirect(from page: SignInPage) async throws -> String {
        let address = try await page.address(redirectingTo: "com.example.app:/signed-in")
        return try await showSession(address, "com.example.app")
    }
}

@Suite("Signing in")
struct SignInSamples {
    private func discovered() async throws {
        let oauth = try await OAuth.discover("https://login.example.com", client: .public(id: "tool"))
        let tokens = TokenStore(persistence: .file("/var/lib/tool/session")) { try await oauth.refresh($0) }
        let token = try await oauth.signIn(scopes: ["read"], using: .systemBrowser)
        await tokens.signIn(token)
    }

    private func revoking(_ oauth: OAuth) {
        let tokens = TokenStore(persistence: .file("/var/lib/pins/session")) {
            try await oauth.refresh($0)
        } revoke: {
            if oauth.canRevoke { try await oauth.revoke($0) }
        }
        _ = tokens
    }

    private func known(secret: String) {
        let github = OAuth.ServerMetadata(
            authorizationEndpoint: "https://github.com/login/oauth/authorize",
            tokenEndpoint: "https://github.com/login/oauth/access_token")
        let oauth = OAuth(github, client: .basic(id: "pins", secret: secret))
        _ = oauth
    }

    private func readKey() throws {
        let key = try SigningKey(pem: String(contentsOfFile: "/etc/billing/key.pem", encoding: .utf8))
        _ = key
    }

    private func signing(_ text: String) throws {
        let client = OAuth.Client.privateKey(id: "billing", try SigningKey(pem: text))
        _ = client
    }

    private func ownClaims(_ key: SigningKey) throws {
        struct Claims: Encodable {
            var iss = "TEAM123456", sub = "com.example.app", aud = "https://appleid.apple.com"
            var iat = Date.now, exp = Date.now + 300
        }
        let secret = try key.jsonWebToken(Claims(), keyID: "KEY1234567")
        _ = secret
    }

    private func fixed() {
        let browser = SystemBrowser(redirectURI: "http://localhost:8085/signed-in")
        _ = browser
    }

    private func pasted() {
        let browser = SystemBrowser(acceptsPastedAddress: true)
        _ = browser
    }

    private func onAnotherDevice(_ oauth: OAuth) async throws -> Token {
        let token = try await oauth.signInOnAnotherDevice(scopes: ["read"]) { prompt in
            print("Open \(prompt.address) and enter \(prompt.code)")
        }
        return token
    }

    private func inAServer(_ oauth: OAuth, address: String) async throws -> Token {
        let request = try await oauth.signInRequest(scopes: ["read"], redirectURI: "https://example.com/signed-in")
        // Keep the request with the session of the browser, and redirect the browser to request.address. Then:
        let token = try await request.token(redirectedTo: address)
        return token
    }

    private func greeting(_ oauth: OAuth, _ browser: ScriptedBrowser) async throws {
        let token = try await oauth.signIn(scopes: ["openid", "profile"], using: browser)
        print("Hello \(token.claims?.name ?? "you")")
    }

    private func without(_ oauth: OAuth, _ client: APIClient, _ browser: ScriptedBrowser) async throws -> User {
        let token = try await oauth.signIn(scopes: ["read"], using: browser)
        let me: User = try await client.run(.get("me").header("Authorization", "Bearer \(token.accessToken)"))
        return me
    }

    private func fromTheAPI(secret: String) async throws {
        do {
            let oauth = try await OAuth.discover(for: "https://api.example.com/v1", client: .public(id: "tool"))
            _ = oauth
        }
        let oauth = try await OAuth.discover(for: "https://api.example.com/v1") { issuer in
            issuer == "https://login.example.com" ? .basic(id: "pins", secret: secret) : nil
        }
        _ = oauth
    }

    private func bound() async throws {
        let oauth = try await OAuth.discover("https://login.example.com", client: .public(id: "app"))
            .bindingTokens(to: SigningKey())
        _ = oauth
    }

    private func keep(_ tokens: TokenStore, _ token: Token, _ user: User, _ greet: (String) -> Void) async throws {
        func kept() async throws -> User? {
            try await tokens.signIn(token, keeping: user)
            let user = try await tokens.kept(as: User.self)
            return user
        }
        _ = try await kept()
        if let user = await tokens.current?.claims?.name { greet(user) }
    }

    private func restore(_ oauth: OAuth, _ archive: Data) async throws {
        let request = try oauth.signInRequest(restoring: archive)
        _ = request
    }

    private func stepUp(
        _ rejection: Rejection, _ tokens: TokenStore, _ token: Token, _ oauth: OAuth, _ browser: ScriptedBrowser
    ) async throws {
        if let missing = rejection.requiredScopes {
            let scopes = Set(token.scopes).union(missing)
            await tokens.signIn(try await oauth.signIn(scopes: scopes.sorted(), using: browser))
        }
        if let required = rejection.requiredSignIn {
            let (scopes, parameters) = (token.scopes, required.parameters)
            let newer = try await oauth.signIn(scopes: scopes, using: browser, parameters: parameters)
            await tokens.signIn(newer)
        }
    }

    private func scriptedBrowser(_ server: AuthorizationServer, _ oauth: OAuth) async throws {
        let browser = ScriptedBrowser { address in try server.visit(address) }
        let token = try await oauth.signIn(using: browser)
        _ = token
    }

    private func key(_ key: String) -> APIClient {
        APIClient("https://api.example.com") {
            $0.credentials = .apiKey("X-Api-Key", key)
        }
    }

    @Test("a sign-in in a test, as the article says")
    func inATest() async throws {
        let (network, clock) = (scripted(), TestClock())
        let server = AuthorizationServer(time: clock)
        server.serve(on: network)
        let oauth = try await OAuth.discover(server.issuer, client: .public(id: "app")) { $0.transport = network }
        let token = try await oauth.signIn(using: server.browser)
        #expect(token.type == "Bearer")
        network.on(.get, "https://api.test/me") { request in
            guard let refusal = server.refusal(of: request) else { return .status(204) }
            return .response(refusal)
        }
        let tokens = TokenStore()
        await tokens.signIn(token)
        let client = APIClient("https://api.test") {
            $0.transport = network
            $0.tokens = tokens
        }
        try await client.run(.get("me"))
    }
}
