/// What happened to the session of a `TokenStore`.
@nonexhaustive public enum TokenEvent: Sendable, Hashable {
    /// A user signed in.
    case signedIn
    /// The access token was replaced by a newer one.
    case refreshed
    /// The server refused to replace the access token: the user has to sign in again.
    case expired(SessionExpiry)
    /// The user signed out, here or in another process that shares the session.
    case signedOut
    /// The session goes on in memory, but could not be saved, locked or read back: it may not survive the process.
    /// After a sign-out, what was saved may still be there.
    case notSaved(TokenPersistenceError)
}
