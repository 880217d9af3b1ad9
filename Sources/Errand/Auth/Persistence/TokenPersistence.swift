/// A type that keeps a session between two runs of a program.
///
/// Two methods are enough for a session that belongs to one process: ``load()`` and ``save(_:)``. A session that
/// several processes or machines share needs a lock, ``exclusively(_:)``, so that only one of them refreshes the token.
/// If the lock can be lost while it is held, as a lease can, ``replace(_:with:)`` has to be atomic. With ``changes()``,
/// a session that was changed elsewhere is used at once.
///
/// The token store calls it from one task at a time. The store reports errors on its `events`; the session continues in
/// memory.
public protocol TokenPersistence: Sendable {
    /// Returns the saved session; `nil` if there is none. If a session was saved and there is none now, the store
    /// assumes that another process has signed out. Throws if that cannot be known, with
    /// ``TokenPersistenceError/Kind/missingFolder`` if the place for sessions is missing altogether: in a new store,
    /// no user is signed in then.
    func load() async throws -> SavedSession?
    /// Saves the session, or removes the saved one, whatever is saved: the user has signed in or out. When this
    /// returns, the change is permanent; otherwise it must throw.
    func save(_ session: SavedSession?) async throws
    /// Saves the session, or removes the saved one, if what is saved is still that version of a session. Otherwise
    /// returns `false` and changes nothing: the store then loads what another process has saved, and uses that. When
    /// this returns `true`, the change is permanent.
    ///
    /// By default it loads, compares and saves, one after the other. That is enough under a lock that cannot be lost.
    func replace(_ version: SavedSession.Version, with session: SavedSession?) async throws -> Bool
    /// Runs `body` while no other process does, or throws without running it: then nothing is saved, and a saved
    /// session is not refreshed. Returning without running it counts as throwing. Must not wait without limit for a
    /// process that hangs. If sessions are not shared between processes, it has nothing to do.
    ///
    /// `body` is passed the lock. If the lock is lost while `body` runs, report it with ``SessionLock/lose(_:)``, and
    /// let `body` end.
    func exclusively(_ body: @Sendable (SessionLock) async -> Void) async throws
    /// Returns a stream with an element for each time that the saved session may have changed elsewhere; `nil`, the
    /// default, if that cannot be known. The store then loads the session and compares it with its own, so an element
    /// too many does no harm, and elements that come together can be one.
    ///
    /// The store calls this once, before it loads the session, and drops the stream when it is released itself.
    func changes() -> AsyncStream<Void>?
    /// A Boolean value that indicates whether a saved session is still there in the next process; `true` by default.
    ///
    /// The next process cannot remove what belongs to a session that it does not know. So if this is `false`, an
    /// ``HTTPCache`` on a disk keeps the responses of the session in memory, and a ``CookieJar`` with a file does so
    /// with its cookies.
    var outlivesProcess: Bool { get }
}

extension TokenPersistence {
    /// Loads the saved session, and saves the new one if the saved one is still that version.
    public func replace(_ version: SavedSession.Version, with session: SavedSession?) async throws -> Bool {
        guard try await load()?.version == version else { return false }
        try await save(session)
        return true
    }

    /// Runs `body` at once, because the session is not shared between processes.
    public func exclusively(_ body: @Sendable (SessionLock) async -> Void) async {
        await body(SessionLock())
    }

    /// Returns `nil`: it is not known when the saved session changes elsewhere.
    public func changes() -> AsyncStream<Void>? { nil }

    /// `true`: the next process finds the saved session.
    public var outlivesProcess: Bool { true }
}

/// Keeps the session in memory. The session ends with the process.
public final class MemoryTokenPersistence: TokenPersistence {
    private let saved = Lock<SavedSession?>(nil)

    /// Creates an empty persistence.
    public init() {}

    /// Returns the session that was saved last.
    public func load() -> SavedSession? { saved.withLock { $0 } }
    /// Keeps the session in memory.
    public func save(_ session: SavedSession?) { saved.withLock { $0 = session } }
    /// Keeps the session in memory if the one that is kept is still that version.
    public func replace(_ version: SavedSession.Version, with session: SavedSession?) async -> Bool {
        saved.withLock { saved in
            guard saved?.version == version else { return false }
            saved = session
            return true
        }
    }
    /// `false`: the next process finds no session.
    public var outlivesProcess: Bool { false }
}

extension TokenPersistence where Self == MemoryTokenPersistence {
    /// Keeps the session in memory. The session ends with the process.
    public static var memory: MemoryTokenPersistence { MemoryTokenPersistence() }
}

