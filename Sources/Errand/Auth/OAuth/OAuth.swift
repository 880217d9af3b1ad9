#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Has access tokens from an authorization server, by the password, client credentials and refresh grants of RFC 6749.
///
///     let oauth = OAuth(login, "oauth/access_token", id: "pins", secret: secret)
///     let tokens = TokenStore(persistence: .file("/var/lib/pins/session")) {
///         try await oauth.refreshed($0)
///     }
///     await tokens.signIn(try await oauth.token(.password(user: name, password)))
///
/// Its requests are calls of the client that it is given, never signed. They are POSTs without an idempotency key, so
/// one is sent again only if it is certain that nothing was sent before: no call uses a refresh token twice. Over plain
/// http to another machine nothing goes out at all, whatever the client allows. It prints without its secrets.
///
/// The client's decoder must read JSON; one that turns `snake_case` into `camelCase` is fine.
public struct OAuth: Sendable {
    /// Where the credentials of the app stand in a request.
    public enum Credentials: Sendable, Hashable, CaseIterable {
        /// In the `Authorization` header, by the scheme `Basic`; each of the two is percent-encoded first (RFC 6749,
        /// 2.3.1).
        case inHeader
        /// In the body, as `client_id` and `client_secret`.
        case inBody
        /// In the body, the id only: for an app that has no secret, because it could not keep one.
        case idOnly
    }

    private let client: APIClient
    private let path: EndpointPath
    private let id: String
    private let secret: String
    private let credentials: Credentials
    private let tokenType: String
    private let parameters: QueryItems

    /// Makes one. What is missing is told by the first request, as `.invalidRequest`; then nothing is sent.
    ///
    /// - Parameters:
    ///   - client: A client of the authorization server.
    ///   - path: The path of its token endpoint.
    ///   - id: The id of the app.
    ///   - secret: The secret of the app.
    ///   - credentials: Where the two stand in a request.
    ///   - tokenType: The only type of token that is taken, in whatever case the server writes it; it becomes the
    ///     scheme of the `Authorization` header. An answer that names no type is taken to mean this one.
    ///   - parameters: What the server wants with every request besides: an audience, a tenant.
    public init(
        _ client: APIClient, _ path: EndpointPath = "token", id: String, secret: String = "",
        credentials: Credentials = .inHeader, tokenType: String = "Bearer", parameters: QueryItems = [:]
    ) {
        self.client = client
        self.path = path
        self.id = id
        self.secret = secret
        self.credentials = credentials
        self.tokenType = tokenType
        self.parameters = parameters
    }

    /// A token for that grant.
    ///
    /// A refusal is `.rejected`, with the server's words and its code, `invalid_grant` for a wrong password. Cancelling
    /// the task ends the call.
    ///
    /// - Parameters:
    ///   - grant: What the token is given for.
    ///   - scopes: What it is to be used for; none for what the server gives by default.
    ///   - parameters: What this request needs besides; they win over those of every request.
    public func token(
        _ grant: Grant, scopes: [String] = [], parameters: QueryItems = [:]
    ) async throws(ServiceError) -> Token {
        let endpoint = try endpoint(for: grant, scopes: scopes, parameters: parameters)
        let reply = try await client.reply(to: endpoint)
        let answer = reply.value
        if let error = answer.error { throw rejection(error, of: reply, to: grant) }
        if let type = answer.type, !type.equalsIgnoringCase(tokenType) {
            // What is not a plain word might be anything, a secret too.
            let isWord = type.utf8.count <= 16 && type.utf8.all { (0x61...0x7A).contains($0.asciiLowercased) }
            throw .decodingFailed(
                DecodingFailure(
                    path: "token_type", expected: tokenType, found: isWord ? clean(type, of: grant) : "another type",
                    status: reply.status))
        }
        return Token(
            access: answer.access, refresh: answer.refresh, type: tokenType,
            expiry: answer.lifetime.map { client.configuration.time.date.addingTimeInterval($0) },
            scopes: answer.scopes ?? scopes)
    }

