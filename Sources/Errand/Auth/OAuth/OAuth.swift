/// Requests access tokens from an authorization server: signs users in, requests tokens with any grant, and refreshes
/// them.
///
///     let oauth = OAuth(server: login, tokenPath: "oauth/access_token", clientID: "pins", clientSecret: secret)
///     let tokens = TokenStore(persistence: .file("/var/lib/pins/session")) {
///         try await oauth.refresh($0)
///     }
///     await tokens.signIn(try await oauth.token(.password(username: name, password: password)))
///
/// Its requests are calls of the client that you pass, or of clients that it creates with your configuration, and never
/// signed. They are POSTs without an idempotency key, so a client retries one only if it certainly was not sent. If a
/// connection breaks after a refresh was sent, the next refresh sends the same refresh token again. Over plain http to
/// another machine nothing is sent at all, whatever the client allows. A redirect is not followed: it is `.rejected`.
/// Its description shows no secrets.
///
/// The client's decoder must read JSON; it may turn `snake_case` into `camelCase`.
public struct OAuth: Sendable {
    /// The place of the app's credentials in a request.
    public struct Credentials: Sendable, Hashable, CustomStringConvertible {
        package enum Kind: Sendable, Hashable { case inHeader, inBody, idOnly }

        package let kind: Kind

        /// In the `Authorization` header, with the scheme `Basic`; the id and the secret are percent-encoded first (RFC
        /// 6749, 2.3.1).
        public static let inHeader = Credentials(kind: .inHeader)
        /// In the body, as `client_id` and `client_secret`.
        public static let inBody = Credentials(kind: .inBody)
        /// In the body, the id only: for an app without a secret, because it could not keep one.
        public static let idOnly = Credentials(kind: .idOnly)

        /// The place's name.
        public var description: String { "\(kind)" }
    }

    let server: OAuthServer
    let app: Client
    let tokenType: String
    let parameters: QueryItems
    /// The key that its tokens are bound to; `nil` if they are not.
    private(set) var proofKey: SigningKey?
    /// Whether the program knows the server, and not only an API that has named it.
    var isTrusted = true
    /// The nonces that the server wants in proofs.
    let proofNonces = ProofNonces()
    /// What a shutdown stops beside the calls of the clients.
    let signIns = SignInsUnderWay()

    /// What the authorization server says about itself; `nil` if only its token endpoint is known.
    public var metadata: ServerMetadata? { server.metadata }

    /// Creates the requests of an app for a token endpoint. If a parameter is missing, the first request fails with
    /// `.invalidRequest` and sends nothing.
    ///
    /// - Parameters:
    ///   - server: A client of the authorization server.
    ///   - tokenPath: The path of its token endpoint, `token` by default.
    ///   - clientID: The id of the app.
    ///   - clientSecret: The secret of the app.
    ///   - credentials: The place of the id and the secret in a request, the header by default.
    ///   - tokenType: The only accepted type of token, in whatever case the server writes it, `Bearer` by default; it
    ///     becomes the scheme of the `Authorization` header. A response without a type counts as this type.
    ///   - parameters: Further parameters of every request, such as an audience or a tenant.
    public init(
        server: APIClient, tokenPath: EndpointPath = "token", clientID: String, clientSecret: String = "",
        credentials: Credentials = .inHeader, tokenType: String = "Bearer", parameters: QueryItems = [:]
    ) {
        self.init(
            OAuthServer(login: server, tokenPath: tokenPath),
            client: Client(id: clientID, secret: clientSecret, credentials), tokenType: tokenType,
            parameters: parameters)
    }

    /// Creates the requests of an app for a server whose endpoints you know.
    ///
    ///     let github = OAuth.ServerMetadata(
    ///         authorizationEndpoint: "https://github.com/login/oauth/authorize",
    ///         tokenEndpoint: "https://github.com/login/oauth/access_token")
    ///     let oauth = OAuth(github, client: .basic(id: "pins", secret: secret))
    ///
    /// An endpoint that is missing or no valid URL makes the requests that need it fail with `.invalidRequest`.
    ///
    /// - Parameters:
    ///   - metadata: The endpoints of the server, and what it can do.
    ///   - client: The app as the server knows it.
    ///   - tokenType: The only accepted type of token, `Bearer` by default.
    ///   - parameters: Further parameters of every request, such as an audience or a tenant.
    ///   - configure: Configures the clients of the server, one for each origin. Their `environment` is replaced.
    public init(
        _ metadata: ServerMetadata, client: Client, tokenType: String = "Bearer", parameters: QueryItems = [:],
        _ configure: (inout Configuration) -> Void = { _ in }
    ) {
        self.init(
            OAuthServer(metadata, for: client, configure), client: client, tokenType: tokenType, parameters: parameters)
    }

