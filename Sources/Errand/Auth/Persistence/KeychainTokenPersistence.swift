#if canImport(Security)
/// Saves the session in the Keychain of Apple's platforms.
///
/// A Keychain that is slow, or asks the user first, keeps no other task waiting. If the task is canceled,
/// the session is saved all the same.
///
/// On macOS a session without an access group is saved in the Keychain that programs without entitlements can use, too;
/// it knows no accessibility. A session with one is saved, as on the other platforms, in the data protection Keychain.
///
/// Several processes, such as an app and its extensions, can share a session: give each the same access group, and a
/// lock file in the container of their app group. Otherwise two of them may refresh the token at once, and a server
/// that replaces refresh tokens ends the session then.
public struct KeychainTokenPersistence: TokenPersistence {
    private let session: KeychainSession

    /// Creates a persistence for that service and account.
    ///
    /// - Parameters:
    ///   - service: The name of the service.
    ///   - account: The name of the account, `session` by default.
    ///   - accessGroup: The access group with its prefix, which the program's entitlements have to list; `nil`, the
    ///     program's own, by default.
    ///   - accessibility: When the session can be read. It is changed when the session is saved.
    ///   - sharedLock: The path of a file beside which processes lock each other out while one refreshes the token;
    ///     `nil`, no lock, by default.
    ///   - lockTimeout: How long to wait for another process that has the lock, 10 seconds by default.
    public init(
        service: String, account: String = "session", accessGroup: String? = nil,
        accessibility: KeychainAccessibility = .afterFirstUnlockThisDeviceOnly, sharedLock: String? = nil,
        lockTimeout: Duration = .seconds(10)
    ) {
        session = KeychainSession(
            keychain: SystemKeychain(),
            item: KeychainItem(
                service: service, account: account, accessGroup: accessGroup, accessibility: accessibility),
            shared: sharedLock.map { PrivateFile(path: $0) }, lockTimeout: lockTimeout)
    }

    /// Returns the saved session; `nil` if there is none.
    public func load() async throws(TokenPersistenceError) -> SavedSession? {
        try await session.load()
    }

    /// Saves the session, or removes the saved one.
    public func save(_ session: SavedSession?) async throws(TokenPersistenceError) {
        try await self.session.save(session)
    }

    /// Saves the session, or removes the saved one, if that version of a session is saved. Other processes are kept out
    /// only by the lock.
    public func replace(
        _ version: SavedSession.Version, with session: SavedSession?
    ) async throws(TokenPersistenceError) -> Bool {
        try await self.session.replace(version, with: session)
    }

    /// Runs `body` while no other process that shares the lock does. Throws, without running it, if the lock cannot be
    /// acquired in time.
    public func exclusively(
        _ body: @Sendable (SessionLock) async -> Void
    ) async throws(TokenPersistenceError) {
        try await session.exclusively(body)
    }
}
#endif
