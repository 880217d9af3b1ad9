/// The lock under which a token store uses the saved session.
///
/// A persistence passes one to the body of ``TokenPersistence/exclusively(_:)``. If it loses the lock while the body
/// runs, because a lease was not renewed in time or a connection broke, it calls ``lose(_:)``. The store then sends no
/// refresh token that it has not sent yet, and does not believe the server that a session is over: another process may
/// have just used the refresh token. A token that it has already asked for is still saved, with
/// ``TokenPersistence/replace(_:with:)``.
public final class SessionLock: Sendable {
    private let lost = Lock<TokenPersistenceError?>(nil)

    /// Creates a lock that is held.
    public init() {}

    /// Why the lock was lost; `nil` while it is held.
    public var loss: TokenPersistenceError? { lost.withLock { $0 } }

    /// Notes that the lock was lost. Call it before another process can acquire the lock, if that can be known. Only
    /// the first call counts.
    public func lose(_ reason: String) {
        lost.withLock { $0 = $0 ?? TokenPersistenceError(.lockLost, reason) }
    }
}
