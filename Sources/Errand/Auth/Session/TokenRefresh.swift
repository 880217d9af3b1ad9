#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The replacement of a token by the store: one refresh at a time, whose result is saved before any call sees it,
/// unless that takes too long (`giveUp`).
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
        // Another call may have refreshed the token before this one entered the actor (T2).
        switch status(of: id) {
        case .good, .beingReplaced, .ended: return
        case .aging, .expired: break
        }
        let now = time.now
        change { $0.startRefreshBeside(Flight(), of: id, at: now) }
    }

    /// Refreshes when nobody else, in this process or another, is saving or refreshing.
    func takeTurn(toRefresh flight: Flight<Token, ServiceError>, notBefore instant: Instant) async {
        // A cancelled pause means that the session is over, which the next step finds out by itself.
        try? await time.sleep(until: instant, for: .sleeper("the pause before a refresh"), in: CallScope())
        if pausing == flight { pausing = nil }
        // Owned by the store: the alarm comes from no task.
        let alarm = time.schedule(
            at: time.now.advanced(by: refreshTimeout), for: .watch("the limit of a refresh")
        ) { [weak self, executor = time.executor] in
            Task(executorPreference: executor) { await self?.giveUp(flight) }
        }
        defer { alarm.cancel() }
        let turn = await nextTurn()
        defer { end(turn) }
        // Before the lock: its holder may hang, and a token that was saved before can be used without the lock.
        if state.withLock({ $0.isSaved }) { await readAgain(for: flight, isAlone: false) }
        guard session(for: flight) != nil else { return }
        do {
            try await exclusively { await self.exchange(for: flight, isAlone: true) }
        } catch {
            let (error, now, random) = (TokenPersistenceError(error), time.now, time.randomFraction())
            change { $0.failLocking(error, by: flight, at: now, random: random) }
            await exchange(for: flight, isAlone: false)
        }
    }

    /// Ends a refresh that has reached its limit, unless it is over (T17). If only saving takes that long, the new
    /// token is used unsaved; otherwise this is a failure in passing, and its closure is left behind.
    private func giveUp(_ flight: Flight<Token, ServiceError>) {
        guard session(for: flight) != nil else { return }
        let (now, random) = (time.now, time.randomFraction())
        if let unsaved, unsaved.refresh == flight {
            let words = "the session could not be saved within \(refreshTimeout.displayText)"
            broadcast.send(.notSaved(TokenPersistenceError(.other, words)))
            change { $0.complete(flight, with: unsaved.session, at: now) }
        } else {
            let error = ServiceError.timedOut(Timeout(.refresh, limit: refreshTimeout, phase: .waitingForToken))
            change { $0.fail(flight, with: error, at: now, random: random) }
            refreshTask?.cancel()
            refreshTask = nil
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
                guard let continued = self.session(for: flight)?.continued(with: newer, at: time.date) else {
                    // It came when the refresh was being given up.
                    return takeLate(newer, of: session)
                }
                // Before any call sees it (T14). If the session ends meanwhile, that is saved in its own turn, after
                // this.
                unsaved = (flight, continued)
                if isAlone { await save(continued) }
                unsaved = nil
                let now = time.now
                change { $0.complete(flight, with: continued, at: now) }
            case .failure(let error):
                // The server may have refused this refresh because of the one before, whose result has come since.
                if hasLate(for: session) { continue }
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

    /// Returns the result of the closure; at once if the refresh is given up or its session ends.
    private func newToken(for session: SavedSession, by refresh: @escaping Refresh) async -> Result<Token, ServiceError>
    {
        let isLate = hasLate(for: session)
        // One of a session that has ended, or was refreshed since, is of no use.
        if let token = late.take()?.token, isLate { return .success(token) }
        let run = RefreshRun(of: self)
        // From here on, tasks that the closure has left behind are like any other, even while the token is saved.
        defer { run.end() }
        let result = Flight<Token, ServiceError>()
        // No child of this task, which would have to wait for a closure that ignores its cancellation.
        let work = Self.$refreshing.withValue(run) {
            Task(executorPreference: time.executor) {
                do {
                    result.land(.success(try await refresh(session.token)))
                } catch {
                    result.land(.failure(ServiceError(refreshFailure: error)))
                }
            }
        }
        let outcome: Result<Token, ServiceError>
        do throws(ServiceError) {
            outcome = .success(try await result.value())
        } catch {
            outcome = .failure(error)
        }
        // What has come in the moment of the cancellation is the result.
        if let outcome = result.outcome { return outcome }
        work.cancel()
        // Owned by nobody: it ends with the closure, and does not keep the store.
        Task(executorPreference: time.executor) { [weak self] in
            await result.landed()
            if let token = try? result.outcome?.get() { await self?.takeLate(token, of: session) }
        }
        return outcome
    }

    /// Continues the session with a token that came after its refresh was given up: by now the server may accept no
    /// older refresh token. Another refresh takes it, which saves it before any call uses it (T14).
    private func takeLate(_ token: Token, of session: SavedSession) {
        if case .ended = status(of: session.id) { return }
        late = (token, session)
        change { $0.startRefresh(Flight(), late: session) }
    }

    private func hasLate(for session: SavedSession) -> Bool {
        late.map { ($0.session.id, $0.session.revision) == (session.id, session.revision) } ?? false
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
    private let over = Flight<Void, Never>()

    init(of store: TokenStore) {
        self.store = ObjectIdentifier(store)
    }

    var isUnderWay: Bool { over.outcome == nil }

    func isUnderWay(of store: TokenStore) -> Bool {
        self.store == ObjectIdentifier(store) && isUnderWay
    }

    func end() {
        over.land(.success(()))
    }

    /// Waits until the run has ended, even if the task is cancelled.
    func ended() async {
        await over.landed()
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
}
