#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Keeps the session in a file that only its owner can read, and that several processes may share.
///
/// The file has mode 0600 and lies in a folder of mode 0700, which is made if it is missing. It is written whole or
/// not at all: to a new file beside it, which is synced and then takes the old one's name. Symbolic links are
/// refused. A damaged file, or one of a later version, is reported and kept aside under a name that ends in
/// `.damaged`. One that belongs to another user, or that others may read or write, is not used.
///
/// While one process refreshes the token, others that share the file wait for a lock on it and on a file beside it; the
/// lock ends with the process that holds it. A process that hangs meanwhile holds up the others for ten seconds, unless
/// told otherwise. Then they go on with the token they have while it is good, and a refresh fails with
/// ``TransportFailure/Kind-swift.enum/storage``.
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

    /// Keeps the session at that path. An existing folder is used as it is.
    ///
    /// - Parameters:
    ///   - path: Where the file is.
    ///   - lockTimeout: How long to wait for another process that has locked the file and does not change it. It should
    ///     be longer than a refresh takes.
    public init(path: String, lockTimeout: Duration = .seconds(10)) {
        file = PrivateFile(path: path)
        self.lockTimeout = lockTimeout
    }

    /// Keeps the session at that file URL.
    public init(url: URL, lockTimeout: Duration = .seconds(10)) {
        self.init(path: url.path, lockTimeout: lockTimeout)
    }

    /// The saved session; `nil` if there is no file. Throws ``TokenPersistenceError/Kind/missingFolder`` if there is no
    /// folder for it: a folder that is missing for a moment means nothing about the file.
    public func load() throws(TokenPersistenceError) -> SavedSession? {
        try translating { () throws(StorageError) in try savedSession() }
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
            } catch {
                (kind, words) = (.damaged, "is damaged")
            }
            // Another process may have signed in since it was read: what it has saved must not be put out of the way.
            if let problem = try file.setAside(kind, words, ifStillHolding: data) { throw problem }
        }
        guard file.hasFolder else { throw file.missingFolder }
        return nil
    }

    /// Writes the session, or removes the file.
    public func save(_ session: SavedSession?) throws(TokenPersistenceError) {
        guard let session else { return try translating { () throws(StorageError) in try file.remove() } }
        let data: Data
        do {
            data = try JSONEncoder().encode(Document(version: Self.version, session: session))
        } catch {
            throw TokenPersistenceError(.other, "the session cannot be encoded")
        }
        try translating { () throws(StorageError) in try file.write(data) }
    }

    /// Runs `body` while no other process that uses this file does. Throws, without running it, if the lock cannot be
    /// had in time or at all, or the task is cancelled meanwhile.
    ///
    /// It runs without a lock in two cases: where the folder cannot be written, because no process can save anything
    /// there; and on a file system that has no locks. Let only one process use a session there: two may refresh at
    /// once, and a server that replaces refresh tokens ends the session then.
    public func exclusively(_ body: @Sendable () async -> Void) async throws(TokenPersistenceError) {
        let lock: FileLock?
        do throws(StorageError) {
            lock = try await FileLock.acquire(beside: file, within: lockTimeout)
        } catch {
            throw TokenPersistenceError(error)
        }
        await body()
        lock?.release()
    }

    private func translating<Value>(_ body: () throws(StorageError) -> Value) throws(TokenPersistenceError) -> Value {
        do throws(StorageError) {
            return try body()
        } catch {
            throw TokenPersistenceError(error)
        }
    }
}

extension TokenPersistence where Self == FileTokenPersistence {
    /// In a file that only its owner can read.
    ///
    /// Another process that has locked the file is waited for as long as `lockTimeout`.
    public static func file(_ path: String, lockTimeout: Duration = .seconds(10)) -> FileTokenPersistence {
        FileTokenPersistence(path: path, lockTimeout: lockTimeout)
    }
}
