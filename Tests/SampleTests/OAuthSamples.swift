import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("OAuth, lossy lists and archives")
struct OAuthSamples {
    private struct OldAccount: Codable { var name: String }

    private struct Account: Codable {
        var user: User

        init(_ old: OldAccount) { user = User(id: 0, name: old.name) }
    }

    private func make(limiter: RateLimiter, secret: String) -> (OAuth, TokenStore, APIClient) {
        let login = APIClient("https://auth.example.com") { $0.limiter = limiter }
        let oauth = OAuth(server: login, tokenPath: "oauth/access_token", clientID: "pins", clientSecret: secret)
        let tokens = TokenStore(persistence: .file("/var/lib/pins/session")) {
            try await oauth.refresh($0)
        }
        let client = APIClient("https://api.example.com") {
            $0.limiter = limiter
            $0.tokens = tokens
        }
        return (oauth, tokens, client)
    }

    private func documented(login: APIClient, secret: String, name: String, password: String) async throws {
        let oauth = OAuth(server: login, tokenPath: "oauth/access_token", clientID: "pins", clientSecret: secret)
        let tokens = TokenStore(persistence: .file("/var/lib/pins/session")) {
            try await oauth.refresh($0)
        }
        await tokens.signIn(try await oauth.token(.password(username: name, password: password)))
    }

    private func signIn(
        _ oauth: OAuth, _ tokens: TokenStore, name: String, password: String, show: (ServiceError) -> Void
    ) async {
        do {
            let token = try await oauth.token(.password(username: name, password: password), scopes: ["read"])
            await tokens.signIn(token)
        } catch .rejected(let rejection) where rejection.code == "invalid_grant" {
            print("Wrong name or password: \(rejection)")
        } catch {
            show(error)
        }
    }

    private func ofTheApp(_ oauth: OAuth) {
        let tokens = TokenStore { try await oauth.token(.clientCredentials) }
        _ = tokens
    }

    private func lossy(_ client: APIClient) async throws {
        let users = try await client.run(Endpoint<LossyList<User>>.get("users").unwrapping("users"))
        if users.skippedCount > 0 { print("\(users.skippedCount) users could not be read: \(users.failures)") }
    }

    private func archive(_ friends: [User]) async throws {
        let archive = ValueArchive<[User]>(path: "/var/lib/app/friends")
        try await archive.save(friends)
        let saved = try await archive.load() ?? []
        _ = saved
    }

    private func migrated(path: String) {
        let archive = ValueArchive<Account>(path: path, version: 2) { old, version in
            Account(try OldAccount(from: old))
        }
        _ = archive
    }

    @Test("a sign-in asks as the article says, and the token is the store's")
    func signsIn() async throws {
        let network = scripted()
        network.on(.post, "/token", .json(#"{"access_token": "a", "token_type": "Bearer"}"#))
        let tokens = TokenStore { $0 }
        let oauth = OAuth(server: testClient(network), clientID: "pins", clientSecret: "s")
        await signIn(oauth, tokens, name: "ann", password: "p") { Issue.record("\($0)") }
        #expect(try await tokens.token().accessToken == "a")
    }
}
