/// Keeps the session of a store and the saved one the same: loads it before its first use, saves each change of this
/// process, and finds those of others (T20).
///
/// A load and a save run in tasks that no caller owns, and keep the store until they are over: a session is saved, or
/// removed, even if the task that signs in or out is canceled.
final class SessionSync: Sendable {
    private struct State {
        /// The load under way.
        var loading: Promise<Void, ServiceError>?
        /// The save that waits for its access: it will save what the session is then.
        var coming: Latch?
        /// Listens to changes of the saved session elsewhere. It does not keep the store.
        var listener: Task<Void, Never>?
    }

    private let live: LiveSession
    private let storage: SessionStorage
    /// Whether the store obtains its tokens by itself.
    private let obtainsTokens: Bool
    private let time: any TimeSource
    private let state = Lock(State())

    init(of live: LiveSession, with storage: SessionStorage, obtainsTokens: Bool, time: any TimeSource) {
        self.live = live
        self.storage = storage
        self.obtainsTokens = obtainsTokens
        self.time = time
    }

    deinit {
        state.withLock { $0.listener }?.cancel()
    }

    /// The save or the access that has not ended yet, whichever ends last.
    var pending: Latch? { state.withLock { $0.coming } ?? storage.pending }

    // MARK: Loading

    /// Returns the load of the saved session: the one under way, or a new one; `nil` if it is loaded.
    func startLoading(for store: isolated TokenStore) -> Promise<Void, ServiceError>? {
        if live.isLoaded { return nil }
        if let loading = state.withLock({ $0.loading }) { return loading }
        listen(for: store)
        let promise = Promise<Void, ServiceError>()
        state.withLock { $0.loading = promise }
        // The first caller may leave, and the others still receive the result.
        time.startTask { await self.load(completing: promise, for: store) }
        return promise
    }

    private func load(completing promise: Promise<Void, ServiceError>, for store: isolated TokenStore) async {
        let access = await storage.beginAccess()
        let finding: FirstFinding
        do throws(TokenPersistenceError) {
            finding = FirstFinding(try await storage.load())
        } catch {
            finding = FirstFinding(error, obtainsTokens: obtainsTokens)
        }
        access.end()
        // Reentrancy: if somebody has signed in while it was read, the state ignores what was read.
        state.withLock { $0.loading = nil }
        if finding.isCertain { live.load(finding.session) }
        for event in finding.events { store.send(event) }
        promise.complete(finding.error.map { .failure($0) } ?? .success(()))
    }

    // MARK: Saving a change

    /// Returns the save that will write what the session is when it begins, so that the last of several changes is
    /// saved. It is over, and what went wrong is reported, when the latch opens.
    func saveCurrent(of store: TokenStore) -> Latch {
        let mine = Latch()
        let coming = state.withLock { state in
            if state.coming == nil { state.coming = mine }
            return state.coming ?? mine
        }
        guard coming === mine else { return coming }
        time.startTask { await self.saveInOrder(opening: mine, of: store) }
        return mine
    }

    private func saveInOrder(opening saved: Latch, of store: TokenStore) async {
        let access = await storage.beginAccess()
        do throws(TokenPersistenceError) {
            try await storage.exclusively { await self.saveNow(of: store, under: $0) }
        } catch {
            // Not without the lock: what another process is writing could be mixed up with it.
            state.withLock { if $0.coming === saved { $0.coming = nil } }
            store.report(error)
        }
        access.end()
        saved.open()
    }

    private func saveNow(of store: TokenStore, under lock: SessionLock) async {
        // First: a change that comes after the session has been read needs another save.
        state.withLock { $0.coming = nil }
        let session = live.current
        if let loss = lock.loss { return store.report(loss) }
        do throws(TokenPersistenceError) {
            try await storage.save(session)
            // Reentrancy: if another user has signed in since, the state ignores it.
            live.noteSaved(session)
        } catch {
            store.report(error)
            // The saved session is still that of another user, who must not be signed in by the next start. If it
            // cannot be removed either, the failure to save has been reported already.
            if session != nil { try? await storage.save(nil) }
        }
    }

    // MARK: Changes elsewhere

    /// Begins to listen to changes of the saved session elsewhere, before it is used for the first time (T20).
    func listen(for store: isolated TokenStore) {
        guard state.withLock({ $0.listener == nil }), let changes = storage.changes() else { return }
        let listener = time.startTask { [weak store, storage] in
            for await _ in changes {
                // In order: what this process is saving must not be taken for another's change.
                let access = await storage.beginAccess()
                await store?.lookAgain()
                access.end()
            }
        }
        state.withLock { $0.listener = listener }
    }

    /// Compares the session with what is saved, for the task that has the access.
    func lookAgain(for store: isolated TokenStore) async {
        guard live.isLoaded else { return }
        do throws(TokenPersistenceError) {
            let saved = try await storage.load()
            // Reentrancy: a sign-in or a sign-out that came while it was read is still to be saved, so the state
            // ignores what was read.
            let date = time.date
            store.change { $0.learn(saved, at: date) }
        } catch {
            store.change { $0.failLearning(error) }
        }
    }
}
