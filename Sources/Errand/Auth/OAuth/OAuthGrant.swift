extension OAuth {
    /// The reason to issue a token, such as a user's password. Its description shows no secrets.
    public struct Grant: Sendable {
        let parameters: QueryItems
        /// Whether only an app with a secret may use the grant.
        var needsSecret = false
        /// A description of what is missing; `nil` if nothing is.
        var problem: String?

        /// The name and the password of a user (RFC 6749, 4.3).
        public static func password(username: String, password: String) -> Grant {
            var grant = Grant(parameters: ["grant_type": "password", "username": username, "password": password])
            if username.isEmpty {
                grant.problem = "the user name is empty"
            } else if password.isEmpty {
                grant.problem = "the password is empty"
            }
            return grant
        }

        /// The credentials of the app itself, which acts for no user (RFC 6749, 4.4).
        ///
        /// Its tokens have no refresh token. Let a store request another token instead:
        ///
        ///     let tokens = TokenStore { try await oauth.token(.clientCredentials) }
        public static var clientCredentials: Grant {
            Grant(parameters: ["grant_type": "client_credentials"], needsSecret: true)
        }

        /// A refresh token (RFC 6749, 6).
        static func refresh(_ token: String) -> Grant {
            Grant(parameters: ["grant_type": "refresh_token", "refresh_token": token])
        }
    }
}

extension OAuth.Grant: CustomStringConvertible, CustomReflectable {
    /// The parameters of the request; secret ones are redacted.
    public var description: String { "Grant(\(parameters))" }
    /// A mirror that shows only the description.
    public var customMirror: Mirror { Mirror(self, children: ["grant": description]) }
}
