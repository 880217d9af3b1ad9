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
/// `.damaged`. While one process refreshes the token, others that share the file wait for a lock on a file beside it;
/// the lock ends with the process that holds it.
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

    /// Keeps the session at that path. An existing folder is used as it is.
    public init(path: String) {
        file = PrivateFile(path: path)
    }

    /// Keeps the session at that file URL.
    public init(url: URL) {
        self.init(path: url.path)
    }

    /// The saved session; `nil` if there is no file.
    public func load() throws(TokenPersistenceError) -> SavedSession? {
        while let data = try file.read() {
            let (kind, words): (TokenPersistenceError.Kind, String)
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
        return nil
    }

    /// Writes the session, or removes the file.
    public func save(_ session: SavedSession?) throws(TokenPersistenceError) {
        guard let session else { return try file.remove() }
        let data: Data
        do {
            data = try JSONEncoder().encode(Document(version: Self.version, session: session))
        } catch {
            throw TokenPersistenceError(.other, "the session cannot be encoded")
        }
        try file.write(data)
    }

    /// Runs `body` while no other process that uses this file does. Where the lock cannot be had, because the folder
    /// cannot be written or the lock's name is taken by something else, it runs without: then two processes may refresh
    /// at once.
    public func exclusively(_ body: @Sendable () async -> Void) async {
        let lock = await FileLock.acquire(beside: file)
        await body()
        lock?.release()
    }
}

extension TokenPersistence where Self == FileTokenPersistence {
    /// In a file that only its owner can read.
    public static func file(_ path: String) -> FileTokenPersistence { FileTokenPersistence(path: path) }
}
