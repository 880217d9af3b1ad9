/// What a store finds when it loads the saved session for the first time, and what follows from it.
struct FirstFinding: Sendable {
    /// Whether it is known now what is saved, so that the store does not load again.
    var isCertain = true
    /// The saved session; `nil` if there is none.
    var session: SavedSession?
    /// The error for the calls that wait for the session; `nil` if they continue.
    var error: ServiceError?
    /// The events to send.
    var events: [TokenEvent] = []

    /// The session was loaded, or there is none.
    init(_ session: SavedSession?) {
        self.session = session
    }

    /// The session could not be loaded. A store that obtains its tokens needs no user for a new one.
    init(_ problem: TokenPersistenceError, obtainsTokens: Bool) {
        // Where there has never been a folder, no user has ever signed in.
        guard problem.kind != .missingFolder else { return }
        // What was moved aside does not come back. Anything else is still there, and the next call reads again.
        isCertain = problem.isKeptAside
        events = [.notSaved(problem)]
        // The user is still signed in.
        guard problem.kind != .deviceLocked else {
            error = .storage(problem)
            return
        }
        let mustSignIn = problem.isKeptAside && !obtainsTokens
        let expiry = SessionExpiry(mustSignIn ? .damaged : .unreadable, message: problem.message)
        if mustSignIn { events.append(.expired(expiry)) }
        error = .sessionExpired(expiry)
    }
}
