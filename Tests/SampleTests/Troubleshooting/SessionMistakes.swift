import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation

extension Mistake {
    static let sessions: [Mistake] = [
        Mistake("A client without a token store") {
            try await client(.status(401)).run(.person)
        },
        Mistake("A store without a session") {
            let signedIn = TokenStore()
            await signedIn.signIn(Token(accessToken: "3e1f"))
            // The client has another one.
            try await client { $0.tokens = TokenStore() }.run(.person)
        },
        Mistake("A token that has expired, and no refresh") {
            let clock = TestClock()
            let tokens = TokenStore(time: clock)
            await tokens.signIn(Token(accessToken: "3e1f", expiry: clock.date.addingTimeInterval(-1)))
            try await client(at: clock) { $0.tokens = tokens }.run(.person)
        },
        Mistake("A refresh token that the server refuses") {
            let clock = TestClock()
            let login = client(.json(#"{"error": "invalid_grant"}"#, status: 400), at: clock)
            let oauth = OAuth(server: login, clientID: "app", credentials: .idOnly)
            let tokens = TokenStore(time: clock) { try await oauth.refresh($0) }
            await tokens.signIn(Token(accessToken: "3e1f", refreshToken: "77ab", expiry: clock.date))
            try await client(at: clock) { $0.tokens = tokens }.run(.person)
        },
        Mistake("An app without a secret") {
            let oauth = OAuth(server: client(), clientID: "app")
            _ = try await oauth.token(.password(username: "ann", password: "77ab"))
        },
        Mistake("A refresh that asks its own store") {
            let clock = TestClock()
            let store = Later()
            let tokens = TokenStore(time: clock) { _ in try await store.tokens?.token() ?? Token(accessToken: "") }
            store.tokens = tokens
            await tokens.signIn(Token(accessToken: "3e1f", expiry: clock.date))
            try await client(at: clock) { $0.tokens = tokens }.run(.person)
        },
        Mistake("A user who signs out during a call") {
            let clock = TestClock()
            let tokens = TokenStore(time: clock)
            await tokens.signIn(Token(accessToken: "3e1f"))
            let client = client(.status(204), at: clock) {
                $0.tokens = tokens
                $0.rateLimit = .requests(1, per: .seconds(1))
            }
            try await client.run(.put("users/7/photo"))
            async let call = client.run(.person)
            await clock.sleepers(atLeast: 1)
            await tokens.signOut()
            _ = try await call
        },
    ]
}

/// A store that its own closure uses.
private final class Later: Sendable {
    private let noted = Noted<TokenStore?>(nil)

    var tokens: TokenStore? {
        get { noted.value }
        set { noted.value = newValue }
    }
}
