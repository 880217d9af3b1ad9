extension OAuth {
    /// Whether the server has an endpoint that revokes tokens, as far as ``metadata`` says.
    public var canRevoke: Bool { metadata?.revocationEndpoint?.isEmpty == false }

    /// Asks the server to revoke a token (RFC 7009), so that no one can use it any more: use it in the `revoke` closure
    /// of a `TokenStore`.
    ///
    ///     let tokens = TokenStore(persistence: .file("/var/lib/pins/session")) {
    ///         try await oauth.refresh($0)
    ///     } revoke: {
    ///         if oauth.canRevoke { try await oauth.revoke($0) }
    ///     }
    ///
    /// It revokes the refresh token, if there is one, and the server then revokes the access tokens that it has issued
    /// for it, if it can; otherwise it revokes the access token. A token that the server does not know, or that has
    /// expired, counts as revoked. If the server has no endpoint for that, ``canRevoke`` is `false`, and this throws
    /// `.invalidRequest` and sends nothing. Like other requests it is retried only if it certainly was not sent.
    public func revoke(_ token: Token) async throws(ServiceError) {
        let refresh = token.refreshToken.flatMap { $0.isEmpty ? nil : $0 }
        // The app proves itself like for a refresh.
        if let problem = app.problem(of: .refresh(refresh ?? "")) { throw .badSetting(problem) }
        let form: QueryItems = [
            "token": refresh ?? token.accessToken, "token_type_hint": refresh == nil ? "access_token" : "refresh_token",
        ]
        let place = try server.place(of: metadata?.revocationEndpoint, named: "revocation endpoint")
        do throws(ServiceError) {
            _ = try await post(form, scopes: [], parameters: [:], to: place, as: NoContent.self)
        } catch .rejected(let rejection) where rejection.code == "invalid_token" {
            // RFC 7009, 2.2 asks for a success; some servers refuse.
            return
        }
    }
}
