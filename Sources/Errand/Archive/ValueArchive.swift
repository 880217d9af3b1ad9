#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A value that is kept in a file between two runs of a program.
///
///     let archive = ValueArchive<[User]>(path: "/var/lib/app/friends")
///     try await archive.save(friends)
///     let saved = try await archive.load() ?? []
///
/// The file has mode 0600 and lies in a folder of mode 0700, which is made if it is missing. It is written whole or not
/// at all: whatever happens meanwhile, it holds the old value or the new one. Those who write wait for each other, in
/// this process and in others that share the file. Symbolic links are refused. A file that cannot be read as a value is
/// reported and kept aside under a name that ends in `.damaged`, so that the next `save` does not destroy it.
///
/// Raise the version when the model has changed so that older files cannot be decoded as the new one, and say how an
/// older one is read:
///
///     let archive = ValueArchive<Account>(path: path, version: 2) { old, version in
///         Account(try OldAccount(from: old))
///     }
public struct ValueArchive<Model: Codable & Sendable>: Sendable {
    /// Reads a value that an older version of the program has saved: its decoder, and the version.
    public typealias Migration = @Sendable (_ old: any Decoder, _ version: Int) throws -> Model

    private let file: PrivateFile
    private let version: Int
    private let lockTimeout: Duration
    private let migrate: Migration?

    /// Makes an archive in the file at that path; it touches nothing yet.
    ///
    /// - Parameters:
    ///   - path: Where the file is. An existing folder is used as it is.
    ///   - version: The version of the model.
    ///   - lockTimeout: How long to wait for somebody who has locked the file and does not change it. After that they
    ///     are taken to hang.
    ///   - migrate: Reads a model of an older version. What it returns is saved by the next `save`, not before.
    public init(
        path: String, version: Int = 1, lockTimeout: Duration = .seconds(10), migrate: Migration? = nil
    ) {
        file = PrivateFile(path: path, content: "the archive", largest: ArchiveFile.largest)
        self.version = version
        self.lockTimeout = lockTimeout
        self.migrate = migrate
    }

    /// Saves the value in the place of the one before. When it returns, the value is on the disk.
    ///
    /// A task that is cancelled while another writes gives up; one that has begun to write ends it.
    @concurrent
    public func save(_ model: Model) async throws(ArchiveError) {
        let data: Data
        do {
            data = try JSONEncoder().encode(ArchiveFile.Saved(version: version, model: model))
        } catch {
            throw ArchiveError(.unencodable, "a \(Model.self) cannot be encoded: \(foreignName(of: error))")
        }
        // It could never be loaded again.
        guard data.count <= ArchiveFile.largest else {
            throw ArchiveError(.unencodable, "a \(Model.self) of \(data.count) bytes is too large for an archive")
        }
        try await alone { () throws(ArchiveError) in
            try ArchiveError.translating { () throws(StorageError) in try file.write(data) }
        }
    }

    /// The value that was saved last; `nil` if there is none.
    @concurrent
    public func load() async throws(ArchiveError) -> Model? {
        // A mere look needs no turn: what is saved is replaced as a whole.
        // What is wrong with it is told below.
        if case .success(let model)? = try? content(isAlone: false) { return model }
        return try await alone { () throws(ArchiveError) in
            // By now it may have been mended: what is put out of the way must be what was looked at.
            switch try content(isAlone: true) {
            case .success(let model): return model
            case .failure(let problem):
                throw ArchiveError(problem.kind, file.setAside(.damaged, problem.words).message)
            }
        }
    }

    /// Removes the file, if there is one. What was kept aside stays.
    @concurrent
    public func remove() async throws(ArchiveError) {
        try await alone { () throws(ArchiveError) in
            try ArchiveError.translating { () throws(StorageError) in try file.remove() }
        }
    }

    /// What is in the file, or what is wrong with it; fails if it cannot be read at all.
    private func content(isAlone: Bool) throws(ArchiveError) -> Result<Model?, ArchiveFile.Problem> {
        let data = try ArchiveError.translating { () throws(StorageError) in try file.read(isAlone: isAlone) }
        guard let data else { return .success(nil) }
        return ArchiveFile.read(data, version: version, migrate: migrate).map(Optional.some)
    }

    /// Runs `body` while nobody else writes or removes the file. Where nobody can write, or the file system
    /// has no locks, it runs without one.
    private func alone<Value>(_ body: () throws(ArchiveError) -> Value) async throws(ArchiveError) -> Value {
        let lock: FileLock?
        do throws(StorageError) {
            lock = try await FileLock.acquire(beside: file, within: lockTimeout)
        } catch {
            if error.kind == .locked, Task.isCancelled {
                throw ArchiveError(.cancelled, "the archive \(file.path) was left alone: the task was cancelled")
            }
            throw ArchiveError(ArchiveError.Kind(rawValue: error.kind.rawValue) ?? .unwritable, error.message)
        }
        defer { lock?.release() }
        return try body()
    }
}
