import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Authentication")
struct AuthenticationSamples {
    private func signIn(_ login: APIClient, _ tokens: TokenStore, name: String, password: String) async throws {
        let response = try await login.run(.signIn(name, password))
        await tokens.signIn(response.token)
    }

    private func begin(_ tokens: TokenStore, access: String, refresh: String, expiry: Date) async {
        await tokens.signIn(Token(accessToken: access, refreshToken: refresh, expiry: expiry))
    }

    private func signOut(_ tokens: TokenStore) async {
        await tokens.signOut()
    }

    private func revoking(_ login: APIClient) -> TokenStore {
        let tokens = TokenStore(persistence: .file("/var/lib/app/session")) { old in
            try await login.run(.refresh(old)).token
        } revoke: { token in
            try await login.run(.revoke(token))
        }
        return tokens
    }

    private func end(_ client: APIClient, _ login: APIClient, _ tokens: TokenStore) async {
        await client.shutdown()
        await login.shutdown()
        await tokens.waitUntilSaved()
    }

    private func end(_ client: APIClient, _ oauth: OAuth, _ tokens: TokenStore) async {
        await client.shutdown()
        await oauth.shutdown()
        await tokens.waitUntilSaved()
    }

    private func events(_ tokens: TokenStore, showSignIn: (String) -> Void) async {
        for await event in tokens.events {
            switch event {
            case .expired(let expiry): showSignIn(ServiceError.sessionExpired(expiry).localizedDescription)
            case .signedOut: showSignIn("You have signed out.")
            case .notSaved(let problem):
                print("The session may not survive this process: \(problem)")
            default: break  // signed in, refreshed, or not revoked
            }
        }
    }

    @Test("fifty calls on an expired token refresh once", arguments: UInt64(0)..<20)
    func oneRefresh(seed: UInt64) async throws {
        let clock = TestClock(seed: seed)
        let network = ScriptedTransport()
        network.on(.post, "/token", .json(#"{"access_token": "new"}"#).after(.seconds(2)))
        network.on(.get, "/friends", .json("[]").times(50))
        let login = testClient(network, clock)
        let tokens = TokenStore(time: clock) { old in
            try await login.run(.refresh(old)).token
        }
        await tokens.signIn(Token(accessToken: "old", refreshToken: "r", expiry: clock.date))
        let client = testClient(network, clock) { $0.tokens = tokens }
        try await clock.run {
            try await withThrowingTaskGroup(of: [User].self) { calls in
                for _ in 0..<50 { calls.addTask { try await client.run(.friends) } }
                try await calls.waitForAll()
            }
        }
        #expect(network.sent.count { $0.request.method == .post } == 1)
        #expect(clock.elapsed == .seconds(2))
    }

    @Test("a sign-out ends all calls of the session and its streams, unless an endpoint says otherwise")
    func signOutDuringCalls() async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/friends", ScriptedReply.json("[]").after(.seconds(1)).times(2))
        network.on(.get, "/log", .chunks([Data("one\n".utf8)]).thenSilence)
        let tokens = TokenStore(time: clock)
        await tokens.signIn(Token(accessToken: "a"))
        let client = testClient(network, clock) {
            $0.tokens = tokens
            $0.rateLimit = .requests(3, per: .seconds(60))
        }
        try await clock.run {
            let log = try await client.stream(.get("log"))
            let sent = Task(executorPreference: clock.executor) { try await client.run(.friends) }
            async let lasting = client.run(.friends.outlivingSession())
            try await clock.sleep(for: .milliseconds(500))
            let waiting = Task(executorPreference: clock.executor) { try await client.run(.friends) }
            try await clock.sleep(for: .milliseconds(100))
            await tokens.signOut()
            let left = await #expect(throws: ServiceError.self) { try await sent.value }
            #expect(left?.description.contains("sessionExpired(signedOut") == true)
            #expect(left?.mayHaveReachedServer == true)
            #expect(try await lasting.isEmpty)
            let queued = await #expect(throws: ServiceError.self) { try await waiting.value }
            #expect(queued?.description.contains("sessionExpired(signedOut") == true)
            let ended = await #expect(throws: ServiceError.self) { for try await _ in log.lines {} }
            #expect(ended?.description.contains("sessionExpired(signedOut") == true)
        }
    }

    @Test("an endpoint says whether it is signed")
    func endpoints() {
        let signUp: Endpoint<User> = .signUp("Ann")  // .authentication(.none): never signed
        // Signed if a user is signed in:
        let feed: Endpoint<[User]> = .friends.authentication(.optional)
        #expect(signUp.options.authentication == CallOptions.Authentication.none)
        #expect(feed.options.authentication == .optional)
    }
}

extension Endpoint where Response == NoContent {
    static func revoke(_ token: Token) -> Self {
        .post("revoke", body: .form(["token": token.refreshToken])).authentication(.none)
    }
}
