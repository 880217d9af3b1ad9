extension ServiceError {
    /// Why the session is over, if this error of a refresh says so (T8, T21).
    var endOfSession: SessionExpiry? {
        switch self {
        case .sessionExpired(let expiry): expiry
        case .signInRequired: SessionExpiry(.refreshRefused)
        case .rejected(let rejection) where rejection.refusesRefresh:
            SessionExpiry(.refreshRefused, message: rejection.message, status: rejection.status)
        default: nil
        }
    }

    /// Whether the server has refused a refresh without saying why: with an empty 400. Once, that may be a fault on the
    /// way; three times in a row, and for a minute, the token is dead (T8, T21).
    var isMuteRefusal: Bool {
        guard case .rejected(let rejection) = self else { return false }
        return rejection.status == 400 && rejection.code == nil && rejection.message == nil && rejection.body.isEmpty
    }

    /// What is saved cannot be used now, because of another process, a missing folder or a locked device.
    static func storage(_ error: TokenPersistenceError) -> ServiceError {
        .transport(TransportFailure(.storage, error.message))
    }
}

extension Rejection {
    /// Whether this response to a refresh means that the token will not be refreshed, and the user has to sign in
    /// again.
    ///
    /// A user who is signed out by mistake has lost something; one who stays signed in by mistake gets an error, and
    /// the next call asks again. So only a server that speaks about the token ends the session: with an error of OAuth,
    /// or with a 401. A page of a proxy with the status 400 is neither.
    fileprivate var refusesRefresh: Bool {
        switch code {
        // RFC 6749, 5.2; OpenID Connect Core 3.1.2.6, which Microsoft's token endpoint uses too; GitHub. These are
        // about the token, whatever the status: some servers respond with 403, or with a success.
        case "invalid_grant", "interaction_required", "login_required", "consent_required", "bad_refresh_token": true
        // RFC 6749, 5.2: the same request will be refused again. X says the first of a token that it does not know.
        case "invalid_request", "invalid_scope", "unsupported_grant_type": status == 400 || status == 401
        // RFC 6749, 5.2, and 4.1.2.1: the app's own id, secret or rights are wrong, or the server is busy. When that is
        // mended, the token is as good as before.
        case "invalid_client", "unauthorized_client", "temporarily_unavailable", "server_error", "slow_down": false
        default: status == 401
        }
    }
}
