import Synchronization

/// The saved session of a store, and its queue of users: at a time one task of this process uses it, and under the
/// lock one process.
///
/// It runs off the actor: file work blocks its thread, and a call that needs the store must not wait for a disk.
final class SessionStorage: Sendable {
    /// The right to use the persistence, until it ends.
    struct Access: Sendable {
        fileprivate let storage: SessionStorage
        fileprivate let latch: Latch

        func end() {
            latch.open()
            storage.last.withLock { if $0 === latch { $0 = nil } }
        }
    }

    /// Whether the session that is saved is still there in the next process.
    let outlivesProcess: Bool
    private let persistence: any TokenPersistence
    private let time: any TimeSource
    /// The last access in the queue: it begins when those before it have ended.
    private let last = Lock<Latch?>(nil)

    init(_ persistence: any TokenPersistence, time: any TimeSource) {
        self.persistence = persistence
        self.time = time
        outlivesProcess = persistence.outlivesProcess
    }

    /// The last access that has not ended yet.
    var pending: Latch? { last.withLock { $0 } }

    /// Waits until no other task in this process is using the persistence. Reading needs nothing more: another process
    /// replaces the saved session atomically.
    func beginAccess() async -> Access {
        let mine = Latch()
        let previous = last.withLock { last in
            defer { last = mine }
            return last
        }
        await previous?.opened()
        return Access(storage: self, latch: mine)
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
        guard time.isVirtual else { return persistence.changes() }
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
            guard time.isVirtual else { return try await body(persistence) }
            // A test's clock does not know the threads for the disk, and would let time pass during the wait.
            return try await VirtualTime.$isUnderWay.withValue(true) { try await body(persistence) }
        } catch {
            throw TokenPersistenceError(error)
        }
    }
}
