extension SessionState {
    /// What a call can do about the token of its session.
    enum Status: Sendable, Equatable {
        /// Use the token.
        case good(Token)
        /// Use the token, which expires soon, and start a refresh for later calls.
        case aging(Token)
        /// Start a refresh and wait for it.
        case expired
        /// Wait for the refresh under way.
        case beingReplaced(Refresh)
        /// Fail.
        case ended(SessionExpiry)
    }

    /// What the store has to do after a transition.
    enum Action: Sendable, Equatable {
        /// Start that refresh, but not before that time.
        case start(Refresh, notBefore: Instant)
        /// Cancel the task of the refresh that was under way: its result is not needed.
        case cancelRefresh
        /// Resume the calls that wait for that refresh.
        case resume(Refresh, Result<Token, ServiceError>)
        /// Send the event to all listeners.
        case send(TokenEvent)
        /// Save the session, or remove what is saved if no user is signed in.
        case save
        /// Revoke the token of a session that was signed out.
        case revoke(Token)
    }
}
