/// Where a session is kept between two runs of a program.
///
/// The token store calls it from one task at a time. What it throws is told on the store's `events`; the session goes
/// on in memory.
public protocol TokenPersistence: Sendable {
    /// The saved session; `nil` if there is none. If one was saved and there is none now, the store takes it that
    /// another process has signed out. Throws if that cannot be known, with
    /// ``TokenPersistenceError/Kind/missingFolder`` where the place for sessions is missing altogether: in a new store
    /// nobody is signed in then.
    func load() async throws -> SavedSession?
    /// Saves the session, or removes what is saved. It must be there for good when this returns, or else throw.
    func save(_ session: SavedSession?) async throws
    /// Runs `body` while no other process does, or throws without running it: then nothing is saved, and a session that
    /// was saved before is not refreshed. Must not wait without bound for a process that hangs. Where sessions are not
    /// shared between processes, there is nothing to do.
    func exclusively(_ body: @Sendable () async -> Void) async throws
}

extension TokenPersistence {
    /// Runs `body` at once: the session is not shared between processes.
    public func exclusively(_ body: @Sendable () async -> Void) async {
        await body()
    }
}

/// Keeps the session in memory: it ends with the process.
public final class MemoryTokenPersistence: TokenPersistence {
    private let saved = Lock<SavedSession?>(nil)

    /// Makes an empty one.
    public init() {}

    /// What was saved last.
    public func load() -> SavedSession? { saved.withLock { $0 } }
    /// Keeps the session in memory.
    public func save(_ session: SavedSession?) { saved.withLock { $0 = session } }
}

extension TokenPersistence where Self == MemoryTokenPersistence {
    /// In memory: the session ends with the process.
    public static var memory: MemoryTokenPersistence { MemoryTokenPersistence() }
}

/// Why a session could not be kept, or read back.
public struct TokenPersistenceError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong.
    @nonexhaustive public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The file or its folder cannot be read.
        case unreadable
        /// The file or its folder cannot be written.
        case unwritable
        /// What is saved is not a session; it was kept aside.
        case damaged
        /// What is saved was written by a later version; it was kept aside.
        case futureVersion
        /// There is a symbolic link where the file should be; it was not followed.
        case symbolicLink
        /// There is a folder, or something else that is not a file, where the file should be.
        case notAFile
        /// The file belongs to another user, or others may read or write it; it was left as it is, and not used.
        case notPrivate
        /// The folder of the file is missing.
        case missingFolder
        /// Another process has held the lock on the file for too long.
        case locked
        /// The Keychain, or a persistence of the user's own, failed.
        case other
    }

    /// What is wrong.
    public let kind: Kind
    /// What it is wrong with, in words.
    public let message: String

    /// Makes one.
    public init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    init(_ error: any Error) {
        self =
            error as? TokenPersistenceError ?? TokenPersistenceError(.other, String(reflecting: Swift.type(of: error)))
    }

    init(_ error: StorageError) {
        self.init(Kind(rawValue: error.kind.rawValue) ?? .other, error.message)
    }

    /// Whether what could not be read is out of the way, so that nothing is saved now.
    var isKeptAside: Bool { kind == .damaged || kind == .futureVersion }

    /// A sentence for people.
    public var description: String { message }
}
