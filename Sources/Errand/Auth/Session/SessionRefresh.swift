/// One refresh of a store: one at a time, whose result is saved before any call sees it, unless that takes too long
/// (`giveUp`).
///
/// Its steps run on the store's actor, so nothing else happens between what a step finds in the state and the
/// transition that relies on it.
///
/// The steps are not inlined: each would be copied into each place that waits for it.
final class SessionRefresh: Sendable {
    /// What the callers wait for.
    private let promise: LiveSession.Refresh
    private let live: LiveSession
    private let storage: SessionStorage
    private let exchange: TokenExchange?
    private let time: any TimeSource
    private let limit: Duration
    /// What the refresh has brought and has not saved yet.
    private let unsaved = Lock<SavedSession?>(nil)
    private let task = Lock<Task<Void, Never>?>(nil)
    private let pausing = Lock(false)

    init(
        _ promise: LiveSession.Refresh, of live: LiveSession, in storage: SessionStorage, by exchange: TokenExchange?,
        within limit: Duration, time: any TimeSource
    ) {
        self.promise = promise
        self.live = live
        self.storage = storage
        self.exchange = exchange
        self.limit = limit
        self.time = time
    }

    /// Whether it waits for the end of the pause after a failure, and has not begun.
    var isPausing: Bool { pausing.withLock { $0 } }

    /// Starts the refresh, at the end of the pause after a failure.
    func start(notBefore instant: Instant, on store: isolated TokenStore) {
        pausing.withLock { $0 = instant > time.now }
        // The store owns the task, not the call that came first: it outlives every waiter, so a rotated token is never
        // lost (T5).
        let work = time.startTask { await self.run(notBefore: instant, on: store) }
        task.withLock { $0 = work }
    }

    /// Cancels the task of the refresh.
    func cancel() {
        task.withLock { $0 }?.cancel()
    }

    private func run(notBefore instant: Instant, on store: isolated TokenStore) async {
        // A canceled pause means that the session is over, which the next step finds out by itself.
        try? await time.sleep(until: instant, for: .sleeper("the pause before a refresh"), in: CallScope())
        pausing.withLock { $0 = false }
        await run(on: store)
    }

    /// Refreshes when no other task, in this process or another, is saving or refreshing.
    @inline(never)
    private func run(on store: isolated TokenStore) async {
        let alarm = time.schedule(at: time.now.advanced(by: limit), for: .watch("the limit of a refresh")) {
            [weak store, executor = time.executor] in
            Task(executorPreference: executor) { if let store { await self.giveUp(on: store) } }
        }
        defer { alarm.cancel() }
        let access = await storage.beginAccess()
        defer { access.end() }
        // Before the lock: its holder may hang, and a token that was saved before can be used without the lock.
        if live.isSaved { await readAgain(isAlone: false, on: store) }
        guard live.session(for: promise) != nil else { return }
        do throws(TokenPersistenceError) {
            try await storage.exclusively { await self.replaceToken(under: $0, on: store) }
        } catch {
            failLocking(error, on: store)
            await replaceToken(under: nil, on: store)
        }
    }

    /// Ends a refresh that has reached its limit, unless it is over (T17). If only saving takes that long, the new
    /// token is used unsaved; otherwise this is a failure in passing, and its closure is left behind.
    @inline(never)
    private func giveUp(on store: isolated TokenStore) {
        guard live.session(for: promise) != nil else { return }
        let (now, random) = (time.now, time.randomFraction())
        if let unsaved = unsaved.withLock({ $0 }) {
            store.report(TokenPersistenceError(.other, "the session could not be saved within \(limit.displayText)"))
            store.change { $0.complete(promise, with: unsaved, at: now) }
        } else {
            let error = ServiceError.timedOut(Timeout(.refresh, limit: limit, phase: .waitingForToken))
            store.change { $0.giveUp(promise, with: error, at: now, random: random) }
        }
    }

    /// Has an exchange end with its lock, if the lock has an end: from then on another process may use the refresh
    /// token (T17). Returns the alarm.
    private func endExchange(with lock: SessionLock?, on store: isolated TokenStore) -> Alarm? {
        guard let lock else { return nil }
        return lock.atEnd { [weak store, executor = time.executor] in
            Task(executorPreference: executor) { if let store { await self.giveUp(lock, on: store) } }
        }
    }

    /// Ends an exchange whose lock has ended, unless it is over.
    @inline(never)
    private func giveUp(_ lock: SessionLock, on store: isolated TokenStore) {
        guard live.session(for: promise) != nil, unsaved.withLock({ $0 }) == nil, let loss = lock.loss else { return }
        let (now, random) = (time.now, time.randomFraction())
        store.change { $0.endLock(loss, of: promise, at: now, random: random) }
    }

    @inline(never)
    private func failLocking(_ error: TokenPersistenceError, on store: isolated TokenStore) {
        let (now, random) = (time.now, time.randomFraction())
        store.change { $0.failLocking(error, by: promise, at: now, random: random) }
    }