    /// What replaces that token: what the `refresh` closure of a `TokenStore` returns.
    ///
    /// An answer without a new refresh token, or without scopes, keeps the old ones. The error `invalid_grant`, with
    /// whatever status, ends the session of the store; so does the lack of a refresh token, and then nothing is sent.
    /// A connection that fails ends nothing.
    public func refreshed(_ old: Token) async throws(ServiceError) -> Token {
        guard let refresh = old.refresh, !refresh.isEmpty else {
            throw .sessionExpired(SessionExpiry(.refreshRefused, message: "there is no refresh token"))
        }
        do throws(ServiceError) {
            var token = try await token(.refresh(refresh))
            token.refresh = token.refresh ?? refresh
            if token.scopes.isEmpty { token.scopes = old.scopes }
            return token
        } catch {
            // With 400 and 401 the store knows by itself; some servers say it with 403, or with a success.
            guard case .rejected(let rejection) = error, rejection.code == "invalid_grant",
                rejection.status != 400, rejection.status != 401
            else { throw error }
            throw .sessionExpired(
                SessionExpiry(.refreshRefused, message: rejection.message, status: rejection.status))
        }
    }

    private func endpoint(
        for grant: Grant, scopes: [String], parameters own: QueryItems
    ) throws(ServiceError) -> Endpoint<OAuthAnswer> {
        if let problem = problem(of: grant) { throw .badSetting(problem) }
        try refuseCleartext()
        var form = grant.parameters
        if !scopes.isEmpty { form.add("scope", scopes.joined(separator: " ")) }
        var headers: HTTPHeaders = [:]
        switch credentials {
        case .inHeader: headers["Authorization"] = basic
        case .inBody:
            form.add("client_id", id)
            form.add("client_secret", secret)
        case .idOnly: form.add("client_id", id)
        }
        let further = own.items + parameters.items.filter { item in !own.items.contains { $0.name == item.name } }
        // RFC 6749, 3.2: a parameter comes once, and which of two a server would take nobody knows.
        if let twice = further.first(where: { item in form.items.contains { $0.name == item.name } }) {
            throw .badSetting("the parameter \(HTTPSyntax.quoted(twice.name)) is there already")
        }
        form.items += further
        return .post(path, headers: headers, body: .form(form)).authentication(.none)
    }

    /// What is missing, if anything is.
    private func problem(of grant: Grant) -> String? {
        if id.isEmpty { return "the client id is empty" }
        if credentials == .idOnly {
            guard grant.needsSecret else { return grant.problem }
            return "this grant is for apps that have a client secret"
        }
        return secret.isEmpty ? "the client secret is empty" : grant.problem
    }

    /// What can be heard on the way is no secret any more; `allowsCleartext` is not meant for passwords.
    private func refuseCleartext() throws(ServiceError) {
        // What is wrong with the URL itself is told by the call.
        let url = try? HTTPURL(client.configuration.environment.baseURL)
        guard let origin = url?.origin, origin.isExposed else { return }
        let reason = "passwords and secrets are sent over https or to this machine only, not to \(origin)"
        throw .invalidRequest(InvalidRequest(.cleartext, reason))
    }

    private var basic: String {
        "Basic \(Data("\(Self.encoded(id)):\(Self.encoded(secret))".utf8).base64EncodedString())"
    }

    /// With a space as `%20`: servers that read forms take it as well as a `+`, and others take nothing else.
    private static func encoded(_ text: String) -> String { PercentEncoding.queryPart.encode(text) }

    /// Some servers refuse with a success: 200, and an error in the body.
    private func rejection(
        _ error: OAuthAnswer.Refusal, of reply: Reply<OAuthAnswer>, to grant: Grant
    ) -> ServiceError {
        .rejected(
            Rejection(
                status: reply.status, message: clean(error.description ?? error.code, of: grant),
                code: clean(error.code, of: grant), headers: reply.headers))
    }

    /// Words of a success, without the secrets that its request has sent. Those of an error have been cleaned already.
    private func clean(_ text: String, of grant: Grant) -> String {
        let sent = grant.parameters.items.filter { SecretNames.standard.contains($0.name, in: .parameter) }.map(\.value)
        let secrets = [String(basic.dropFirst("Basic ".count)), secret] + sent
        // What is shorter would take ordinary words out of the message.
        return Redactor(hiding: secrets.filter { $0.utf8.count >= 4 }).text(text)
    }
}

extension OAuth: CustomStringConvertible, CustomReflectable {
    /// The server and the id of the app; no secret.
    public var description: String { "OAuth(\(id) at \(path), \(client))" }
    /// Shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["oauth": description]) }
}
