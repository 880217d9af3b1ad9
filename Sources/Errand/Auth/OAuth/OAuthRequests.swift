#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A token that a server has issued.
struct IssuedToken: Sendable {
    var token: Token
    var answer: OAuthAnswer
}

/// The requests to the endpoints of an authorization server at which the app proves itself.
extension OAuth {
    /// Requests a token. `known` are the scopes that the user has granted before, which the request does not name.
    func answer(
        to grant: Grant, scopes: [String], parameters: QueryItems = [:], retry: RetryPolicy? = nil,
        key: SigningKey? = nil, known: [String]? = nil
    ) async throws(ServiceError) -> IssuedToken {
        let (key, place) = (key ?? proofKey, try server.token)
        let tokenType = key == nil ? self.tokenType : TokenProver.header
        if let problem = app.problem(of: grant) { throw .badSetting(problem) }
        let (reply, hiding) = try await post(
            grant.parameters, scopes: scopes, parameters: parameters, to: place, retry: retry,
            provenBy: key, as: OAuthAnswer.self)
        let answer = reply.value
        if let error = answer.error { throw Self.rejection(error, of: reply, hiding: hiding) }
        var type = tokenType
        if let named = answer.type.map({ String($0[...].trimmed) }), !named.equalsIgnoringCase(tokenType) {
            // A type that is not a plain word could be anything, even a secret.
            let isWord = named.utf8.count <= 16 && named.utf8.all { (0x61...0x7A).contains($0.asciiLowercased) }
            let shown = isWord ? hiding.text(named) : "another type"
            // Nothing is lost: the server has issued a token that this app cannot use.
            guard grant.isRefresh else {
                throw .decodingFailed(
                    DecodingFailure(path: "token_type", expected: tokenType, found: shown, status: reply.status))
            }
            // It is sent as what it is, or not at all. What has a key is proven with it, whatever it is called.
            if key == nil { type = isWord && shown == named ? named : Token.unknownType }
            place.warn("the answer of \(server) is a token of the type \(shown), and not \(tokenType)")
        }
        if !answer.unread.isEmpty {
            let names = answer.unread.sorted().joined(separator: ", ")
            place.warn("the answer of \(server) has members that cannot be read: \(names); they are left out")
        }
        var token = Token(
            accessToken: answer.access, refreshToken: answer.refresh, type: type,
            expiry: expiry(of: answer),
            refreshTokenExpiry: answer.refreshLifetime.map(server.time.date.addingTimeInterval),
            scopes: answer.scopes.map { Self.parted($0, like: known ?? scopes) } ?? scopes, proofKey: key)
        token.members = answer.others
        return IssuedToken(token: token, answer: answer)
    }

    /// Returns the scopes of an answer. Some servers part them by commas, which may also be part of a name: then one of
    /// those that were asked for has a comma too.
    private static func parted(_ scopes: [String], like asked: [String]) -> [String] {
        let comma = UInt8(ascii: ",")
        guard !asked.contains(where: { $0.utf8.contains(comma) }) else { return scopes }
        return scopes.flatMap { scope in
            scope.utf8.split(separator: comma).map { String(Substring($0)) }
        }
    }

    /// Returns when an access token expires: as the server says, or else as the token itself does, if it is a JWT. That
    /// is not verified; it only saves a call that would be refused, and a time in the past says nothing.
    private func expiry(of answer: OAuthAnswer) -> Date? {
        let now = server.time.date
        if let lifetime = answer.lifetime { return now.addingTimeInterval(lifetime) }
        guard let seconds = JSONWebToken(answer.access)?.seconds("exp"), seconds > now.timeIntervalSince1970 else {
            return nil
        }
        return min(
            Date(timeIntervalSince1970: seconds), now.addingTimeInterval(OAuthAnswer.longest))
    }

    /// Returns the token with its ID token, once that is checked.
    ///
    /// - Parameters:
    ///   - issued: The token.
    ///   - scopes: The scopes that were requested: with `openid` there has to be an ID token.
    ///   - nonce: The value that was sent with the sign-in.
    ///   - subject: The user whose token it has to be; `nil` for any.
    ///   - demands: How the user had to sign in.
    func checked(
        _ issued: IssuedToken, scopes: [String], nonce: String? = nil, subject: String? = nil,
        demands: SignInDemands = SignInDemands()
    ) throws(ServiceError) -> Token {
        var token = issued.token
        guard scopes.contains(Self.identityScope) || issued.answer.idToken != nil, let issuer = metadata?.issuer else {
            return token
        }
        try IDTokenCheck(issuer: issuer, clientID: app.id, nonce: nonce, subject: subject, demands: demands)
            .check(issued.answer.idToken, at: server.time.date)
        token.idToken = issued.answer.idToken
        return token
    }

