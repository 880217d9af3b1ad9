public import Errand

/// A friends list as in an app: one server, common parameters in every call, and a service that the app uses.
public enum Social {
    /// A user with an account.
    public struct User: Codable, Sendable, Hashable, Identifiable {
        /// The number of the account.
        public let id: Int
        /// The email address, if the user shows it.
        public var email: String?
        /// The name, if the user has given one.
        public var name: String?

        /// Creates a user.
        public init(id: Int, email: String? = nil, name: String? = nil) {
            self.id = id
            self.email = email
            self.name = name
        }
    }

    /// A category of friends: `family`, `work`.
    public struct Category: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
        /// The name of the category.
        public let rawValue: String

        /// Creates the category of that name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Creates the category of that name.
        public init(stringLiteral name: String) { self.init(rawValue: name) }
    }

    /// Creates a client for the app with that token and the user with that number; every call sends both.
    ///
    /// What the client keeps to show at once is in that folder, so it is there when the app starts. A relative path,
    /// such as `com.example.social`, is below the user's folder for caches. Without a folder it is in memory.
    public static func client(
        _ server: ServerEnvironment, appToken: String, user: User.ID, folder: String? = nil,
        _ configure: (inout Configuration) -> Void = { _ in }
    ) -> APIClient {
        var configuration = Configuration(server)
        configuration.parameters = ["application_token": appToken, "user_id": user]
        configuration.rateLimit = .requests(5, per: .seconds(1))
        configuration.cache = folder.map { HTTPCache.disk($0, megabytes: 5) } ?? .memory(megabytes: 5)
        configure(&configuration)
        return APIClient(configuration)
    }
}
