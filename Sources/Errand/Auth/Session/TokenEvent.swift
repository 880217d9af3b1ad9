/// An event of the session of a `TokenStore`.
@nonexhaustive public enum TokenEvent: Sendable, Hashable {
    /// A user signed in.
    case signedIn
    /// A newer access token replaced the old one.
    case refreshed
    /// The session is over, and the user has to sign in again: the server refused to replace the access token, the
    /// token has expired and cannot be replaced, or the saved session was damaged and has been moved aside.
    case expired(SessionExpiry)
    /// The user signed out, here or in another process that shares the session.
    case signedOut
    /// The user signed out, but the server may still accept the token: the `revoke` closure failed or took too long.
    case notRevoked(ServiceError)
    /// The session continues in memory, but could not be saved, locked or loaded: it may not survive the process. After
    /// a sign-out, the saved session may still exist.
    case notSaved(TokenPersistenceError)
}