    /// Returns the scopes that a request asks for: those that were passed as such, and those of a parameter `scope`.
    /// `openid` asks for an ID token wherever it stands, so it must be checked wherever it stands.
    ///
    /// - Parameters:
    ///   - scopes: The scopes that were passed.
    ///   - own: The parameters of the request, which replace those of every request.
    func requestedScopes(_ scopes: [String], in own: QueryItems...) -> [String] {
        func named(in items: [QueryItems.Item]) -> [String] {
            items.filter { $0.name == "scope" }.flatMap { $0.value.split(separator: " ").map(String.init) }
        }
        let items = own.flatMap(\.items)
        return scopes + named(in: items.contains { $0.name == "scope" } ? items : parameters.items)
    }

    /// The scope that asks for an ID token.
    static let identityScope = "openid"

    /// Refuses to ask for an ID token that could not be checked.
    func checkIdentityScope(in scopes: [String]) throws(ServiceError) {
        guard scopes.contains(Self.identityScope), metadata?.issuer == nil else { return }
        throw .badSetting("an ID token cannot be checked without the `issuer` of the server")
    }

    /// Sends a form to an endpoint, with what the app adds to it. Returns the reply, and what hides the secrets of the
    /// request in it. What proves the app is made for each send if a server may accept it only once.
    func post<Answer>(
        _ form: QueryItems, scopes: [String], parameters own: QueryItems, to place: OAuthServer.Place,
        retry: RetryPolicy? = nil, provenBy key: SigningKey? = nil, as type: Answer.Type
    ) async throws(ServiceError) -> (reply: Reply<Answer>, hiding: Redactor) where Answer: Decodable & Sendable {
        try place.refuseCleartext()
        let asked = Client.Request(issuer: metadata?.issuer, endpoint: place.url)
        let lasting = try await app.isProvenAnew ? Client.Proof() : app.proof(for: asked, at: server.time.date)
        var form = form
        if !scopes.isEmpty { form.add("scope", scopes.joined(separator: " ")) }
        // The parameters of a sign-in name the app already.
        form.items += lasting.parameters.items.filter { !form.items.contains($0) }
        try form.addFurther(own, over: parameters)
        var endpoint: Endpoint<Answer> = place.post(form, headers: lasting.headers)
        if let retry { endpoint = endpoint.retry(retry) }
        let latest = Lock(lasting)
        var sender = SenderProof(key: key.map { TokenProver(key: $0, nonces: proofNonces) })
        if app.isProvenAnew {
            let (app, form, time) = (app, form, server.time)
            sender.app = { (request: HTTPRequest) async throws(ServiceError) in
                let proof = try await app.proof(for: asked, at: time.date)
                latest.withLock { $0 = proof }
                return try request.adding(proof, to: form)
            }
        }
        endpoint.options.sender = sender
        let reply = try await place.client.reply(to: endpoint)
        return (reply, redactor(of: form, latest.withLock { $0 }))
    }

    /// Some servers refuse with a success: status 200, and an error in the body.
    private static func rejection(
        _ error: OAuthAnswer.Refusal, of reply: Reply<OAuthAnswer>, hiding: Redactor
    ) -> ServiceError {
        .rejected(
            Rejection(
                status: reply.status, message: hiding.text(error.description ?? error.code),
                code: hiding.text(error.code), headers: reply.headers,
                retryAfter: error.interval.map { .seconds(min($0, OAuthAnswer.longest)) }))
    }

    /// Returns what removes the secrets of the request from the text of a success. The text of an error has been
    /// redacted already.
    private func redactor(of form: QueryItems, _ proof: Client.Proof) -> Redactor {
        let items = form.items + proof.parameters.items
        let sent = items.filter { SecretNames.standard.contains($0.name, in: .parameter) }.map(\.value)
        let headers = proof.headers.map { field in String(field.value.split(separator: " ").last ?? "") }
        let secrets = [app.secret ?? ""] + headers + sent
        // Shorter secrets would remove ordinary words from the message.
        return Redactor(hiding: secrets.filter { $0.utf8.count >= 4 })
    }
}

extension HTTPRequest {
    /// Returns the request with what proves that the app sends it, added to the form in its body.
    fileprivate func adding(
        _ proof: OAuth.Client.Proof, to form: QueryItems
    ) throws(ServiceError) -> HTTPRequest {
        var (request, form) = (self, form)
        let new = QueryItems(proof.parameters.items.filter { !form.items.contains($0) })
        try form.addFurther(new, over: [:])
        request.headers.merge(proof.headers)
        guard !new.items.isEmpty else { return request }
        guard let body = request.body?.bytes else {
            throw .badSetting("a middleware has replaced the form to which the app's proof belongs")
        }
        request.body = .bytes(body + Data("\(body.isEmpty ? "" : "&")\(new.encoded)".utf8))
        return request
    }
}

extension QueryItems {
    /// Adds further parameters: those of one request, which replace those of every request.
    mutating func addFurther(_ own: QueryItems, over common: QueryItems) throws(ServiceError) {
        let further = own.items + common.items.filter { item in !own.items.contains { $0.name == item.name } }
        // RFC 6749, 3.2: a parameter occurs once, and which of two a server would use is not known.
        if let twice = further.first(where: { item in items.contains { $0.name == item.name } }) {
            throw .badSetting("the parameter \(HTTPSyntax.quoted(twice.name)) is already set")
        }
        items += further
    }
}
