#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How the refreshes of a store begin.
extension TokenStore {
    /// Returns the refresh of that session, for a call that needs its result: the one under way, or a new one.
    func startRefresh(
        of id: UUID, rejecting rejected: String? = nil
    ) throws(ServiceError) -> LiveSession.Refresh {
        // Another call may have refreshed the token before this one entered the actor (T2).
        switch live.status(of: id, rejecting: rejected) {
        case .good(let token), .aging(let token): return .completed(token)
        case .beingReplaced(let promise): return promise
        case .ended(let expiry): throw .sessionExpired(expiry)
        case .expired:
            let promise = LiveSession.Refresh()
            change { $0.startRefresh(promise, of: id) }
            return promise
        }
    }

    /// Returns the refresh that obtains the first token of a session (T19): the one under way, or a new one; `nil` if a
    /// user has to sign in.
    func obtainToken() throws(ServiceError) -> LiveSession.Refresh? {
        exchange?.obtainsTokens == true ? try startRefresh(of: live.awaitToken()) : nil
    }

    /// Starts a refresh for later calls, if the pace allows one now.
    func refreshBeside(_ id: UUID) {
        // Another call may have refreshed the token before this one entered the actor (T2).
        switch live.status(of: id) {
        case .good, .beingReplaced, .ended: return
        case .aging, .expired: break
        }
        let now = time.now
        change { $0.startRefreshBeside(Promise(), of: id, at: now) }
    }

    func begin(_ promise: LiveSession.Refresh, notBefore instant: Instant) async {
        // A canceled pause means that the session is over, which the next step finds out by itself.
        try? await time.sleep(until: instant, for: .sleeper("the pause before a refresh"), in: CallScope())
        if pausing == promise { pausing = nil }
        let refresh = SessionRefresh(
            promise, of: live, in: storage, by: exchange, within: refreshTimeout, time: time)
        await refresh.run(on: self)
    }

    /// Continues the session with a token that came after its refresh was given up. Another refresh takes it, which
    /// saves it before any call uses it (T14). If the session has ended, the token is discarded (T6).
    func takeLate(_ token: Token, of session: SavedSession) {
        if case .ended = live.status(of: session.id) {
            change { $0.discard(token, of: session.id) }
            return
        }
        exchange?.keep(token, of: session)
        change { $0.startRefresh(Promise(), late: session) }
    }
}
