public import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Pins {
    /// Somebody who has signed in: who it is, and the token that says so.
    public struct Account: Codable, Sendable, Hashable {
        /// Who it is.
        public let user: User
        /// The token.
        public let token: Token
    }

    /// Signing in and out, and what a signed-in user can do. Operations are grouped by what they are about: this file
    /// has the account, others have friendships, pins and comments.
    ///
    /// An access token that has expired is replaced on the way, and the call that met it goes on with the new one.
    /// Every call but `signIn` needs a user; without one it fails at once with `.signInRequired`.
    public struct Service: Sendable {
        /// The session; its events tell an app when to show the sign-in again.
        public let tokens: TokenStore
        let client: APIClient
        private let oauth: OAuth

        /// Makes the service for that server. Both clients share one limit, and what is set in `configure`.
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

        /// What happens to the calls from now on, for logs.
        public var events: AsyncStream<ClientEvent> { client.events }

        /// Ends all calls; later ones fail. The session stays where it is saved.
        public func shutdown() async {
            await client.shutdown()
        }

        /// Signs in, and finds out who that is. A refusal is `.rejected` with the server's words; what the network does
        /// is told apart from it. Only a sign-in that is whole begins a session, and ends the one before.
        public func signIn(name: String, password: String) async throws(ServiceError) -> Account {
            let token = try await oauth.token(.password(user: name, password))
            // Asked with the token itself: until it is known whose it is, the session that was there goes on.
            let authorization: HTTPHeaders = ["Authorization": "\(token.type) \(token.access)"]
            let user = try await client.run(
                Endpoint<User>.get("users/self", headers: authorization).authentication(.none))
            guard !Task.isCancelled else { throw .cancelled }
            await tokens.signIn(token)
            return Account(user: user, token: token)
        }

        /// Forgets the user and the token.
        public func signOut() async {
            await tokens.signOut()
        }

        /// Who is signed in.
        public func user() async throws(ServiceError) -> User {
            try await client.run(.get("users/self"))
        }

        /// Who has that number.
        public func user(_ id: User.ID) async throws(ServiceError) -> User {
            try await client.run(.get("users/\(id)"))
        }
    }
}
