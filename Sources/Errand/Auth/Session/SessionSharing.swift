#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// What other processes do to the saved session: they refresh its token, sign out, or sign another user in. A store
// finds out when it refreshes the token (T15), or at once if its persistence reports changes (T20).

extension SessionState {
    // MARK: A refresh looks at what is saved

    /// Compares the session with what is saved, which another process may have changed (T15).
    ///
    /// A newer revision is taken over. If its token is good, the refresh is over; otherwise it continues with the newer
    /// refresh token. No session, or another one, means that another process has signed out or in, but only if this one
    /// was saved (T9).
    mutating func find(_ saved: SavedSession?, by refresh: Refresh, at date: Date) -> [Action] {
        guard let session = session(for: refresh) else { return [] }
        if history.awaitsToken, let saved { return begin(saved, by: refresh, at: date) }
        if let saved, saved.id == session.id {
            // Also one whose save has failed here: it was made all the same.
            history.noteFound(saved)
            guard saved.revision > session.revision else { return [] }
            adopt(saved)
            // As a call sees it: a token that had expired when it was received is good, too (T12).
            guard case .good = status(of: saved.id, at: date) else { return [] }
            return finish(refresh, with: .success(saved.token)) + [.send(.refreshed)]
        }
        return findOther(saved)
    }

    /// Takes over the session for which another process has obtained the first token (T19). If that token has expired,
    /// the refresh continues with it.
    private mutating func begin(_ saved: SavedSession, by refresh: Refresh, at date: Date) -> [Action] {
        adopt(saved)
        history.noteFound(saved)
        guard case .good = status(of: saved.id, at: date) else { return [.send(.signedIn)] }
        return finish(refresh, with: .success(saved.token)) + [.send(.signedIn)]
    }

    /// Takes over a sign-in or a sign-out by another process.
    private mutating func findOther(_ saved: SavedSession?) -> [Action] {
        guard history.isSaved else { return [] }
        guard let saved else {
            return replaceSession(with: nil, isSaved: true, because: .endedElsewhere) + [.send(.signedOut)]
        }
        let expiry = SessionExpiry(.otherSession)
        return replaceSession(with: saved, isSaved: true, because: expiry) + [.send(.signedIn)]
    }

    /// Continues after the saved session could not be read: that is not a sign-out (T9).
    ///
    /// Without a lock it is read again under the lock, and reported then. A missing folder fails the refresh:
    /// another process may have used the refresh token, so it is neither used nor saved elsewhere.
    mutating func failReading(
        _ error: TokenPersistenceError, by refresh: Refresh, isAlone: Bool, at now: Instant, random: Double
    ) -> [Action] {
        let isMissing = error.kind == .missingFolder && history.isSaved && session(for: refresh) != nil
        // A file that was moved aside is missing from now on, although no user has signed out.
        if error.isKeptAside { history.isSaved = false }
        // Whatever it is will be replaced.
        history.savedRevision = nil
        let report: [Action] = isAlone || isMissing || error.isKeptAside ? [.send(.notSaved(error))] : []
        return isMissing ? report + fail(refresh, with: .storage(error), at: now, random: random) : report
    }

    /// Continues after the lock on what is saved could not be acquired, or was lost before the refresh token was sent
    /// or while the server refused it.
    ///
    /// A saved session is not refreshed then: another process may be refreshing it, and the server may end a session
    /// whose refresh token is used twice (T15). A session that was never saved belongs to this process alone.
    mutating func failLocking(
        _ error: TokenPersistenceError, by refresh: Refresh, at now: Instant, random: Double
    ) -> [Action] {
        guard session(for: refresh) != nil else { return [] }
        let report = [Action.send(.notSaved(error))]
        return history.isSaved ? report + fail(refresh, with: .storage(error), at: now, random: random) : report
    }

    /// Ends a refresh whose lock has ended while the server was asked, and leaves its closure behind, as at its limit
    /// (T17). A session that was never saved belongs to this process alone, and its refresh continues.
    mutating func endLock(
        _ error: TokenPersistenceError, of refresh: Refresh, at now: Instant, random: Double
    ) -> [Action] {
        guard session(for: refresh) != nil, history.isSaved else { return [] }
        return failLocking(error, by: refresh, at: now, random: random) + [.cancelRefresh]
    }

    // MARK: The saved session has changed elsewhere

    /// Compares the session with what is saved, which has changed elsewhere (T20). Not while a change of this process
    /// is still to be saved: that will replace what was found.
    ///
    /// A newer revision is taken over, and calls that wait for a refresh continue with it. No session, or another one,
    /// means that another process has signed out or in. A session that has ended here does not come back, unless the
    /// server has refused an older revision of it.
    mutating func learn(_ saved: SavedSession?, at date: Date) -> [Action] {
        guard isLoaded, history.isSaved else { return [] }
        let cancel = cancellation
        guard let session else { return begin(saved) }
        guard let saved, saved.id == session.id else { return cancel + findOther(saved) }
        history.noteFound(saved)
        guard saved.revision > session.revision else { return [] }
        adopt(saved)
        guard let refresh = history.refresh else { return [.send(.refreshed)] }
        // A token that has expired as well leaves the refresh something to do.
        guard case .good = status(of: saved.id, at: date) else { return [] }
        return cancel + finish(refresh, with: .success(saved.token)) + [.send(.refreshed)]
    }

    /// Begins a session that was saved elsewhere while no user was signed in here.
    private mutating func begin(_ saved: SavedSession?) -> [Action] {
        guard let saved, !past.contains(saved.version) else { return [] }
        session = saved
        history = History()
        history.noteFound(saved)
        return [.send(.signedIn)]
    }

    /// Continues after what has changed elsewhere could not be read: that is not a sign-out.
    mutating func failLearning(_ error: TokenPersistenceError) -> [Action] {
        if error.isKeptAside { history.isSaved = false }
        history.savedRevision = nil
        return [.send(.notSaved(error))]
    }
}

extension SessionExpiry {
    /// What is saved does not say why it is gone.
    static let endedElsewhere = SessionExpiry(
        .signedOut, message: "in another process; or the server has refused to refresh the token there")
}
