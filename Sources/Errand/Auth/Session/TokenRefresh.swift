#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import Synchronization

/// The replacement of a token by the store: one refresh at a time, whose result is saved before any call sees it.
extension TokenStore {
    /// The run of a `refresh` closure that the current task belongs to; `nil` if it belongs to none.
    @TaskLocal static var refreshing: RefreshRun?

    /// Whether the current task is a refresh of this store: then signing would wait for itself.
    nonisolated var isRefreshingHere: Bool { Self.refreshing?.isUnderWay(of: self) ?? false }

    /// Returns the refresh of that session, for a call that needs its result: the one under way, or a new one.
    func startRefresh(
        of id: UUID, rejecting rejected: String? = nil
    ) throws(ServiceError) -> Flight<Token, ServiceError> {
        // Another call may have refreshed the token before this one entered the actor (T2).
        switch status(of: id, rejecting: rejected) {
        case .good(let token), .aging(let token): return .landed(token)
        case .beingReplaced(let flight): return flight
        case .ended(let expiry): throw .sessionExpired(expiry)
        case .expired:
            let flight = Flight<Token, ServiceError>()
            change { $0.startRefresh(flight, of: id) }
            return flight
        }
    }

    /// Starts a refresh for later calls, if the pace allows one now.
    func refreshBeside(_ id: UUID) {
        let now = time.now
        change { $0.startRefreshBeside(Flight(), of: id, at: now) }
    }

    /// Refreshes when nobody else, in this process or another, is saving or refreshing.
    func takeTurn(toRefresh flight: Flight<Token, ServiceError>, notBefore instant: Instant) async {
        // A cancelled pause means that the session is over, which the next step finds out by itself.
        try? await time.sleep(until: instant, for: .sleeper("the pause before a refresh"), in: CallScope())
        let turn = await nextTurn()
        defer { end(turn) }
        // Before the lock: its holder may hang, and a token that was saved before can be used without the lock.
        if state.withLock({ $0.isSaved }) { await readAgain(for: flight, isAlone: false) }
        guard session(for: flight) != nil else { return }
        do {
            try await storage { try await $0.exclusively { await self.exchange(for: flight, isAlone: true) } }
        } catch {
            let (error, now, random) = (TokenPersistenceError(error), time.now, time.randomFraction())
            change { $0.failLocking(error, by: flight, at: now, random: random) }
            await exchange(for: flight, isAlone: false)
        }
    }

    /// Exchanges the token until the refresh is over. Without the lock, nothing is read or written.
    private func exchange(for flight: Flight<Token, ServiceError>, isAlone: Bool) async {
        if isAlone { await readAgain(for: flight, isAlone: true) }
        // Reentrancy: each round, and each transition, first looks whether the refresh is still under way.
        while let session = sessionToExchange(for: flight) {
            guard let refresh else {
                await end(flight, of: session, because: SessionExpiry(.notRefreshable), isAlone: isAlone)
                continue
            }
            switch await newToken(for: session, by: refresh) {
            case .success(let newer):
                guard let continued = self.session(for: flight)?.continued(with: newer, at: time.date) else { return }
                // Before any call sees it (T14). If the session ends meanwhile, that is saved in its own turn, after
                // this.
                if isAlone { await save(continued) }
                let now = time.now
                change { $0.complete(flight, with: continued, at: now) }
            case .failure(let error):
                guard let expiry = error.endOfSession else {
                    let (now, random) = (time.now, time.randomFraction())
                    change { $0.fail(flight, with: error, at: now, random: random) }
                    continue
                }
                // A process that ran without the lock may have used the refresh token and saved the result (T15).
                if isAlone { await readAgain(for: flight, isAlone: true) }
                await end(flight, of: session, because: expiry, isAlone: isAlone)
            }
        }
    }

    private func session(for flight: Flight<Token, ServiceError>) -> SavedSession? {
        state.withLock { $0.session(for: flight) }
    }

    /// Returns the session whose token is to be exchanged, unless the cap forbids it (T3).
    private func sessionToExchange(for flight: Flight<Token, ServiceError>) -> SavedSession? {
        let now = time.now
        change { $0.checkCap(of: flight, at: now) }
        return session(for: flight)
    }

    private func end(
        _ flight: Flight<Token, ServiceError>, of session: SavedSession, because expiry: SessionExpiry, isAlone: Bool
    ) async {
        let mustSave = change { $0.end(flight, ofRevision: session.revision, because: expiry) }
        // Reentrancy: if somebody signs in meanwhile, that is saved in its own turn, after this.
        if mustSave, isAlone { await save(nil) }
    }

    private func newToken(for session: SavedSession, by refresh: Refresh) async -> Result<Token, ServiceError> {
        let run = RefreshRun(of: self)
        // From here on, tasks that the closure has left behind are like any other, even while the token is saved.
        defer { run.end() }
        do {
            return .success(try await Self.$refreshing.withValue(run) { try await refresh(session.token) })
        } catch {
            return .failure(ServiceError(refreshFailure: error))
        }
    }

    /// Reads what another process may have saved.
    private func readAgain(for flight: Flight<Token, ServiceError>, isAlone: Bool) async {
        guard session(for: flight) != nil else { return }
        do {
            let saved = try await storage { try await $0.load() }
            // Reentrancy: if the session has ended while the file was read, the state ignores what was read.
            let date = time.date
            change { $0.find(saved, by: flight, at: date) }
        } catch {
            let (error, now, random) = (TokenPersistenceError(error), time.now, time.randomFraction())
            change { $0.failReading(error, by: flight, isAlone: isAlone, at: now, random: random) }
        }
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

/// A refresh is what its callers wait for.
extension Flight: Equatable {
    static func == (left: Flight, right: Flight) -> Bool { left === right }
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
        // The callers that wait for the token were not cancelled.
        if self == .cancelled {
            self = .transport(TransportFailure(.other, "the refresh of the access token was cancelled"))
        }
    }

    /// Why the session is over, if this response to a refresh says so.
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