    init(_ server: OAuthServer, client: Client, tokenType: String, parameters: QueryItems) {
        self.server = server
        app = client
        self.tokenType = tokenType
        self.parameters = parameters
    }

    /// Returns a copy whose tokens are bound to a key (DPoP, RFC 9449): a stolen token is useless without the key.
    ///
    ///     let oauth = try await OAuth.discover("https://login.example.com", client: .public(id: "app"))
    ///         .bindingTokens(to: SigningKey())
    ///
    /// Each request for a token, and each call that is signed with one, then has a proof of its own: for its method,
    /// its URL and the moment. The key is part of ``Token/proofKey``, so it is saved with the session, and a refresh
    /// uses it. If a server wants a nonce in proofs, a request that it refuses for that is sent once more.
    public func bindingTokens(to key: SigningKey) -> OAuth {
        var oauth = self
        oauth.proofKey = key
        return oauth
    }

    /// Requests a token for that grant.
    ///
    /// A refusal is `.rejected`, with the server's message and its code, `invalid_grant` for a wrong password.
    /// Canceling the task ends the call.
    ///
    /// With the scope `openid`, there has to be an ID token that passes its checks, as at a sign-in. So does one that
    /// comes with ``Grant/password(username:password:)`` anyway. Otherwise this throws `.decodingFailed`, or
    /// `.invalidRequest` before anything is sent if the issuer is not known. With other grants an ID token that fails
    /// its checks is left out: it may be that of another app.
    ///
    /// - Parameters:
    ///   - grant: The reason to issue a token.
    ///   - scopes: The scopes of the token; if empty, the server's default.
    ///   - parameters: Further parameters of this request; they replace those of every request.
    public func token(
        _ grant: Grant, scopes: [String] = [], parameters: QueryItems = [:]
    ) async throws(ServiceError) -> Token {
        let requested = requestedScopes(scopes, in: grant.parameters, parameters)
        try checkIdentityScope(in: requested)
        let issued = try await answer(to: grant, scopes: scopes, parameters: parameters, known: requested)
        if grant.signsIn || requested.contains(Self.identityScope) { return try checked(issued, scopes: requested) }
        // An exchange may bring the ID token of another app, which says nothing about a user of this one.
        return (try? checked(issued, scopes: [])) ?? issued.token
    }

    /// Exchanges an expired token for a new one: use it in the `refresh` closure of a `TokenStore`.
    ///
    /// If the response has no new refresh token, ID token or scopes, the old ones stay. A new ID token of another user
    /// ends the session. One that fails another check, because the machine's clock is wrong for example, is dropped and
    /// the old one stays: the server may have replaced the refresh token, so the new token must not be lost. Nor is it
    /// lost because something else in the response cannot be read: that counts as missing, and is reported as
    /// ``ClientEvent/Kind/warned(_:)`` by the client of the server. A token of another type is kept, and never sent as
    /// one of the type that was expected.
    ///
    /// A refusal is `.rejected`, with the server's code. The store ends the session if that code says that the token is
    /// refused, such as `invalid_grant`, and keeps it otherwise: see ``TokenStore``. A missing refresh token ends the
    /// session, and nothing is sent.
    ///
    /// - Parameters:
    ///   - old: The token.
    ///   - scopes: The scopes of the new token, some of those that the user has granted; if empty, all of them.
    public func refresh(_ old: Token, scopes: [String] = []) async throws(ServiceError) -> Token {
        guard let refresh = old.refreshToken, !refresh.isEmpty else {
            throw .sessionExpired(SessionExpiry(.refreshRefused, message: "there is no refresh token"))
        }
        let issued = try await answer(
            to: .refresh(refresh), scopes: scopes, key: old.proofKey, known: old.scopes)
        var token = issued.token
        do throws(ServiceError) {
            token = try checked(issued, scopes: [], subject: old.claims?.subject)
        } catch .sessionExpired(let expiry) {
            throw .sessionExpired(expiry)
        } catch {
            // The token stays without its ID token. As an error it would be lost, and with it the only refresh token
            // that the server still accepts.
        }
        token.keepRefreshToken(of: old)
        token.idToken = token.idToken ?? old.idToken
        if token.scopes.isEmpty { token.scopes = scopes.isEmpty ? old.scopes : scopes }
        token.members.merge(old.members) { new, _ in new }
        return token
    }
}

extension OAuth: OpaqueReflectable {
    /// The server and the id of the app; no secret.
    public var description: String { "OAuth(\(app.id) at \(server))" }
}