/// The reason why a session could not be saved or loaded.
public struct TokenPersistenceError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong.
    @nonexhaustive public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The file or its folder cannot be read, or its token is bound to a key and the process lacks the library that
        /// signs. The file was left as it is. Or the response of a store that several machines share cannot be read.
        case unreadable
        /// The file or its folder cannot be written.
        case unwritable
        /// The saved content is not a session. A file was moved aside; an item of the Keychain is replaced at the next
        /// sign-in.
        case damaged
        /// A later version wrote the content; it was moved aside.
        case futureVersion
        /// The path leads to a symbolic link; it was not followed.
        case symbolicLink
        /// The path leads to a folder, or to something else that is not a file.
        case notAFile
        /// The file belongs to another user, or others may read or write it; it was not used and not changed.
        case notPrivate
        /// The folder of the file is missing.
        case missingFolder
        /// Another process held the lock on the file for too long.
        case locked
        /// The lock was lost while it was used, so another process may be using the session.
        case lockLost
        /// Other processes have changed what is saved again and again.
        case conflict
        /// A store that several machines share did not respond, or could not be reached. What was to be saved may have
        /// been saved.
        case unreachable
        /// What is saved was encrypted with a key that this process does not have. It was left as it is.
        case unknownKey
        /// What is saved was changed, or moved to another name, by somebody without the key. It was left as it is.
        case notAuthentic
        /// What is saved is older than what this process has seen, such as a backup that was put back. It was left as
        /// it is.
        case outdated
        /// The Keychain cannot be used until the user unlocks the device.
        case deviceLocked
        /// The program lacks the entitlement for the Keychain, or for the access group.
        case missingEntitlement
        /// The Keychain, or your own persistence, failed.
        case other
    }

    /// What is wrong.
    public let kind: Kind
    /// A sentence that describes the problem.
    public let message: String

    /// Creates an error.
    public init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    init(_ error: any Error) {
        self =
            error as? TokenPersistenceError ?? TokenPersistenceError(.other, String(reflecting: Swift.type(of: error)))
    }

    /// Whether the content that could not be read was moved aside, so that nothing is saved now.
    var isKeptAside: Bool { kind == .damaged || kind == .futureVersion }

    /// The message.
    public var description: String { message }
}

extension TokenPersistenceError {
    init(_ error: StorageError) {
        let kind: Kind =
            switch error.kind {
            case .unreadable: .unreadable
            case .unwritable: .unwritable
            case .damaged: .damaged
            case .futureVersion: .futureVersion
            case .symbolicLink: .symbolicLink
            case .notAFile: .notAFile
            case .notPrivate: .notPrivate
            case .missingFolder: .missingFolder
            case .locked: .locked
            case .cancelled: .other
            }
        self.init(kind, error.message)
    }
}

/// The lock under which a token store uses the saved session.
///
/// A persistence passes one to the body of ``TokenPersistence/exclusively(_:)``. If it loses the lock while the body
/// runs, because a lease was not renewed in time or a connection broke, it calls ``lose(_:)``. The store then sends no
/// refresh token that it has not sent yet, and does not believe the server that a session is over: another process may
/// have just used the refresh token. A token that it has already asked for is still saved, with
/// ``TokenPersistence/replace(_:with:)``. If the lock has an end, a refresh that is under way then is canceled, and
/// fails with a temporary error. None of this holds for a session that is saved nowhere: no other process knows its
/// refresh token.
public final class SessionLock: Sendable {
    private let lost = Lock<TokenPersistenceError?>(nil)
    /// When the lock ends, on which clock; `nil` if it has no end.
    let end: (instant: Instant, time: any TimeSource)?

    /// Creates a lock that is held.
    public init() {
        end = nil
    }

    /// Creates a lock that is held until an instant. A process that is stopped until then, and continues, finds it lost
    /// with the next look.
    public init(until instant: Instant, time: any TimeSource = .system) {
        end = (instant, time)
    }

    /// Why the lock was lost; `nil` while it is held.
    public var loss: TokenPersistenceError? {
        if let end, end.time.now >= end.instant { lose("the lock on the saved session was held until its end") }
        return lost.withLock { $0 }
    }

    /// Notes that the lock was lost. Call it before another process can acquire the lock, if that can be known. Only
    /// the first call counts.
    public func lose(_ reason: String) {
        lost.withLock { $0 = $0 ?? TokenPersistenceError(.lockLost, reason) }
    }

    /// Calls `action` at the end of the lock, unless the alarm is canceled before. Returns `nil` if there is no end.
    func atEnd(_ action: @escaping @Sendable () -> Void) -> Alarm? {
        end.map { $0.time.schedule(at: $0.instant, for: .watch("the end of a lock on a session"), action) }
    }
}
