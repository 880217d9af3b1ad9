#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The session of a store, for everybody who reads it: the state behind a lock, so that a call with a valid token
/// does not wait for the actor.
///
/// Transitions that return actions are made by the store, one after the other, so that listeners learn of them in their
/// order.
final class LiveSession: Sendable {
    /// A refresh is what its callers wait for.
    typealias Refresh = Promise<Token, ServiceError>
    typealias State = SessionState<Refresh>

    private let time: any TimeSource
    private let state: Lock<State>
    private let keepers = SessionKeepers()

    init(leeway: Double, revokes: Bool = false, time: any TimeSource) {
        self.time = time
        state = Lock(State(leeway: leeway, revokes: revokes))
    }

    /// The session of the user who is signed in.
    var current: SavedSession? { state.withLock { $0.current } }

    /// The id of the current session.
    var id: UUID? { state.withLock { $0.current?.id } }

    /// Whether the saved session has been read, or has been made obsolete by a sign-in or a sign-out.
    var isLoaded: Bool { state.withLock { $0.isLoaded } }

    /// Whether the session is known to be saved.
    var isSaved: Bool { state.withLock { $0.isSaved } }

    /// What a save has to find; `nil` if that is not known.
    var savedVersion: SavedSession.Version? { state.withLock { $0.savedVersion } }

    /// The refresh under way.
    var refresh: Refresh? { state.withLock { $0.refresh } }

    /// The session to refresh; `nil` if that refresh is not under way any more.
    func session(for refresh: Refresh) -> SavedSession? { state.withLock { $0.session(for: refresh) } }

    /// Whether the session has, or had, that token.
    func knows(_ token: Token) -> Bool { state.withLock { $0.knows(token) } }

    /// Whether what a refresh of that session still brings has to be revoked.
    func mustRevoke(tokensOf session: UUID) -> Bool { state.withLock { $0.mustRevoke(tokensOf: session) } }

    /// Returns what a call of that session can do, if the server has refused it the token `rejected`.
    func status(of session: UUID, rejecting rejected: String? = nil) -> State.Status {
        let date = time.date
        guard let rejected else { return state.withLock { $0.status(of: session, at: date) } }
        return state.withLock { $0.status(of: session, at: date, rejecting: rejected) }
    }

    /// Returns the session's current token, and whether the caller should start a refresh for later calls; `nil` if the
    /// call has to wait for a token.
    func currentToken(of session: UUID) throws(ServiceError) -> (token: Token, isRefreshDue: Bool)? {
        switch status(of: session) {
        case .good(let token): return (token, false)
        case .aging(let token): return (token, mayRefreshBeside(session))
        case .ended(let expiry): throw .sessionExpired(expiry)
        case .beingReplaced, .expired: return nil
        }
    }

    /// Whether a refresh for later calls may start now. Asked before the actor is entered to start it: while the
    /// last one has failed a moment ago, calls with an aging token do not wait for the actor.
    func mayRefreshBeside(_ session: UUID) -> Bool {
        let now = time.now
        return state.withLock { $0.mayRefreshBeside(session, at: now) }
    }

    // MARK: The server's answers to calls

    /// Notes that the server has accepted a request with that token.
    func accept(_ access: String) {
        state.withLock { $0.accept(access) }
    }

    /// Notes that the server has refused a request with that token.
    func refuse(_ access: String, of session: UUID) {
        let now = time.now
        state.withLock { $0.refuse(access, of: session, at: now) }
    }

    /// Notes that the server has refused a replay with a token that had just replaced a refused one.
    func refuseReplay(with access: String, of place: String) {
        let now = time.now
        state.withLock { $0.refuseReplay(with: access, of: place, at: now) }
    }

    /// The token of the session, as it is; `nil` if nobody is signed in.
    var token: Token? { state.withLock { $0.hasToken ? $0.session?.token : nil } }

    /// What the session keeps beside its token; `nil` if there is nothing.
    var kept: Data? { state.withLock { $0.session?.kept } }

    /// Whether a call to that endpoint may have the token replaced after a 401.
    func mayReplay(to place: String, insteadOf access: String) -> Bool {
        let now = time.now
        return state.withLock { $0.mayReplay(to: place, insteadOf: access, at: now) }
    }

    /// Whether the server has refused refreshes without a word before.
    var isRefusedWithoutWords: Bool {
        let now = time.now
        return state.withLock { $0.isRefusedWithoutWords(at: now) }
    }

    // MARK: The first token

    /// Begins a session whose first token is to be obtained, unless there is a session. Returns the id of the session
    /// that there is then.
    func awaitToken() -> UUID {
        let none = Token(accessToken: "", expiry: .distantPast)
        let awaited = SavedSession(id: time.randomUUID(), token: none, received: time.date)
        return state.withLock { $0.awaitToken(awaited) }
    }

    // MARK: What is saved

    /// Takes over the session that was saved.
    func load(_ saved: SavedSession?) {
        state.withLock { $0.load(saved) }
    }

    /// Notes that the session was saved, or removed.
    func noteSaved(_ session: SavedSession?) {
        state.withLock { $0.noteSaved(session) }
    }

    // MARK: Transitions

    /// Performs a transition, and stops the calls of a session that has ended with it. Returns the actions that are
    /// left to the store.
    func perform(_ transition: (inout State) -> [State.Action]) -> [State.Action] {
        let (actions, ended) = state.withLock { state in
            let session = state.session?.id
            let actions = transition(&state)
            return (actions, state.session?.id == session ? nil : session)
        }
        if let ended { notify(endOf: ended) }
        return actions
    }

    @inline(never)
    private func notify(endOf ended: UUID) {
        keepers.notify(endOf: ended, because: reason(forEndOf: ended))
    }

    /// Whether something that belongs to a session outlives the process.
    var isKeptBeyondProcess: Bool { keepers.outliveProcess }

    /// Tells `keeper` of each session that ends from now on, until it is released.
    func add(_ keeper: any SessionKeeper) { keepers.add(keeper) }

    /// Waits until what belongs to sessions that have ended is removed, but no longer than that.
    func waitUntilRemoved(within limit: Duration) async {
        await keepers.waitUntilRemoved(within: limit, by: time)
    }

    /// Why that session has ended; `nil` if it is the current one.
    func end(of session: UUID) -> ServiceError? {
        if case .ended(let expiry) = status(of: session) { .sessionExpired(expiry) } else { nil }
    }

    private func reason(forEndOf session: UUID) -> ServiceError {
        end(of: session) ?? .sessionExpired(SessionExpiry(.otherSession))
    }
}

/// A refresh is identified by what its callers wait for.
extension Promise: Equatable {
    static func == (left: Promise, right: Promise) -> Bool { left === right }
}
