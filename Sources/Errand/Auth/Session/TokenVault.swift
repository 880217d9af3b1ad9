#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The session of a token store, where every thread can look at it: a valid token costs a lock and no turn on the
/// store's actor.
///
/// Only the store changes it.
final class TokenVault: Sendable {
    struct State: Sendable {
        /// Whether what was saved has been read, or has been made obsolete by a sign-in or sign-out.
        var isLoaded = false
        var session: SavedSession?
        /// The session that was there before, and why it is over.
        var ended: (id: UUID, expiry: SessionExpiry)?
        /// The refresh that is under way.
        var flight: Flight<Token, ServiceError>?
        /// The access token that the server has refused though it should be good: calls wait for its replacement.
        var refused: String?
        /// The access token that a request has been accepted with last.
        var accepted: String?
        /// Access tokens of the session that were replaced, the latest last; a few, because a 401 seldom comes late.
        var replaced: [String] = []

        /// Whether the token is one of the session's own.
        func knows(_ token: Token) -> Bool {
            session?.token.access == token.access || replaced.contains(token.access)
        }
    }

    /// What there is to say about a session's token.
    enum Answer {
        case good(Token)
        /// Good, but not for long.
        case aging(Token)
        case beingReplaced(Flight<Token, ServiceError>)
        case expired
        case ended(SessionExpiry)
    }

    private static let memory = 16

    private let leeway: Double
    private let state = Lock(State())

    init(leeway: Double) {
        self.leeway = leeway
    }

    func read<Value: Sendable>(_ body: (State) -> Value) -> Value {
        state.withLock { body($0) }
    }

    func token(of id: UUID, at date: Date) -> Answer {
        state.withLock { state in
            guard let session = state.session, session.id == id else { return .ended(state.expiry(of: id)) }
            if let flight = state.flight, state.refused == session.token.access { return .beingReplaced(flight) }
            guard let expiry = session.token.expiry else { return .good(session.token) }
            // A new token that was expired when it came says that the clocks differ, and nothing about the token. The
            // next would come expired as well: this one is used until the server refuses it (T12).
            if session.revision > 0, expiry <= session.received { return .good(session.token) }
            if date >= expiry {
                return state.flight.map(Answer.beingReplaced) ?? .expired
            }
            // A token that lives shorter than the leeway would always be inside it, and be refreshed by every call.
            let leeway = min(leeway, expiry.timeIntervalSince(session.received) / 2)
            guard date >= expiry.addingTimeInterval(-leeway) else { return .good(session.token) }
            return state.flight == nil ? .aging(session.token) : .good(session.token)
        }
    }

    /// Ends the session that is there and begins another, or none. Returns the refresh that was under way.
    func replaceSession(with session: SavedSession?, ending expiry: SessionExpiry) -> Flight<Token, ServiceError>? {
        state.withLock { state in
            if let old = state.session { state.ended = (old.id, expiry) }
            defer { state.flight = nil }
            state.session = session
            state.replaced = []
            state.isLoaded = true
            return state.flight
        }
    }

    /// Takes what was saved; `false` if it comes too late.
    func finishLoading(_ session: SavedSession?) -> Bool {
        state.withLock { state in
            guard !state.isLoaded else { return false }
            state.isLoaded = true
            state.session = session
            return true
        }
    }

    /// Notes that the server has refused a token.
    func refuse(_ token: Token) {
        state.withLock { $0.refused = token.access }
    }

    /// Notes that the server has answered a request with that token.
    func accept(_ token: Token) {
        state.withLock { $0.accepted = token.access }
    }

    /// Marks a refresh as under way.
    func begin(_ flight: Flight<Token, ServiceError>) {
        state.withLock { $0.flight = flight }
    }

    /// Ends a refresh, with the newer session if it brought one; `false`, and nothing is changed, if that session is
    /// over.
    func finish(_ flight: Flight<Token, ServiceError>, with newer: SavedSession?) -> Bool {
        state.withLock { state in
            // The refresh of a session is gone from here when another session begins.
            guard state.flight === flight else { return false }
            state.flight = nil
            guard let newer else { return true }
            if let old = state.session?.token.access { state.replaced.append(old) }
            if state.replaced.count > Self.memory { state.replaced.removeFirst() }
            state.session = newer
            return true
        }
    }
}

extension TokenVault.State {
    func expiry(of id: UUID) -> SessionExpiry {
        if let ended, ended.id == id { return ended.expiry }
        return SessionExpiry(session == nil ? .signedOut : .otherSession)
    }
}
