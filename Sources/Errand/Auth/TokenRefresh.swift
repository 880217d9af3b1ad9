#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import Synchronization

/// How the store replaces a token: one refresh at a time, whose result is saved before anybody sees it.
extension TokenStore {
    /// The run of a `refresh` closure that the present task belongs to, if any.
    @TaskLocal static var refreshing: RefreshRun?

    /// Whether the present task is a refresh of this store: then signing would wait for itself.
    nonisolated var isRefreshingHere: Bool { Self.refreshing?.isUnderWay(of: self) ?? false }

    /// The refresh of that session: the one under way, or a new one; or the session's token, if it suffices by now.
    func startRefresh(
        of id: UUID, refused: Token? = nil, unless suffices: @Sendable (Candidate) -> Bool
    ) throws(ServiceError) -> Flight<Token> {
        let (session, flight, accepted, expiry) = vault.read { state in
            (state.session, state.flight, state.accepted, state.expiry(of: id))
        }
        guard let session, session.id == id else { throw .sessionExpired(expiry) }
        // By the time the actor was entered, another call may have seen to it.
        if suffices(Candidate(token: session.token, isGood: session.isGood(at: time.date))) {
            return .landed(session.token)
        }
        // One that was accepted before has come to its end, as tokens do.
        if let refused, refused.access != accepted { pace.refused(refused.access, at: time.now) }
        if let flight { return flight }
        return launch(session)
    }

    /// Notes that the server has refused a token that had just replaced a refused one.
    func noteRefusal(of token: Token) {
        pace.refused(token.access, at: time.now)
    }

    /// Starts a refresh for later calls, if now is a time for it.
    func refreshBeside(_ id: UUID) {
        let (session, flight) = vault.read { ($0.session, $0.flight) }
        guard let session, session.id == id, flight == nil, pace.mayStart(at: time.now) else { return }
        _ = launch(session)
    }

    /// A token as it is found on the actor.
    struct Candidate {
        var token: Token
        var isGood: Bool
    }

    private func launch(_ session: SavedSession) -> Flight<Token> {
        let flight = Flight<Token>()
        vault.begin(flight)
        // The store owns the task, not the call that came first: it outlives every waiter, so a rotated token is
        // never lost.
        refreshTask = Task(executorPreference: time.executor) {
            // A cancelled pause means that the session is over, which the next step finds out by itself.
            try? await self.time.sleep(until: self.pace.notBefore)
            await self.takeTurn(of: session.id, landing: flight)
        }
        return flight
    }

    /// Refreshes when nobody else, in this process or another, is saving or refreshing.
    private func takeTurn(of id: UUID, landing flight: Flight<Token>) async {
        let turn = await nextTurn()
        defer { end(turn) }
        // Before the lock: whoever holds it may be stuck, and what was saved before that can be used without it.
        if isSaved, await sessionAfterReadingAgain(of: id, landing: flight, isAlone: false) == nil { return }
        do {
            try await persistence.exclusively { await self.replaceToken(of: id, landing: flight, isAlone: true) }
        } catch {
            guard isCurrent(id), flight.outcome == nil else { return }
            let error = TokenPersistenceError(error)
            broadcast.send(.notSaved(error))
            // Another process may be refreshing the session that is in the file: a second use of the same refresh token
            // would end it. One that has never been saved is nobody else's.
            if isSaved { return pass(.storage(error), of: id, landing: flight) }
            await replaceToken(of: id, landing: flight, isAlone: false)
        }
    }

    /// Without the lock, nothing is read or written.
    private func replaceToken(of id: UUID, landing flight: Flight<Token>, isAlone: Bool) async {
        let present =
            isAlone
            ? await sessionAfterReadingAgain(of: id, landing: flight, isAlone: true) : vault.read { $0.session }
        guard var session = present, isCurrent(id) else { return }
        while true {
            guard pace.mayRefresh(at: time.now) else {
                return finish(flight, with: .failure(.sessionExpired(SessionExpiry(.tooManyRefreshes))))
            }
            guard let refresh else {
                return await end(id, because: SessionExpiry(.notRefreshable), isAlone: isAlone)
            }
            let outcome = await newToken(for: session, by: refresh)
            // Reentrancy: the user may have signed out, or another one in; then the result is nobody's.
            guard isCurrent(id) else { return }
            switch outcome {
            case .success(let newer):
                let continued = session.continued(with: newer, at: time.date)
                if isAlone { await save(continued) }
                // Reentrancy: likewise. What was saved just now is overwritten by the change, which waits for its turn.
                guard isCurrent(id) else { return }
                pace.succeeded(with: newer, at: time.now)
                finish(flight, with: .success(continued))
                return broadcast.send(.refreshed)
            case .failure(let error):
                guard let expiry = error.endOfSession else { return pass(error, of: id, landing: flight) }
                guard isAlone else { return await end(id, because: expiry, isAlone: false) }
                // T15: one who ran without the lock may have used the refresh token and saved what came of it.
                let saved = await sessionAfterReadingAgain(of: id, landing: flight, isAlone: true)
                guard let saved, isCurrent(id) else { return }
                guard saved.revision > session.revision else {
                    return await end(id, because: expiry, isAlone: true)
                }
                session = saved
            }
        }
    }