    /// Exchanges the token until the refresh is over. Without the lock, nothing is read or written.
    private func replaceToken(under lock: SessionLock?, on store: isolated TokenStore) async {
        var lock = lock
        let hasRead = if lock == nil { false } else { await readAgain(isAlone: true, on: store) }
        // Reentrancy: each round, and each transition, first looks whether the refresh is still under way.
        while let session = sessionToExchange(on: store) {
            guard let exchange else {
                await end(session, because: SessionExpiry(.notRefreshable), under: lock, on: store)
                continue
            }
            if let loss = lock?.loss {
                // Another process may be about to send the refresh token.
                failLocking(loss, on: store)
                lock = nil
                continue
            }
            let alarm = endExchange(with: lock, on: store)
            // A session that is saved nowhere belongs to this process alone, and its exchange outlives the lock. A late
            // token does not keep the store.
            let needed = live.isSaved || !hasRead ? lock : nil
            let outcome = await exchange.newToken(for: session, of: store, under: needed) { [weak store] token in
                await store?.takeLate(token, of: session)
            }
            alarm?.cancel()
            switch outcome {
            case .success(let newer):
                guard let continued = live.session(for: promise)?.continued(with: newer, at: time.date) else {
                    // It came when the refresh was being given up.
                    return store.takeLate(newer, of: session)
                }
                // Before any call sees it (T14). If the session ends during the save, that is saved on its own, after
                // this.
                unsaved.withLock { $0 = continued }
                let isCurrent = if let lock { await save(continued, under: lock, on: store) } else { true }
                unsaved.withLock { $0 = nil }
                // Another process has saved a newer one, which is used, or refreshed in the next round (T15).
                guard isCurrent else {
                    store.change { $0.discard(newer, of: session.id) }
                    continue
                }
                let now = time.now
                store.change { $0.complete(promise, with: continued, at: now) }
            case .failure(let error):
                // The server may have refused this refresh because of the one before, whose result has come since.
                if exchange.hasLate(for: session) { continue }
                guard !exchange.obtainsTokens, let expiry = end(because: error) else {
                    let (now, random) = (time.now, time.randomFraction())
                    store.change { $0.fail(promise, with: error, at: now, random: random) }
                    continue
                }
                // A process that ran without the lock may have used the refresh token and saved the result (T15).
                if lock != nil { await readAgain(isAlone: true, on: store) }
                if let loss = lock?.loss, live.isSaved {
                    // Or is about to save it: the server has not refused the session.
                    failLocking(loss, on: store)
                    continue
                }
                await end(session, because: expiry, under: lock, on: store)
            }
        }
    }

    /// Returns why the session is over, if that error of a refresh says so.
    private func end(because error: ServiceError) -> SessionExpiry? {
        if let expiry = error.endOfSession { return expiry }
        guard error.isMuteRefusal, live.isRefusedWithoutWords else { return nil }
        return SessionExpiry(.refreshRefused, message: "it was refused three times without a reason", status: 400)
    }

    /// Returns the session whose token is to be exchanged, unless the cap forbids it (T3).
    @inline(never)
    private func sessionToExchange(on store: isolated TokenStore) -> SavedSession? {
        let now = time.now
        store.change { $0.checkCap(of: promise, at: now) }
        return live.session(for: promise)
    }

    @inline(never)
    private func end(
        _ session: SavedSession, because expiry: SessionExpiry, under lock: SessionLock?, on store: isolated TokenStore
    ) async {
        let saved = live.savedVersion
        let mustSave = store.change { $0.end(promise, ofRevision: session.revision, because: expiry) }
        guard mustSave, let lock else { return }
        // Reentrancy: if a user signs in during the save, that is saved on its own, after this.
        do throws(TokenPersistenceError) {
            guard let saved else {
                // Only under the lock: there is nothing to compare it with.
                if let loss = lock.loss { throw loss }
                try await storage.save(nil)
                return live.noteSaved(nil)
            }
            let isRemoved = try await storage.replace(saved, with: nil)
            live.noteSaved(nil)
            // Another process has saved a newer revision, or signed in, since it was looked at.
            if !isRemoved { await store.lookAgain() }
        } catch {
            store.report(error)
        }
    }

    /// Saves the new token, unless another process has changed what is saved: then that is found (T15). Returns whether
    /// the token is current all the same. One that cannot be saved is.
    @inline(never)
    private func save(
        _ session: SavedSession, under lock: SessionLock, on store: isolated TokenStore
    ) async -> Bool {
        // A process that has lost the lock may find another's change, and then one more.
        let attempts = 3
        do throws(TokenPersistenceError) {
            for _ in 0..<attempts {
                guard let saved = live.savedVersion else {
                    // Only under the lock: there is nothing to compare it with.
                    if let loss = lock.loss { throw loss }
                    try await storage.save(session)
                    // Reentrancy: if another user has signed in since, the state ignores it.
                    live.noteSaved(session)
                    return true
                }
                if try await storage.replace(saved, with: session) {
                    live.noteSaved(session)
                    return true
                }
                let (found, date) = (try await storage.load(), time.date)
                store.change { $0.find(found, by: promise, at: date) }
                // An older revision, put back from a backup, is replaced in the next attempt.
                guard let current = live.session(for: promise), current.revision < session.revision else {
                    return false
                }
            }
            throw TokenPersistenceError(.conflict, "the saved session was changed \(attempts) times during the refresh")
        } catch {
            store.report(error)
            return true
        }
    }

    /// Reads what another process may have saved. Returns whether it could be read.
    @discardableResult
    @inline(never)
    private func readAgain(isAlone: Bool, on store: isolated TokenStore) async -> Bool {
        guard live.session(for: promise) != nil else { return false }
        do throws(TokenPersistenceError) {
            let saved = try await storage.load()
            // Reentrancy: if the session has ended while the file was read, the state ignores what was read.
            let date = time.date
            store.change { $0.find(saved, by: promise, at: date) }
            return true
        } catch {
            let (now, random) = (time.now, time.randomFraction())
            store.change { $0.failReading(error, by: promise, isAlone: isAlone, at: now, random: random) }
            return false
        }
    }
}
