#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the layers ask of a store: the tokens for the calls of a session. None of it waits for the actor while
/// the token is valid.
extension TokenStore {
    /// Whether the current task is a refresh of this store: then signing would wait for itself.
    nonisolated var isRefreshingHere: Bool { Self.refreshing?.isUnderWay(of: self) ?? false }

    /// The current session, if it is known without a wait.
    nonisolated var presentSession: UUID? { live.id }

    /// Whether the next process knows the session. Otherwise what belongs to it stays in memory (K7, J5).
    nonisolated var outlivesProcess: Bool { storage.outlivesProcess }

    /// Returns the session of a call that begins now, after its first token has been obtained if the store does that
    /// (T19).
    nonisolated func session() async throws(ServiceError) -> UUID {
        if let presentSession { return presentSession }
        try await startLoading()?.value()
        if let presentSession { return presentSession }
        guard let first = try await obtainToken() else { throw .signInRequired }
        do throws(ServiceError) {
            _ = try await arrival(of: first, in: CallScope())
        } catch {
            // A user may have signed in while it waited.
            guard let presentSession else { throw error }
            return presentSession
        }
        // It may have ended by now.
        guard let presentSession else { throw .sessionExpired(SessionExpiry(.signedOut)) }
        return presentSession
    }

    /// Returns the session's current token, and whether the caller should start a refresh for later calls; `nil` if the
    /// call has to wait for a token.
    nonisolated func currentToken(of session: UUID) throws(ServiceError) -> (token: Token, isRefreshDue: Bool)? {
        switch live.status(of: session) {
        case .good(let token): return (token, false)
        case .aging(let token): return (token, live.mayRefreshBeside(session))
        case .ended(let expiry): throw .sessionExpired(expiry)
        case .beingReplaced, .expired: return nil
        }
    }

    /// Returns a token of that session that is valid now. If the server has refused `rejected`, it is another one.
    nonisolated func token(
        of session: UUID, insteadOf rejected: String? = nil, in scope: CallScope
    ) async throws(ServiceError) -> Token {
        if let rejected { live.refuse(rejected, of: session) }
        switch live.status(of: session, rejecting: rejected) {
        case .good(let token): return token
        case .ended(let expiry): throw .sessionExpired(expiry)
        case .beingReplaced(let promise): return try await arrival(of: promise, in: scope)
        case .aging(let token):
            if live.mayRefreshBeside(session) { await refreshBeside(session) }
            return token
        case .expired: return try await arrival(of: startRefresh(of: session, rejecting: rejected), in: scope)
        }
    }

    private nonisolated func arrival(
        of promise: LiveSession.Refresh, in scope: CallScope
    ) async throws(ServiceError) -> Token {
        guard promise.outcome != nil || !isRefreshingHere else {
            throw .badSetting("the refresh of a token store requires a fresh token from the same store")
        }
        return try await promise.value(in: scope)
    }

    /// Calls `ended` when that session ends, or at once if it has, until the watch is canceled. It may be called more
    /// than once.
    nonisolated func watch(_ session: UUID, _ ended: @escaping @Sendable (ServiceError) -> Void) -> SessionWatch {
        live.watch(session, ended)
    }

    /// Why that session has ended; `nil` if it is the current one.
    nonisolated func end(of session: UUID) -> ServiceError? { live.end(of: session) }

    /// Tells `keeper` of each session that ends from now on, until it is released.
    nonisolated func add(_ keeper: any SessionKeeper) { live.add(keeper) }

    /// Notes that the server has accepted a request with that token.
    nonisolated func accept(_ access: String) { live.accept(access) }

    /// Notes that the server has refused a replay with a token that had just replaced a refused one.
    nonisolated func refuseReplay(with access: String) { live.refuseReplay(with: access) }
}
