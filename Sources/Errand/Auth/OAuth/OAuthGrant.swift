extension OAuth {
    /// What a token is given for. It prints without its secrets.
    public struct Grant: Sendable {
        let parameters: QueryItems
        /// Whether only an app that has a secret may ask for it.
        var needsSecret = false
        /// What is missing, if anything is.
        var problem: String?

        /// The name and the password of a user (RFC 6749, 4.3).
        public static func password(user: String, _ password: String) -> Grant {
            var grant = Grant(parameters: ["grant_type": "password", "username": user, "password": password])
            if user.isEmpty {
                grant.problem = "the user name is empty"
            } else if password.isEmpty {
                grant.problem = "the password is empty"
            }
            return grant
        }

        /// The credentials of the app itself, which acts for no user (RFC 6749, 4.4).
        ///
        /// Its tokens have no refresh token. A store asks for another one instead:
        ///
        ///     let tokens = TokenStore { _ in try await oauth.token(.clientCredentials) }
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
    /// The parameters of the request, without the secret ones.
    public var description: String { "Grant(\(parameters))" }
    /// Shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["grant": description]) }
}
