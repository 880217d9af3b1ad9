extension OAuth {
    /// Signs a user in with the authorization code grant and PKCE (RFC 6749, 7636), in a browser.
    ///
    ///     let token = try await oauth.signIn(scopes: ["read"], using: .systemBrowser)
    ///     await tokens.signIn(token)
    ///
    /// Throws `.cancelled` if the user closes the window or the task is canceled, `.rejected` with the server's code if
    /// the user or the server refuses, `.timedOut` after the limit, and `.decodingFailed` if what came back does not
    /// belong to this sign-in. Nothing is saved before you pass the token to a store.
    ///
    /// - Parameters:
    ///   - scopes: The scopes of the token; if empty, the server's default.
    ///   - browser: Shows the page to the user.
    ///   - limit: How long the user may take; 10 minutes by default.
    ///   - parameters: Further parameters of the page, such as `prompt` or `login_hint`.
    ///   - pushesParameters: Whether the parameters go to the server itself, before the page is opened (RFC 9126), even
    ///     if the server does not require that. Nobody can read or change them in the browser then.
    public func signIn(
        scopes: [String] = [], using browser: some Browser, within limit: Duration = .seconds(600),
        parameters: QueryItems = [:], pushesParameters: Bool = false
    ) async throws(ServiceError) -> Token {
        // A page that opens although the user has given up is one that nobody expects.
        guard !Task.isCancelled else { throw .cancelled }
        let page = SignInPage { (redirectURI: String) async throws(ServiceError) in
            try await signInRequest(
                scopes: scopes, redirectURI: redirectURI, parameters: parameters, pushesParameters: pushesParameters)
        }
        let scope = CallScope()
        let id = try signIns.begin(scope)
        defer { signIns.end(id) }
        let time = server.time
        let alarm = time.schedule(at: time.now.advanced(by: limit), for: .watch("the limit of a sign-in")) {
            scope.stop(.timedOut(Timeout(.signIn, limit: limit, phase: .preparing)))
        }
        defer { alarm.cancel() }
        do throws(ServiceError) {
            let outcome = try await scope.result { try await browser.redirect(from: page) }
            alarm.cancel()
            let token = try await token(from: outcome, of: page, in: scope)
            await page.outcome.end(hasSucceeded: true)
            return token
        } catch {
            await page.outcome.end(hasSucceeded: false)
            throw error
        }
    }

    /// Exchanges what a browser has brought.
    private func token(
        from outcome: Result<String, any Error>, of page: SignInPage, in scope: CallScope
    ) async throws(ServiceError) -> Token {
        let address: String
        switch outcome {
        // The limit or a shutdown has canceled the browser's task: its failure is no decision of the user, and nobody
        // waits for an address that it returns all the same.
        case _ where scope.reason != nil: throw scope.reason ?? .cancelled
        case .success(let found): address = found
        case .failure(is CancellationError): throw .cancelled
        case .failure(let error):
            throw ServiceError(error) {
                .transport(TransportFailure(.other, "the browser failed with \(foreignName(of: $0))"))
            }
        }
        guard let request = page.request else { throw .badSetting("the browser has not asked for the page's address") }
        return try await request.token(redirectedTo: address)
    }

    /// Begins a sign-in whose response comes later, in another request to a server of yours.
    ///
    /// - Parameters:
    ///   - scopes: The scopes of the token; if empty, the server's default.
    ///   - redirectURI: The address to which the server leads the browser, as it is registered there.
    ///   - own: Further parameters of the page, such as `prompt` or `login_hint`.
    ///   - pushesParameters: Whether the parameters go to the server itself (RFC 9126), even if the server does not
    ///     require that. The address expires soon then: see ``SignInRequest/expiry``.
    public func signInRequest(
        scopes: [String] = [], redirectURI: String, parameters own: QueryItems = [:], pushesParameters: Bool = false
    ) async throws(ServiceError) -> SignInRequest {
        if app.id.isEmpty { throw .badSetting("the client id is empty") }
        let endpoint = try server.url(metadata?.authorizationEndpoint, named: "authorization endpoint")
        if endpoint.origin.isExposed {
            let reason = "a user signs in over https or on this machine only, not at \(endpoint.origin)"
            throw .invalidRequest(InvalidRequest(.cleartext, reason))
        }
        try refuseStranger(namingItself: metadata?.namesIssuerInRedirect == true)
        try checkChallengeMethods()
        try checkPromisedIssuer()
        let requested = requestedScopes(scopes, in: own)
        try checkIdentityScope(in: requested)
        let secrets = SignInSecrets()
        var query: QueryItems = [
            "response_type": "code", "client_id": app.id, "redirect_uri": redirectURI, "state": secrets.state,
            "code_challenge": secrets.challenge, "code_challenge_method": "S256",
        ]
        if !scopes.isEmpty { query.add("scope", scopes.joined(separator: " ")) }
        if requested.contains(Self.identityScope) { query.add("nonce", secrets.nonce) }
        // The code is good for the holder of the key only (RFC 9449, 10).
        if let proofKey { query.add("dpop_jkt", proofKey.thumbprint) }
        var pushed: PushedParameters?
        if pushesParameters || metadata?.requiresPushedAuthorizationRequests == true {
            let found = try await push(query, parameters: own)
            query = ["client_id": app.id, "request_uri": found.reference]
            pushed = found
        } else {
            try query.addFurther(own, over: parameters)
        }
        let page = HTTPURL(origin: endpoint.origin, path: endpoint.path, query: endpoint.query(replacing: query.items))
        return SignInRequest(
            self, scopes: requested, redirectURI: redirectURI, secrets: secrets,
            demands: SignInDemands(in: own, or: parameters, at: server.time.date), address: page.absoluteString,
            pushed: pushed)
    }

    /// Refuses a server that has PKCE only with the plain method, in which the challenge is the verifier. A server that
    /// lists no method may have PKCE all the same, and ignores it otherwise.
    private func checkChallengeMethods() throws(ServiceError) {
        guard let methods = metadata?.codeChallengeMethods, !methods.contains("S256") else { return }
        throw .unlike(
            "code_challenge_methods_supported", expected: "S256",
            found: methods.isEmpty ? "no method" : methods.joined(separator: ", "))
    }

    /// Refuses metadata that promises an issuer in the redirect and names none: nothing could be compared with it.
    private func checkPromisedIssuer() throws(ServiceError) {
        guard let metadata, metadata.namesIssuerInRedirect, metadata.issuer == nil else { return }
        throw .badSetting("the issuer in the redirect cannot be checked without the `issuer` of the server")
    }

    /// Exchanges the code of a sign-in.
    func token(
        for code: String, redirectURI: String, secrets: SignInSecrets, demands: SignInDemands, scopes: [String]
    ) async throws(ServiceError) -> Token {
        let grant = Grant(
            "authorization_code",
            parameters: ["code": code, "redirect_uri": redirectURI, "code_verifier": secrets.verifier])
        // The scopes were those of the page; the exchange has none (RFC 6749, 4.1.3).
        let issued = try await answer(to: grant, scopes: [], known: scopes)
        let nonce = scopes.contains(Self.identityScope) ? secrets.nonce : nil
        var token = try checked(issued, scopes: scopes, nonce: nonce, demands: demands)
        if token.scopes.isEmpty { token.scopes = scopes }
        return token
    }
}

extension Rejection.RequiredSignIn {
    /// The parameters of a sign-in that asks for it.
    public var parameters: QueryItems {
        [
            "acr_values": acrValues.isEmpty ? nil : acrValues.joined(separator: " "),
            "max_age": maxAge.map { "\($0.components.seconds)" },
        ]
    }
}
