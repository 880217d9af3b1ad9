public import Errand

/// A user of a Redis server. Its description does not show the password.
public struct RedisCredentials: Sendable, Hashable, OpaqueReflectable {
    let user: String
    let password: String

    /// Creates the credentials of a user with a password.
    public static func user(_ name: String, password: String) -> RedisCredentials {
        RedisCredentials(user: name, password: password)
    }

    /// Creates the credentials for a server that has a password (`requirepass`) and no users. Redis calls such a user
    /// `default`.
    public static func password(_ password: String) -> RedisCredentials {
        RedisCredentials(user: "default", password: password)
    }

    /// The name of the user.
    public var description: String { "RedisCredentials(\(user))" }
}
