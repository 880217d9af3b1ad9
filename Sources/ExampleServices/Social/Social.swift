public import Errand

/// A friends list as an app has it: one server, common parameters in every call, and a service that the app talks to.
public enum Social {
    /// Who has an account.
    public struct User: Codable, Sendable, Hashable, Identifiable {
        /// The number of the account.
        public let id: Int
        /// The address, if the user shows it.
        public var email: String?
        /// The name, if the user has given one.
        public var name: String?

        /// Makes a user.
        public init(id: Int, email: String? = nil, name: String? = nil) {
            self.id = id
            self.email = email
            self.name = name
        }
    }

    /// What friends can be put into: `family`, `work`.
    public struct Category: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
        /// Its name.
        public let rawValue: String

        /// The category of that name.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The category of that name.
        public init(stringLiteral name: String) { self.init(rawValue: name) }
    }

    /// A client of a social server, for the app with that token and the user with that number: both go with every call.
    public static func client(
        _ server: ServerEnvironment, appToken: String, user: User.ID,
        _ configure: (inout Configuration) -> Void = { _ in }
    ) -> APIClient {
        var configuration = Configuration(server)
        configuration.parameters = ["application_token": appToken, "user_id": user]
        configure(&configuration)
        return APIClient(configuration)
    }
}
