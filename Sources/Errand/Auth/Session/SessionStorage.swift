import Synchronization

/// The saved session of a store, and its queue of users: at a time one task of this process uses it, and under the
/// lock one process.
///
/// It runs off the actor: file work blocks its thread, and a call that needs the store must not wait for a disk.
final class SessionStorage: Sendable {
    private struct Accesses {
        /// The last access in the queue: it begins when those before it have ended.
        var last: Promise<Void, ServiceError>?
        /// The save that waits for its access: it will save what the session is then.
        var coming: Promise<Void, ServiceError>?
    }

    /// The right to use the persistence, until it ends.
    struct Access: Sendable {
        fileprivate let storage: SessionStorage
        fileprivate let promise: Promise<Void, ServiceError>

        func end() {
            promise.complete(.success(()))
            storage.accesses.withLock { if $0.last === promise { $0.last = nil } }
        }
    }

    /// Whether the session that is saved is still there in the next process.
    let outlivesProcess: Bool
    private let persistence: any TokenPersistence
    private let time: any TimeSource
    private let accesses = Lock(Accesses())

    init(_ persistence: any TokenPersistence, time: any TimeSource) {
        self.persistence = persistence
        self.time = time
        outlivesProcess = persistence.outlivesProcess
    }

    /// The save or the access that has not ended yet, whichever ends last.
    var pending: Promise<Void, ServiceError>? { accesses.withLock { $0.coming ?? $0.last } }

    /// Waits until no other task in this process is using the persistence. Reading needs nothing more: another process
    /// replaces the saved session atomically.
    func beginAccess() async -> Access {
        let mine = Promise<Void, ServiceError>()
        let previous = accesses.withLock { accesses in
            defer { accesses.last = mine }
            return accesses.last
        }
        await previous?.completion()
        return Access(storage: self, promise: mine)
    }

    // MARK: For the task that has the access

    /// Returns the saved session.
    func load() async throws(TokenPersistenceError) -> SavedSession? {
        try await use { try await $0.load() }
    }

    /// Saves the session, or removes the saved one.
    func save(_ session: SavedSession?) async throws(TokenPersistenceError) {
        try await use { try await $0.save(session) }
    }

    /// Saves the session, or removes the saved one, if what is saved is that version. Returns whether it was.
    func replace(
        _ version: SavedSession.Version, with session: SavedSession?
    ) async throws(TokenPersistenceError) -> Bool {
        try await use { try await $0.replace(version, with: session) }
    }

    /// Returns a stream of the changes elsewhere; `nil` if they cannot be known.
    func changes() -> AsyncStream<Void>? {
        guard time.executor != nil else { return persistence.changes() }
        return VirtualTime.$isUnderWay.withValue(true) { persistence.changes() }
    }

    /// Runs `body` while no other process uses the persistence. Throws if `body` has not run.
    func exclusively(_ body: @escaping @Sendable (SessionLock) async -> Void) async throws(TokenPersistenceError) {
        let hasRun = Atomic(false)
        try await use { persistence in
            try await persistence.exclusively { lock in
                hasRun.store(true, ordering: .relaxed)
                await body(lock)
            }
        }
        // A task that waits for what `body` does would wait for ever.
        if !hasRun.load(ordering: .relaxed) {
            throw TokenPersistenceError(.other, "`exclusively` returned without running its body")
        }
    }

    @concurrent
    private func use<Value: Sendable>(
        _ body: @Sendable (any TokenPersistence) async throws -> Value
    ) async throws(TokenPersistenceError) -> Value {
        do {
            guard time.executor != nil else { return try await body(persistence) }
            // A test's clock does not know the threads for the disk, and would let time pass during the wait.
            return try await VirtualTime.$isUnderWay.withValue(true) { try await body(persistence) }
        } catch {
            throw TokenPersistenceError(error)
        }
    }

    // MARK: Saving a change

    /// Returns the save that will write what the session is when it begins, so that the last of several changes is
    /// saved. It is over, and what went wrong is reported, when the promise completes.
    func saveCurrent(
        of live: LiveSession, reporting report: @escaping @Sendable (TokenPersistenceError) -> Void
    ) -> Promise<Void, ServiceError> {
        let mine = Promise<Void, ServiceError>()
        let coming = accesses.withLock { accesses in
            if accesses.coming == nil { accesses.coming = mine }
            return accesses.coming ?? mine
        }
        guard coming === mine else { return coming }
        // Owned by the storage: a session is saved, or removed, even if the task that signs in or out is canceled.
        Task(executorPreference: time.executor) { await self.saveInOrder(toComplete: mine, of: live, report) }
        return mine
    }

    private func saveInOrder(
        toComplete saved: Promise<Void, ServiceError>, of live: LiveSession,
        _ report: @escaping @Sendable (TokenPersistenceError) -> Void
    ) async {
        let access = await beginAccess()
        do throws(TokenPersistenceError) {
            try await exclusively { await self.saveNow(live, under: $0, report) }
        } catch {
            // Not without the lock: what another process is writing could be mixed up with it.
            accesses.withLock { if $0.coming === saved { $0.coming = nil } }
            report(error)
        }
        access.end()
        saved.complete(.success(()))
    }

    private func saveNow(
        _ live: LiveSession, under lock: SessionLock, _ report: @Sendable (TokenPersistenceError) -> Void
    ) async {
        // First: a change that comes after the session has been read needs another save.
        accesses.withLock { $0.coming = nil }
        let session = live.current
        if let loss = lock.loss { return report(loss) }
        do throws(TokenPersistenceError) {
            try await save(session)
            // Reentrancy: if another user has signed in since, the state ignores it.
            live.noteSaved(session)
        } catch {
            report(error)
            // The saved session is still that of another user, who must not be signed in by the next start. If it
            // cannot be removed either, the failure to save has been reported already.
            if session != nil { try? await save(nil) }
        }
    }
}
