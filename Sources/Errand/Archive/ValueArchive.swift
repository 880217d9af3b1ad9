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
/// The file has mode 0600. A missing folder is created with mode 0700; an existing one is used as it is. Writing is
/// atomic: whatever happens during a write, the file holds the old value or the new one. Writers wait for each other,
/// in this process and in others that share the file, unless the file system has no locks. Symbolic links are refused.
/// A file that cannot be read as a value is reported and moved aside under a name that ends in `.damaged`, so that the
/// next `save` does not destroy it; it replaces an earlier file with that name. A value may take up to 64 MiB.
///
/// Raise the version when the model has changed so that older files cannot be decoded as the new one, and pass a
/// closure that reads an older one:
///
///     let archive = ValueArchive<Account>(path: path, version: 2) { old, version in
///         Account(try OldAccount(from: old))
///     }
public struct ValueArchive<Model: Codable & Sendable>: Sendable {
    /// A closure that reads a value of an older version of the program, from its decoder and its version.
    public typealias Migration = @Sendable (_ old: any Decoder, _ version: Int) throws -> Model

    private let file: PrivateFile
    private let version: Int
    private let lockTimeout: Duration
    private let migrate: Migration?

    /// Creates an archive for the file at that path. It touches no file yet.
    ///
    /// - Parameters:
    ///   - path: The path of the file. An existing folder is used as it is.
    ///   - version: The version of the model, 1 by default.
    ///   - lockTimeout: How long to wait for another writer that has locked the file and does not change it, 10 seconds
    ///     by default. After that the call fails with `.locked`.
    ///   - migrate: Reads a model of an older version. What it returns is saved by the next `save`, not before.
    public init(
        path: String, version: Int = 1, lockTimeout: Duration = .seconds(10), migrate: Migration? = nil
    ) {
        file = PrivateFile(path: path, content: "the archive", largest: ArchiveFile.largest)
        self.version = version
        self.lockTimeout = lockTimeout
        self.migrate = migrate
    }

    /// Saves the value in place of the previous one. When it returns, the value is on the disk.
    ///
    /// If the task is canceled while it waits for another writer, `save` throws `.cancelled`; a write that has begun
    /// is completed. If the disk does not respond, a canceled `save` returns after a second or two, also with
    /// `.cancelled`.
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
        try await alone { [file] () throws(StorageError) in try file.write(data) }
    }

    /// Returns the value that was saved last; `nil` if there is none.
    @concurrent
    public func load() async throws(ArchiveError) -> Model? {
        // Reading needs no lock, because writes are atomic. The code below reports what is wrong with the file, if
        // anything is.
        do throws(ArchiveError) {
            let data = try await onDisk { [file] () throws(StorageError) in try file.read(isAlone: false) }
            guard let data else { return nil }
            if case .success(let model) = ArchiveFile.read(data, version: version, migrate: migrate) { return model }
        } catch {
            // What is wrong remains so, or another writer replaces the file.
        }
        // Another writer may have replaced the file by now: only a file that was read under the lock is moved aside.
        let lock = try await lock()
        do throws(ArchiveError) {
            let model = try await loadAlone()
            await lock?.release()
            return model
        } catch {
            await lock?.release()
            throw error
        }
    }

    private func loadAlone() async throws(ArchiveError) -> Model? {
        let data = try await onDisk { [file] () throws(StorageError) in try file.read() }
        guard let data else { return nil }
        // Not on a thread for the disk: models may be deep, and migrations slow.
        switch ArchiveFile.read(data, version: version, migrate: migrate) {
        case .success(let model): return model
        case .failure(let problem):
            let aside = try await onDisk { [file] () throws(StorageError) in file.setAside(.damaged, problem.words) }
            throw ArchiveError(problem.kind, aside.message)
        }
    }

    /// Removes the file, if it exists. A file that was moved aside stays.
    @concurrent
    public func remove() async throws(ArchiveError) {
        try await alone { [file] () throws(StorageError) in try file.remove() }
    }

    /// Runs `work` while no other writer writes or removes the file. If the folder is not writable, or the file system
    /// has no locks, it runs without a lock.
    private func alone(_ work: @escaping @Sendable () throws(StorageError) -> Void) async throws(ArchiveError) {
        let lock = try await lock()
        do throws(ArchiveError) {
            try await onDisk(work)
        } catch {
            await lock?.release()
            throw error
        }
        await lock?.release()
    }

    private func lock() async throws(ArchiveError) -> FileLock? {
        do throws(StorageError) {
            return try await FileLock.acquire(beside: file, within: lockTimeout)
        } catch {
            if error.kind == .locked, Task.isCancelled {
                throw ArchiveError(.cancelled, "the archive \(file.path) was not changed: the task was canceled")
            }
            throw ArchiveError(error)
        }
    }

    private func onDisk<Value: Sendable>(
        _ work: @escaping @Sendable () throws(StorageError) -> Value
    ) async throws(ArchiveError) -> Value {
        try await StorageError.translating(to: ArchiveError.init) { () async throws(StorageError) in
            try await file.onDisk(work)
        }
    }
}
