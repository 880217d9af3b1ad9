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
        of id: UUID, unless suffices: @Sendable (Candidate) -> Bool
    ) throws(ServiceError) -> Flight<Token> {
        let (session, flight, expiry) = vault.read { state in
            (state.session, state.flight, state.expiry(of: id))
        }
        guard let session, session.id == id else { throw .sessionExpired(expiry) }
        // By the time the actor was entered, another call may have seen to it.
        if suffices(Candidate(token: session.token, isGood: session.isGood(at: time.date))) {
            return .landed(session.token)
        }
        if let flight { return flight }
        return launch(session)
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
            await self.inTurn { await self.replaceToken(of: session.id, landing: flight) }
        }
        return flight
    }

    private func replaceToken(of id: UUID, landing flight: Flight<Token>) async {
        guard let session = await sessionAfterReadingAgain(of: id, landing: flight) else { return }
        guard pace.mayRefresh(at: time.now) else {
            return finish(flight, of: id, with: .failure(.sessionExpired(SessionExpiry(.tooManyRefreshes))))
        }
        guard let refresh else { return await end(id, because: SessionExpiry(.notRefreshable)) }
        do {
            let run = RefreshRun(of: self)
            defer { run.end() }
            let newer = try await Self.$refreshing.withValue(run) { try await refresh(session.token) }
            run.end()
            // Reentrancy: the user may have signed out, or another one in; then the result is nobody's.
            guard isCurrent(id) else { return }
            let continued = session.continued(with: newer, at: time.date)
            await save(continued)
            // Reentrancy: likewise. What was saved just now is overwritten by the change, which waits for its turn.
            guard isCurrent(id) else { return }
            pace.succeeded(at: time.now)
            finish(flight, of: id, with: .success(continued))
            broadcast.send(.refreshed)
        } catch {
            await fail(ServiceError(refreshFailure: error), of: id, landing: flight)
        }
    }

    /// The session to refresh, after a look at what another process may have made of it; `nil` if there is nothing
    /// left to do.
    private func sessionAfterReadingAgain(of id: UUID, landing flight: Flight<Token>) async -> SavedSession? {
        guard isCurrent(id) else { return nil }
        do {
            let saved = try await persistence.load()
            // Reentrancy: the session may have ended while the file was read.
            guard let session = vault.read({ $0.session }), session.id == id else { return nil }
            if let saved, saved.id == id {
                guard saved.revision > session.revision else { return session }
                guard saved.isGood(at: time.date) else { return saved }
                finish(flight, of: id, with: .success(saved))
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
            broadcast.send(.notSaved(error))
            // Kept aside, it is missing from now on without anybody having signed out.
            if error.isKeptAside { isSaved = false }
            return vault.read { $0.session?.id == id ? $0.session : nil }
        }
    }

    private func fail(_ error: ServiceError, of id: UUID, landing flight: Flight<Token>) async {
        guard isCurrent(id) else { return }
        guard let expiry = error.endOfSession else {
            pace.failed(at: time.now, random: time.randomFraction())
            return finish(flight, of: id, with: .failure(error))
        }
        await end(id, because: expiry)
    }

    private func end(_ id: UUID, because expiry: SessionExpiry) async {
        // This very task: cancelled, it might leave on the disk what it is about to remove.
        refreshTask = nil
        replaceSession(with: nil, ending: expiry)
        broadcast.send(.expired(expiry))
        // Reentrancy: if somebody signs in meanwhile, that is saved in its own turn, after this.
        await save(nil)
    }

    private func finish(_ flight: Flight<Token>, of id: UUID, with outcome: Result<SavedSession, ServiceError>) {
        // A failed refresh brings no newer session; the outcome itself is landed below.
        let newer = try? outcome.get()
        // A refresh whose session is over was landed by whoever ended it.
        guard vault.finish(flight, of: id, with: newer) else { return }
        refreshTask = nil
        flight.land(outcome.map(\.token))
    }

    private func isCurrent(_ id: UUID) -> Bool {
        vault.read { $0.session?.id == id }
    }
}

/// One run of a store's `refresh` closure.
///
/// A task that the closure has started and left behind inherits it; when the closure is over that task is like any other.
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

/// When a store may refresh.
struct RefreshPace: Sendable {
    /// So many refreshes in so long a time mean that new tokens do not help.
    private static let cap = 5
    private static let window = Duration.seconds(30)
    private static let backoff = Backoff()

    private var recent: [Instant] = []
    private var failures = 0
    private(set) var notBefore = Instant.zero

    /// Whether a refresh that nobody waits for may start now.
    func mayStart(at now: Instant) -> Bool {
        now >= notBefore && mayRefresh(at: now)
    }

    func mayRefresh(at now: Instant) -> Bool {
        recent.count { $0.duration(to: now) < Self.window } < Self.cap
    }

    mutating func succeeded(at now: Instant) {
        recent.removeAll { $0.duration(to: now) >= Self.window }
        recent.append(now)
        failures = 0
    }

    mutating func failed(at now: Instant, random: Double) {
        failures += 1
        notBefore = now.advanced(by: Self.backoff.pause(beforeRetry: failures, random: random))
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
