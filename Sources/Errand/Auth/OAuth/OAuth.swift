#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Requests access tokens from an authorization server, with the password, client credentials and refresh grants of RFC
/// 6749.
///
///     let oauth = OAuth(server: login, tokenPath: "oauth/access_token", clientID: "pins", clientSecret: secret)
///     let tokens = TokenStore(persistence: .file("/var/lib/pins/session")) {
///         try await oauth.refresh($0)
///     }
///     await tokens.signIn(try await oauth.token(.password(username: name, password: password)))
///
/// Its requests are calls of the client that you pass, and never signed. They are POSTs without an idempotency key, so
/// the client retries one only if it certainly was not sent. If a connection breaks after a refresh was sent, the next
/// refresh sends the same refresh token again. Over plain http to another machine nothing is sent at all, whatever the
/// client allows. Its description shows no secrets.
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

    private let client: APIClient
    private let path: EndpointPath
    private let id: String
    private let secret: String
    private let credentials: Credentials
    private let tokenType: String
    private let parameters: QueryItems

    /// Creates a client for a token endpoint. If a parameter is missing, the first request fails with `.invalidRequest`
    /// and sends nothing.
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
        client = server
        path = tokenPath
        id = clientID
        secret = clientSecret
        self.credentials = credentials
        self.tokenType = tokenType
        self.parameters = parameters
    }

    /// Requests a token for that grant.
    ///
    /// A refusal is `.rejected`, with the server's message and its code, `invalid_grant` for a wrong password.
    /// Canceling the task ends the call.
    ///
    /// - Parameters:
    ///   - grant: The reason to issue a token.
    ///   - scopes: The scopes of the token; if empty, the server's default.
    ///   - parameters: Further parameters of this request; they replace those of every request.
    public func token(
        _ grant: Grant, scopes: [String] = [], parameters: QueryItems = [:]
    ) async throws(ServiceError) -> Token {
        let endpoint = try endpoint(for: grant, scopes: scopes, parameters: parameters)
        let reply = try await client.reply(to: endpoint)
        let answer = reply.value
        if let error = answer.error { throw rejection(error, of: reply, to: grant) }
        if let type = answer.type, !type.equalsIgnoringCase(tokenType) {
            // A type that is not a plain word could be anything, even a secret.
            let isWord = type.utf8.count <= 16 && type.utf8.all { (0x61...0x7A).contains($0.asciiLowercased) }
            throw .decodingFailed(
                DecodingFailure(
                    path: "token_type", expected: tokenType, found: isWord ? clean(type, of: grant) : "another type",
                    status: reply.status))
        }
        return Token(
            accessToken: answer.access, refreshToken: answer.refresh, type: tokenType,
            expiry: answer.lifetime.map { client.configuration.time.date.addingTimeInterval($0) },
            scopes: answer.scopes ?? scopes)
    }

    /// Exchanges an expired token for a new one: use it in the `refresh` closure of a `TokenStore`.
    ///
    /// If the response has no new refresh token, or no scopes, the old ones stay. A refusal is `.rejected`, with the
    /// server's code. The store ends the session if that code says that the token is refused, such as `invalid_grant`,
    /// and keeps it otherwise: see ``TokenStore``. A missing refresh token ends the session, and nothing is sent.
    public func refresh(_ old: Token) async throws(ServiceError) -> Token {
        guard let refresh = old.refreshToken, !refresh.isEmpty else {
            throw .sessionExpired(SessionExpiry(.refreshRefused, message: "there is no refresh token"))
        }
        var token = try await token(.refresh(refresh))
        token.refreshToken = token.refreshToken ?? refresh
        if token.scopes.isEmpty { token.scopes = old.scopes }
        return token
    }

    private func endpoint(
        for grant: Grant, scopes: [String], parameters own: QueryItems
    ) throws(ServiceError) -> Endpoint<OAuthAnswer> {
        if let problem = problem(of: grant) { throw .badSetting(problem) }
        try refuseCleartext()
        var form = grant.parameters
        if !scopes.isEmpty { form.add("scope", scopes.joined(separator: " ")) }
        var headers: HTTPHeaders = [:]
        switch credentials.kind {
        case .inHeader: headers["Authorization"] = basic
        case .inBody:
            form.add("client_id", id)
            form.add("client_secret", secret)
        case .idOnly: form.add("client_id", id)
        }
        let further = own.items + parameters.items.filter { item in !own.items.contains { $0.name == item.name } }
        // RFC 6749, 3.2: a parameter occurs once, and which of two a server would use is not known.
        if let twice = further.first(where: { item in form.items.contains { $0.name == item.name } }) {
            throw .badSetting("the parameter \(HTTPSyntax.quoted(twice.name)) is already set")
        }
        form.items += further
        return .post(path, headers: headers, body: .form(form)).authentication(.none)
    }

    /// Returns what is missing for that grant; `nil` if nothing is.
    private func problem(of grant: Grant) -> String? {
        if id.isEmpty { return "the client id is empty" }
        if credentials == .idOnly {
            guard grant.needsSecret else { return grant.problem }
            return "this grant is for apps that have a client secret"
        }
        guard secret.isEmpty else { return grant.problem }
        let advice = grant.needsSecret ? "" : "; an app without one uses `credentials: .idOnly`"
        return "the client secret is empty\(advice)"
    }

    /// Refuses to send secrets unencrypted to another machine; `allowsCleartext` is not meant for passwords.
    private func refuseCleartext() throws(ServiceError) {
        // The call reports what is wrong with the URL itself.
        let url = try? HTTPURL(client.configuration.environment.baseURL)
        guard let origin = url?.origin, origin.isExposed else { return }
        let reason = "passwords and secrets are sent over https or to this machine only, not to \(origin)"
        throw .invalidRequest(InvalidRequest(.cleartext, reason))
    }

    private var basic: String {
        "Basic \(Data("\(Self.encoded(id)):\(Self.encoded(secret))".utf8).base64EncodedString())"
    }

    /// Encodes a space as `%20`: servers that parse forms accept it as well as `+`, and others accept nothing else.
    private static func encoded(_ text: String) -> String { PercentEncoding.queryPart.encode(text) }

    /// Some servers refuse with a success: status 200, and an error in the body.
    private func rejection(
        _ error: OAuthAnswer.Refusal, of reply: Reply<OAuthAnswer>, to grant: Grant
    ) -> ServiceError {
        .rejected(
            Rejection(
                status: reply.status, message: clean(error.description ?? error.code, of: grant),
                code: clean(error.code, of: grant), headers: reply.headers))
    }

    /// Removes the secrets of the request from the text of a success. The text of an error has been redacted already.
    private func clean(_ text: String, of grant: Grant) -> String {
        let sent = grant.parameters.items.filter { SecretNames.standard.contains($0.name, in: .parameter) }.map(\.value)
        let secrets = [String(basic.dropFirst("Basic ".count)), secret] + sent
        // Shorter secrets would remove ordinary words from the message.
        return Redactor(hiding: secrets.filter { $0.utf8.count >= 4 }).text(text)
    }
}

extension OAuth: CustomStringConvertible, CustomReflectable {
    /// The server and the id of the app; no secret.
    public var description: String { "OAuth(\(id) at \(path), \(client))" }
    /// A mirror that shows only the description.
    public var customMirror: Mirror { Mirror(self, children: ["oauth": description]) }
}
