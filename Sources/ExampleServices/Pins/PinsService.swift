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
        /// The session; its events tell an app when to show the sign-in again.
        public let tokens: TokenStore
        let client: APIClient
        private let oauth: OAuth

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
            let oauth = OAuth(
                APIClient(configuration), "oauth/access_token", id: clientID, secret: clientSecret)
            let tokens = TokenStore(persistence: persistence, time: time) { try await oauth.refreshed($0) }
            configuration.tokens = tokens
            client = APIClient(configuration)
            self.oauth = oauth
            self.tokens = tokens
        }

        /// The events of all calls from now on, for logs.
        public var events: AsyncStream<ClientEvent> { client.events }

        /// Ends all calls; later calls fail. The saved session is kept.
        public func shutdown() async {
            await client.shutdown()
        }

        /// Signs in and loads the user. A refusal is `.rejected` with the server's message; failures of the network are
        /// separate errors. Only a complete sign-in begins a session and ends the previous one.
        public func signIn(name: String, password: String) async throws(ServiceError) -> Account {
            let token = try await oauth.token(.password(user: name, password))
            // This request uses the new token itself: until the user is known, the previous session stays.
            let authorization: HTTPHeaders = ["Authorization": "\(token.type) \(token.access)"]
            let user = try await client.run(
                Endpoint<User>.get("users/self", headers: authorization).authentication(.none))
            guard !Task.isCancelled else { throw .cancelled }
            await tokens.signIn(token)
            return Account(user: user, token: token)
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
