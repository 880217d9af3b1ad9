#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
import Synchronization

/// The store's use of its persistence: one task at a time, which the store owns.
extension TokenStore {
    // MARK: Loading

    func load() async throws(ServiceError) {
        try await startLoading()?.value()
    }

    /// Returns the load of the saved session: the one under way, or a new one; `nil` if it is loaded.
    func startLoading() -> Flight<Void, ServiceError>? {
        if state.withLock({ $0.isLoaded }) { return nil }
        if let loading { return loading }
        let flight = Flight<Void, ServiceError>()
        loading = flight
        // The store owns the task: the first caller may leave, and the others still receive the result.
        Task(executorPreference: time.executor) { await self.performLoad(landing: flight) }
        return flight
    }

    private func performLoad(landing flight: Flight<Void, ServiceError>) async {
        let turn = await nextTurn()
        let outcome: Result<SavedSession?, TokenPersistenceError>
        do {
            outcome = .success(try await storage { try await $0.load() })
        } catch {
            outcome = .failure(TokenPersistenceError(error))
        }
        end(turn)
        // Reentrancy: if somebody has signed in while it was read, the state ignores what was read.
        loading = nil
        switch outcome {
        case .success(let session):
            state.withLock { $0.load(session) }
            flight.land(.success(()))
        case .failure(let error):
            // Where there has never been a folder, nobody has ever signed in.
            if error.kind == .missingFolder {
                state.withLock { $0.load(nil) }
                flight.land(.success(()))
                return
            }
            broadcast.send(.notSaved(error))
            // The user is still signed in, and the next call reads again.
            guard error.kind != .deviceLocked else {
                flight.land(.failure(.storage(error)))
                return
            }
            // The damaged file was moved aside; the next call finds that nobody is signed in.
            if error.isKeptAside { state.withLock { $0.load(nil) } }
            flight.land(.failure(.sessionExpired(SessionExpiry(.unreadable, message: error.message))))
        }
    }

    /// Uses the persistence off the actor: file work blocks its thread, and a call that needs the store must not wait
    /// for a disk.
    @concurrent
    nonisolated func storage<Value: Sendable>(
        _ use: @Sendable (any TokenPersistence) async throws -> Value
    ) async throws -> Value {
        guard time.executor != nil else { return try await use(persistence) }
        // A test's clock does not know the threads for the disk, and would let time pass meanwhile.
        return try await VirtualTime.$isUnderWay.withValue(true) { try await use(persistence) }
    }

    /// Runs `body` while no other process uses the persistence. Throws if `body` has not run.
    nonisolated func exclusively(_ body: @escaping @Sendable () async -> Void) async throws {
        let hasRun = Atomic(false)
        try await storage { persistence in
            try await persistence.exclusively {
                hasRun.store(true, ordering: .relaxed)
                await body()
            }
        }
        // Whoever waits for what `body` does would wait for ever.
        if !hasRun.load(ordering: .relaxed) {
            throw TokenPersistenceError(.other, "`exclusively` returned without running its body")
        }
    }

    // MARK: Saving

    /// Waits until nothing of the session is being changed or saved: neither a refresh, nor a sign-in or a sign-out.
    ///
    /// Call it before the program ends, after `shutdown()` of the clients that use the store or refresh its token, so
    /// that nothing new begins: otherwise a token that the server has just replaced may be lost. It takes no longer
    /// than the store's `refreshTimeout` and saving take. A refresh that waits for the end of its delay after a failure
    /// has sent nothing, and is not waited for.
    ///
    /// It also waits in a cancelled task, because programs often end in one. Inside the `refresh` closure it returns at
    /// once.
    public func waitUntilSaved() async {
        guard !isRefreshingHere else { return }
        // Reentrancy: what begins during one wait is waited for in the next.
        while true {
            if let saving = coming ?? lastTurn {
                await saving.landed()
            } else if let refresh = state.withLock({ $0.refresh }), refresh != pausing {
                await refresh.landed()
            } else {
                return
            }
        }
    }

    /// Waits until nobody else in this process is using the persistence. Reading needs nothing more: another process
    /// replaces the saved session atomically.
    func nextTurn() async -> Flight<Void, ServiceError> {
        let previous = lastTurn
        let mine = Flight<Void, ServiceError>()
        lastTurn = mine
        await previous?.landed()
        return mine
    }

    func end(_ turn: Flight<Void, ServiceError>) {
        turn.land(.success(()))
        if lastTurn === turn { lastTurn = nil }
    }

    /// Saves the session that is current when the turn comes, so that the last of several changes is saved.
    func saveCurrent() async {
        let saved = coming ?? startSaving()
        // A refresh that signs in or out has the turn that the save waits for. A cancelled caller does not wait either.
        if !isRefreshingHere { _ = try? await saved.value() }
    }

    private func startSaving() -> Flight<Void, ServiceError> {
        let saved = Flight<Void, ServiceError>()
        coming = saved
        // Owned by the store: a session is saved, or removed, even if the task that signs in or out is cancelled.
        Task(executorPreference: time.executor) { await self.takeTurn(toSave: saved) }
        return saved
    }

    private func takeTurn(toSave saved: Flight<Void, ServiceError>) async {
        let turn = await nextTurn()
        do {
            try await exclusively { await self.performSave() }
        } catch {
            // Not without the lock: what another process is writing could be mixed up with it.
            if coming === saved { coming = nil }
            broadcast.send(.notSaved(TokenPersistenceError(error)))
        }
        end(turn)
        saved.land(.success(()))
    }

    private func performSave() async {
        // A later change of the session needs another save.
        coming = nil
        let session = state.withLock { $0.session }
        if await save(session) || session == nil { return }
        // The saved session is still that of another user, who must not be signed in by the next start. If it cannot be
        // removed either, the failure to save has been reported already.
        try? await storage { try await $0.save(nil) }
    }

    /// Saves the session, or removes the saved one. Returns whether it succeeded.
    @discardableResult
    func save(_ session: SavedSession?) async -> Bool {
        do {
            try await storage { try await $0.save(session) }
            // Reentrancy: if somebody else has signed in meanwhile, the state ignores it.
            if let session { state.withLock { $0.noteSaved(session) } }
            return true
        } catch {
            broadcast.send(.notSaved(TokenPersistenceError(error)))
            return false
        }
    }
}
