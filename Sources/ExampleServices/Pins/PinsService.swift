public import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Pins {
    /// A signed-in user with the token of the session.
    public struct Account: Codable, Sendable, Hashable {
        /// The user.
        public let user: User
        /// The token.
        public let token: Token
    }

    /// Signing in and out, and what a signed-in user can do. The operations are grouped by topic: this file has the
    /// account, others have friendships, pins and comments.
    ///
    /// An expired access token is replaced automatically, and the call continues with the new one. Every call but
    /// `signIn` needs a signed-in user; without one it fails at once with `.signInRequired`.
    public struct Service: Sendable {
        /// The session; its events show an app when to show the sign-in again.
        public let tokens: TokenStore
        let client: APIClient
        /// The client that requests tokens, for sign-ins and refreshes.
        private let login: APIClient
        private let oauth: OAuth
        /// The same server with its sign-in page.
        private let pages: OAuth
        private let feed: Broadcast<ClientEvent>

        /// Creates the service for that server. Both clients share one limit, and the settings of `configure`.
        public init(
            _ server: ServerEnvironment, clientID: String, clientSecret: String,
            persistence: any TokenPersistence = .memory, time: any TimeSource = .system,
            _ configure: (inout Configuration) -> Void = { _ in }
        ) {
            var configuration = Configuration(server)
            configuration.timeout = .seconds(10)
            configuration.time = time
            configuration.decoder = JSONDecoder.pins
            configuration.encoder = JSONEncoder.pins
            configure(&configuration)
            configuration.limiter = configuration.limiter ?? RateLimiter(configuration.rateLimit, time: time)
            let feed = Broadcast<ClientEvent>()
            configuration.observe = { [observe = configuration.observe] event in
                observe?(event)
                feed.send(event)
            }
            let login = APIClient(configuration)
            let oauth = OAuth(
                server: login, tokenPath: "oauth/access_token", clientID: clientID, clientSecret: clientSecret)
            let base = configuration.environment.baseURL
            let metadata = OAuth.ServerMetadata(
                authorizationEndpoint: "\(base)/oauth/authorize", tokenEndpoint: "\(base)/oauth/access_token")
            pages = OAuth(metadata, client: .basic(id: clientID, secret: clientSecret)) { $0 = configuration }
            let tokens = TokenStore(persistence: persistence, time: time) { try await oauth.refresh($0) }
            configuration.tokens = tokens
            client = APIClient(configuration)
            self.login = login
            self.oauth = oauth
            self.tokens = tokens
            self.feed = feed
        }

        /// The events of all calls from now on, sign-ins and token refreshes included, for logs. The stream ends with
        /// `shutdown()`. A listener that falls 10,000 events behind loses the oldest.
        public var diagnostics: AsyncStream<ClientEvent> { feed.stream(capacity: 10_000) }

        /// Ends all calls, and sign-ins that wait for the user; later ones fail. A page that is open in a browser stays
        /// open, but signs nobody in any more. The saved session is kept: a refresh that has begun finishes, and its
        /// token is saved, because the server may have replaced the old one already.
        public func shutdown() async {
            await client.shutdown()
            await login.shutdown()
            await pages.shutdown()
            await tokens.waitUntilSaved()
            feed.finish()
        }

        /// Signs in and loads the user. For a wrong name or password, the error's `isWrongPassword` is `true`; any
        /// other refusal is `.rejected` too, and failures of the network are separate errors. Only a complete sign-in
        /// begins a session and ends the previous one.
        public func signIn(name: String, password: String) async throws(ServiceError) -> Account {
            try await begin(with: try await oauth.token(.password(username: name, password: password)))
        }

        /// Signs in on the server's page, which the browser shows, and loads the user: the app never sees the password.
        ///
        /// Throws `.cancelled` if the user closes the page, and `.rejected` with the code `access_denied` if they
        /// refuse.
        public func signIn(using browser: some Browser) async throws(ServiceError) -> Account {
            try await begin(with: try await pages.signIn(scopes: ["read", "write"], using: browser))
        }

        /// Loads the user of that token, and begins their session.
        private func begin(with token: Token) async throws(ServiceError) -> Account {
            // This request uses the new token itself: until the user is known, the previous session stays.
            let authorization: HTTPHeaders = ["Authorization": "\(token.type) \(token.accessToken)"]
            let user = try await client.run(
                Endpoint<User>.get("users/self", headers: authorization).authentication(.none))
            guard !Task.isCancelled else { throw .cancelled }
            try await tokens.signIn(token, keeping: user)
            return Account(user: user, token: token)
        }

        /// The user who is signed in, as they were at the sign-in; `nil` if nobody is. Nothing is sent: a program that
        /// starts again knows whose session it has.
        public var savedUser: User? {
            get async throws(ServiceError) { try await tokens.kept(as: User.self) }
        }

        /// Discards the user and the token.
        public func signOut() async {
            await tokens.signOut()
        }

        /// Returns the signed-in user.
        public func user() async throws(ServiceError) -> User {
            try await client.run(.get("users/self"))
        }

        /// Returns the user with that number.
        public func user(_ id: User.ID) async throws(ServiceError) -> User {
            try await client.run(.get("users/\(id)"))
        }
    }
}

extension ServiceError {
    /// Whether a sign-in was refused because of the name or the password. Other refusals say nothing about them: the
    /// app's own id may be wrong, or the server may have moved.
    public var isWrongPassword: Bool {
        guard case .rejected(let rejection) = self else { return false }
        return rejection.code == "invalid_grant"
    }
}
