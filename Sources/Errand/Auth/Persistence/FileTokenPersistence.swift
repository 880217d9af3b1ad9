#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Saves the session in a file that only its owner can read, and that several processes may share.
///
/// The file has mode 0600. A missing folder is created with mode 0700; an existing one is used as it is. Writing is
/// atomic: the session is written to a new file beside the old one, which is synced and then replaces it. Symbolic
/// links are refused. A damaged file, one of a later version, or one larger than 1 MiB is reported and moved aside
/// under a name that ends in `.damaged`; it replaces an earlier file with that name. A file that belongs to another
/// user, or that others may read or write, is not used. Nor is one whose token is bound to a key
/// (``OAuth/bindingTokens(to:)``) while the process lacks the library that signs; the file stays as it is.
///
/// While one process refreshes the token, others that share the file wait for a lock on it and on a file beside it; the
/// lock ends with the process that holds it. A process that hangs with the lock blocks the others for ten seconds by
/// default. Then they continue with their token while it is valid, and a refresh fails with
/// ``TransportFailure/Kind-swift.enum/storage``.
///
/// A store that uses the file learns at once what another process does to it: a new token is used, and a sign-out or
/// another user's sign-in ends the session here, too. See ``changes()``.
///
/// A disk that hangs keeps no task from running: calls that need no new token continue, and the others end at their
/// deadline. A refreshed token is saved before calls use it. If saving takes longer than the `refreshTimeout` of the
/// ``TokenStore``, calls use the unsaved token, and ``TokenStore/events`` reports ``TokenEvent/notSaved(_:)``. Until
/// the disk responds, no further refresh can begin, and calls that need one fail with `.timedOut`.
public struct FileTokenPersistence: TokenPersistence {
    private static let version = 1

    private struct Document: Codable {
        var version: Int
        var session: SavedSession
    }

    private struct Header: Codable {
        var version: Int
    }

    private let file: PrivateFile

    private let lockTimeout: Duration

    /// Creates a persistence for the file at that path. An existing folder is used as it is.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - lockTimeout: How long to wait for another process that has locked the file and does not change it, 10
    ///     seconds by default. It should be longer than a refresh takes.
    public init(path: String, lockTimeout: Duration = .seconds(10)) {
        file = PrivateFile(path: path)
        self.lockTimeout = lockTimeout
    }

    /// Creates a persistence for the file at that file URL.
    public init(url: URL, lockTimeout: Duration = .seconds(10)) {
        self.init(path: url.path, lockTimeout: lockTimeout)
    }

    /// Returns the saved session; `nil` if there is no file. Throws ``TokenPersistenceError/Kind/missingFolder`` if its
    /// folder is missing: then it is not known whether a session was saved.
    /// If the task is canceled while the disk does not respond, it throws an error of the kind
    /// ``TokenPersistenceError/Kind/other``.
    public func load() async throws(TokenPersistenceError) -> SavedSession? {
        try await StorageError.translating(to: TokenPersistenceError.init) { () async throws(StorageError) in
            try await file.onDisk { () throws(StorageError) in try savedSession() }
        }
    }

    private func savedSession() throws(StorageError) -> SavedSession? {
        while let data = try file.read() {
            let (kind, words): (StorageError.Kind, String)
            do {
                let header = try JSONDecoder().decode(Header.self, from: data)
                guard header.version > Self.version else {
                    return try JSONDecoder().decode(Document.self, from: data).session
                }
                (kind, words) = (.futureVersion, "was written by a later version of the program")
            } catch let error as Token.UnusableKey {
                // Another process that shares the file may be able to use it.
                throw file.failure(.unreadable, "has a token that is bound to a key: \(error.reason)")
            } catch {
                (kind, words) = (.damaged, "is damaged")
            }
            // Another process may have signed in since the file was read; what it has saved must not be moved aside.
            if let problem = try file.setAside(kind, words, ifStillHolding: data) { throw problem }
        }
        guard file.hasFolder else { throw file.missingFolder }
        return nil
    }

    /// Saves the session, or removes the file. What has begun is finished, even if the task is canceled: a token that
    /// the server has replaced must not be lost.
    public func save(_ session: SavedSession?) async throws(TokenPersistenceError) {
        _ = try await write(session) { () throws(StorageError) in true }
    }

    /// Saves the session, or removes the file, if the file still holds that version of a session. It is read and
    /// written while no other file of the folder is, but other processes are kept out only by the lock.
    public func replace(
        _ version: SavedSession.Version, with session: SavedSession?
    ) async throws(TokenPersistenceError) -> Bool {
        try await write(session) { () throws(StorageError) in try savedSession()?.version == version }
    }

    private func write(
        _ session: SavedSession?, if isExpected: @escaping @Sendable () throws(StorageError) -> Bool
    ) async throws(TokenPersistenceError) -> Bool {
        let data: Data?
        do {
            data = try session.map { try JSONEncoder().encode(Document(version: Self.version, session: $0)) }
        } catch {
            throw TokenPersistenceError(.other, "the session cannot be encoded")
        }
        return try await StorageError.translating(to: TokenPersistenceError.init) { () async throws(StorageError) in
            try await DiskThreads.finish(at: file.path) { [file] () throws(StorageError) in
                guard try isExpected() else { return false }
                if let data { try file.write(data) } else { try file.remove() }
                return true
            }
        }
    }

    /// Runs `body` while no other process that uses this file does. Throws, without running it, if the lock cannot be
    /// acquired in time or at all, or if the task is canceled during the wait.
    ///
    /// It runs without a lock in two cases: if the folder is not writable, because no process can save anything there;
    /// and on a file system without locks. Let only one process use a session there: two may refresh at once, and a
    /// server that replaces refresh tokens ends the session then.
    public func exclusively(
        _ body: @Sendable (SessionLock) async -> Void
    ) async throws(TokenPersistenceError) {
        try await file.exclusively(within: lockTimeout, body)
    }

    /// Returns a stream with an element for each time that the file was replaced or removed, by any process of this
    /// machine.
    ///
    /// All streams of a process share one thread, which waits for the system. On a file system that several machines
    /// share, changes by the others are not seen; a store finds them at its next refresh. So it does on systems other
    /// than Linux and Apple's, when a user has used up what Linux provides for watches, and in the virtual time of a
    /// test.
    public func changes() -> AsyncStream<Void>? {
        // Virtual time would go on before a change arrives.
        guard !VirtualTime.isUnderWay else { return nil }
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let watch = FileWatch(of: file.path) { continuation.yield() }
        continuation.onTermination = { _ in watch.end() }
        return stream
    }
}

extension PrivateFile {
    /// Runs `body` while no other process has the lock beside the file.
    func exclusively(
        within timeout: Duration, _ body: @Sendable (SessionLock) async -> Void
    ) async throws(TokenPersistenceError) {
        let lock = try await StorageError.translating(to: TokenPersistenceError.init) { () async throws(StorageError) in
            try await FileLock.acquire(beside: self, within: timeout)
        }
        // The system takes no lock away from a process that runs.
        await body(SessionLock())
        await lock?.release()
    }
}

extension TokenPersistence where Self == FileTokenPersistence {
    /// Saves the session in a file that only its owner can read.
    ///
    /// `lockTimeout`, 10 seconds by default, limits the wait for another process that has locked the file.
    public static func file(_ path: String, lockTimeout: Duration = .seconds(10)) -> FileTokenPersistence {
        FileTokenPersistence(path: path, lockTimeout: lockTimeout)
    }
}