    private func newToken(for session: SavedSession, by refresh: Refresh) async -> Result<Token, ServiceError> {
        let run = RefreshRun(of: self)
        // What the closure has left behind is like any other task from here on, while the token is saved too.
        defer { run.end() }
        do {
            return .success(try await Self.$refreshing.withValue(run) { try await refresh(session.token) })
        } catch {
            return .failure(ServiceError(refreshFailure: error))
        }
    }

    /// The session to refresh, after a look at what another process may have made of it; `nil` if there is nothing
    /// left to do.
    private func sessionAfterReadingAgain(
        of id: UUID, landing flight: Flight<Token>, isAlone: Bool
    ) async -> SavedSession? {
        guard isCurrent(id) else { return nil }
        do {
            let saved = try await persistence.load()
            // Reentrancy: the session may have ended while the file was read.
            guard let session = vault.read({ $0.session }), session.id == id else { return nil }
            if let saved, saved.id == id {
                guard saved.revision > session.revision else { return session }
                guard saved.isGood(at: time.date) else { return saved }
                finish(flight, with: .success(saved))
                broadcast.send(.refreshed)
                return nil
            }
            guard isSaved else { return session }
            // Another process has signed out, or somebody else in.
            replaceSession(with: saved, ending: SessionExpiry(saved == nil ? .signedOut : .otherSession))
            isSaved = saved != nil
            broadcast.send(saved == nil ? .signedOut : .signedIn)
            return nil
        } catch {
            let error = TokenPersistenceError(error)
            // A folder that is missing for a moment is no sign-out. It is not made anew either: without what was saved
            // there, nobody knows whether another process has used the refresh token.
            let isMissing = error.kind == .missingFolder && isSaved && isCurrent(id)
            // What cannot be read now is read again under the lock, and told then.
            if isAlone || isMissing || error.isKeptAside { broadcast.send(.notSaved(error)) }
            if isMissing {
                pass(.storage(error), of: id, landing: flight)
                return nil
            }
            // Kept aside, it is missing from now on without anybody having signed out.
            if error.isKeptAside { isSaved = false }
            return vault.read { $0.session?.id == id ? $0.session : nil }
        }
    }

    /// Ends a refresh that has failed in passing (T9).
    private func pass(_ error: ServiceError, of id: UUID, landing flight: Flight<Token>) {
        pace.failed(at: time.now, random: time.randomFraction())
        finish(flight, with: .failure(error))
    }

    private func end(_ id: UUID, because expiry: SessionExpiry, isAlone: Bool) async {
        // This very task: cancelled, it might leave on the disk what it is about to remove.
        refreshTask = nil
        replaceSession(with: nil, ending: expiry)
        broadcast.send(.expired(expiry))
        // Reentrancy: if somebody signs in meanwhile, that is saved in its own turn, after this.
        if isAlone { await save(nil) }
    }

    private func finish(_ flight: Flight<Token>, with outcome: Result<SavedSession, ServiceError>) {
        // A failed refresh brings no newer session; the outcome itself is landed below.
        let newer = try? outcome.get()
        // A refresh whose session is over was landed by whoever ended it.
        guard vault.finish(flight, with: newer) else { return }
        flight.land(outcome.map(\.token))
    }

    private func isCurrent(_ id: UUID) -> Bool {
        vault.read { $0.session?.id == id }
    }
}

/// One run of a store's `refresh` closure.
///
/// A task that the closure has started and left behind inherits it; when the closure is over that task is like any
/// other.
final class RefreshRun: Sendable {
    private let store: ObjectIdentifier
    private let isOver = Atomic(false)

    init(of store: TokenStore) {
        self.store = ObjectIdentifier(store)
    }

    var isUnderWay: Bool { !isOver.load(ordering: .relaxed) }

    func isUnderWay(of store: TokenStore) -> Bool {
        self.store == ObjectIdentifier(store) && isUnderWay
    }

    func end() {
        isOver.store(true, ordering: .relaxed)
    }
}

extension SavedSession {
    fileprivate func isGood(at date: Date) -> Bool {
        token.expiry.map { date < $0 } ?? true
    }
}

extension Flight {
    fileprivate static func landed(_ value: Value) -> Flight {
        let flight = Flight()
        flight.land(.success(value))
        return flight
    }
}

extension ServiceError {
    fileprivate init(refreshFailure error: any Error) {
        self.init(error) { .transport(TransportFailure(.other, "the refresh failed with \(foreignName(of: $0))")) }
        // Whoever waits for the token was not cancelled.
        if self == .cancelled {
            self = .transport(TransportFailure(.other, "the refresh of the access token was cancelled"))
        }
    }

    /// What was saved cannot be used now, by reason of another process or of the folder.
    fileprivate static func storage(_ error: TokenPersistenceError) -> ServiceError {
        .transport(TransportFailure(.storage, error.message))
    }

    /// Why the session is over, if this answer to a refresh says so.
    fileprivate var endOfSession: SessionExpiry? {
        switch self {
        case .sessionExpired(let expiry): expiry
        case .signInRequired: SessionExpiry(.refreshRefused)
        case .rejected(let rejection) where rejection.status == 400 || rejection.status == 401:
            SessionExpiry(.refreshRefused, message: rejection.message, status: rejection.status)
        default: nil
        }
    }
}
