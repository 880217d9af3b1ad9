extension OAuth {
    /// The reason to issue a token, such as a user's password. Its description shows no secrets.
    ///
    /// A server's own grant is a value too, often in an extension:
    ///
    ///     extension OAuth.Grant {
    ///         static func ticket(_ ticket: String) -> OAuth.Grant {
    ///             OAuth.Grant("urn:example:ticket", parameters: ["ticket_token": ticket])
    ///         }
    ///     }
    public struct Grant: Sendable {
        let parameters: QueryItems
        /// Whether only an app with a secret may use the grant.
        var needsSecret = false
        /// Whether it signs a user of this app in, so that an ID token is about that user.
        private(set) var signsIn = false
        /// Whether it replaces a token, which may be lost with the answer.
        private(set) var isRefresh = false
        /// A description of what is missing; `nil` if nothing is.
        var problem: String?

        /// Creates a grant.
        ///
        /// - Parameters:
        ///   - type: The value of the parameter `grant_type`.
        ///   - parameters: The other parameters of the grant. A value is hidden in all text if its name is that of a
        ///     secret, such as `ticket_token`.
        ///   - needsSecret: Whether only an app that proves itself may use the grant; a public app's request fails.
        public init(_ type: String, parameters: QueryItems = [:], needsSecret: Bool = false) {
            self.parameters = QueryItems([QueryItems.Item(name: "grant_type", value: type)] + parameters.items)
            self.needsSecret = needsSecret
            if type.isEmpty { problem = "the type of the grant is empty" }
        }

        /// The name and the password of a user (RFC 6749, 4.3).
        public static func password(username: String, password: String) -> Grant {
            var grant = Grant("password", parameters: ["username": username, "password": password])
            grant.signsIn = true
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
        public static var clientCredentials: Grant { Grant("client_credentials", needsSecret: true) }

        /// A signed assertion about a user or a service (RFC 7523, 2.1).
        public static func jwtBearer(assertion: String) -> Grant {
            var grant = Grant(
                "urn:ietf:params:oauth:grant-type:jwt-bearer", parameters: ["assertion": assertion])
            if assertion.isEmpty { grant.problem = "the assertion is empty" }
            return grant
        }

        /// A token that the server exchanges for another one (RFC 8693). Pass an `audience` or a `resource` as further
        /// parameters of the request.
        ///
        /// - Parameters:
        ///   - subject: The token of the user for whom the new one is.
        ///   - subjectType: The kind of that token.
        ///   - actor: The token of who acts for the user; `nil` if that is the app itself.
        ///   - actorType: The kind of that token.
        ///   - requestedType: The kind of the new token; if `nil`, the server decides.
        public static func tokenExchange(
            subject: String, subjectType: TokenKind = .accessToken, actor: String? = nil,
            actorType: TokenKind = .accessToken, requestedType: TokenKind? = nil
        ) -> Grant {
            var grant = Grant(
                "urn:ietf:params:oauth:grant-type:token-exchange",
                parameters: [
                    "subject_token": subject, "subject_token_type": subjectType.rawValue, "actor_token": actor,
                    "actor_token_type": actor == nil ? nil : actorType.rawValue,
                    "requested_token_type": requestedType?.rawValue,
                ])
            if subject.isEmpty || actor?.isEmpty == true { grant.problem = "a token to exchange is empty" }
            return grant
        }

        /// A refresh token (RFC 6749, 6).
        static func refresh(_ token: String) -> Grant {
            var grant = Grant("refresh_token", parameters: ["refresh_token": token])
            grant.isRefresh = true
            return grant
        }
    }

    /// A kind of token in an exchange (RFC 8693, 3).
    public struct TokenKind: RawRepresentable, Sendable, Hashable {
        /// The URI of the kind.
        public let rawValue: String

        /// Creates a kind from its URI.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// An access token.
        public static let accessToken = TokenKind(rawValue: "urn:ietf:params:oauth:token-type:access_token")
        /// A refresh token.
        public static let refreshToken = TokenKind(rawValue: "urn:ietf:params:oauth:token-type:refresh_token")
        /// An ID token of OpenID Connect.
        public static let idToken = TokenKind(rawValue: "urn:ietf:params:oauth:token-type:id_token")
        /// A JSON Web Token.
        public static let jwt = TokenKind(rawValue: "urn:ietf:params:oauth:token-type:jwt")
    }
}

extension OAuth.Grant: OpaqueReflectable {
    /// The parameters of the request; secret ones are redacted.
    public var description: String { "Grant(\(parameters))" }
}
