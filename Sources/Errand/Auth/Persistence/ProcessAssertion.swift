extension TokenPersistence {
    /// Returns a persistence that keeps the process running while a token is refreshed or a session is saved.
    ///
    /// The system may suspend an app in the middle of a refresh. By then the server may have replaced the refresh
    /// token, and the app has not saved the new one; iOS ends an app that it suspends while the app has locked a file
    /// in the container of an app group. `begin` asks the system for time and returns a closure that gives it back.
    /// `BackgroundTime` stands for your code around `beginBackgroundTask`; the article on Apple's platforms has it:
    ///
    ///     persistence.keepingProcessAlive {
    ///         let time = await BackgroundTime("token")
    ///         return { await time.end() }
    ///     }
    ///
    /// `begin` runs before each refresh and each save, and its result runs after them, also if they fail.
    public func keepingProcessAlive(
        _ begin: @escaping @Sendable () async -> @Sendable () async -> Void
    ) -> some TokenPersistence {
        AssertingPersistence(base: self, begin: begin)
    }
}

/// A persistence that holds something of the system's while it has the session to itself.
private struct AssertingPersistence<Base: TokenPersistence>: TokenPersistence {
    let base: Base
    let begin: @Sendable () async -> @Sendable () async -> Void

    func load() async throws -> SavedSession? { try await base.load() }

    func save(_ session: SavedSession?) async throws { try await base.save(session) }

    func replace(_ version: SavedSession.Version, with session: SavedSession?) async throws -> Bool {
        try await base.replace(version, with: session)
    }

    func changes() -> AsyncStream<Void>? { base.changes() }

    var outlivesProcess: Bool { base.outlivesProcess }

    // Refreshes and saves all run in here. It begins before the lock is acquired, because a process must not be
    // suspended with it.
    func exclusively(_ body: @Sendable (SessionLock) async -> Void) async throws {
        let end = await begin()
        do {
            try await base.exclusively(body)
        } catch {
            await end()
            throw error
        }
        await end()
    }
}
