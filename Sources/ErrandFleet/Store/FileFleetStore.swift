import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A store in a folder, for several processes of one machine.
///
///     let store = FileFleetStore(folder: "/var/lib/billing/fleet")
///
/// Each record is a file, which is replaced atomically and synced to the disk; a file beside it is its lock. Files have
/// mode 0600, and a missing folder is created with mode 0700. A removed record leaves no files behind: one file of the
/// folder, `removed.record`, remembers the greatest revision of all of them.
///
/// A process that is stopped in the middle of a write keeps the others from writing that record, and for a moment of a
/// removal from removing any, until it continues or ends: they wait for the `lockTimeout`, and fail with
/// ``FleetStoreError/Kind/unreachable``. A damaged file is reported as ``FleetStoreError/Kind/damaged``, and nothing
/// overwrites it; remove it to begin anew. So is a file that was copied from another key.
///
/// On a file system that several machines share, this store does not keep the promises of ``FleetStore``: use a store
/// that is made for that.
public struct FileFleetStore: FleetStore {
    /// How often a record is read while it is watched, for systems that report no changes: every 2 seconds.
    private static let pause = Duration.seconds(2)

    private let folder: String
    private let lockTimeout: Duration

    /// Creates a store in that folder.
    ///
    /// - Parameters:
    ///   - folder: The path of the folder. It should hold nothing else.
    ///   - lockTimeout: How long to wait for another process that has locked a record and does not change it, 10
    ///     seconds by default.
    public init(folder: String, lockTimeout: Duration = .seconds(10)) {
        self.folder = folder
        self.lockTimeout = lockTimeout
    }

    /// Returns the record under a key; `nil` if there is none.
    public func read(_ key: String) async throws(FleetStoreError) -> FleetRecord? {
        try await state(of: key)?.record
    }

    /// Writes or removes a record under the lock of its file, if it still has that revision.
    public func write(
        _ bytes: [UInt8]?, to key: String, replacing revision: FleetRevision?
    ) async throws(FleetStoreError) -> FleetWrite {
        try FleetRecordRules.check(key, bytes)
        if Task.isCancelled { throw .cancelled }
        let file = file(for: key)
        return try await translating { () async throws(StorageError) in
            try await locking(file) { () async throws(StorageError) in
                let old = try await file.onDisk { () throws(StorageError) in try Self.read(file, of: key) }
                if old == nil, bytes == nil || revision != nil {
                    // Nothing is written, and a lock file without a record would stay.
                    try await file.onDisk { () throws(StorageError) in try file.removeLock() }
                    return revision == nil ? .written(nil) : .changed(nil)
                }
                guard old?.revision == revision else { return .changed(old?.record) }
                guard let bytes else { return try await remove(file, at: revision) }
                return try await file.onDisk { () throws(StorageError) in
                    var next = old?.revision.number
                    if next == nil { next = try Self.lastRemoved(removed) }
                    // Where nothing remembers a revision, somebody may have removed it. Others may still know the old
                    // revisions, so the new ones begin with the time.
                    let first = old == nil ? Self.microseconds : 0
                    let revision = FleetRevision(max((next ?? 0) + 1, first))
                    try file.write(RecordFile(key: key, revision: revision, bytes: bytes).data)
                    return .written(revision)
                }
            }
        }
    }

    /// Returns the record now, and after each change by any process of this machine.
    public func changes(of key: String) -> AsyncThrowingStream<FleetRecord?, any Error> {
        RecordStream.following { pass throws(FleetStoreError) in
            try FleetRecordRules.check(key)
            let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            let watch = FileWatch(of: file(for: key).path) { signal.yield() }
            defer { watch.end() }
            var iterator = signals.makeAsyncIterator()
            var last: RecordFile??
            let time = SystemTime.system
            repeat {
                let next = try await state(of: key)
                if last != .some(next) { pass(next?.record) }
                last = .some(next)
                let alarm = time.schedule(at: time.now.advanced(by: Self.pause), for: .watch) { signal.yield() }
                defer { alarm.cancel() }
                await iterator.next()
            } while !Task.isCancelled
        }
    }

    // MARK: Files

    private func file(for key: String) -> PrivateFile {
        // A key can be longer than a file's name, and differ from another in upper and lower case only.
        let hash = SHA256.hash(of: Data(key.utf8)).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        return PrivateFile(
            path: "\(folder)/\(hash.joined()).record", content: "the record \(key) in",
            largest: FleetRecordRules.largestRecord + RecordFile.longestHead)
    }

    private func state(of key: String) async throws(FleetStoreError) -> RecordFile? {
        try FleetRecordRules.check(key)
        if Task.isCancelled { throw .cancelled }
        let file = file(for: key)
        return try await translating { () async throws(StorageError) in
            try await file.onDisk { () throws(StorageError) in try Self.read(file, of: key) }
        }
    }

    private static func read(_ file: PrivateFile, of key: String) throws(StorageError) -> RecordFile? {
        guard let data = try file.read(isAlone: false) else { return nil }
        guard let content = RecordFile(data) else {
            throw file.failure(.damaged, "is damaged; remove it to begin anew")
        }
        guard content.key == key else {
            throw file.failure(.damaged, "belongs to another key, \(content.key); remove it to begin anew")
        }
        return content
    }

    /// Runs `body` with the lock of a file.
    private func locking<Value: Sendable>(
        _ file: PrivateFile, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        guard let lock = try await FileLock.acquire(beside: file, within: lockTimeout) else {
            throw file.failure(
                .unwritable, "cannot be locked: its folder is not writable, or its file system has no locks")
        }
        let outcome: Result<Value, StorageError>
        do throws(StorageError) {
            outcome = .success(try await body())
        } catch {
            outcome = .failure(error)
        }
        // Behind a write that the disk hinders: work on one file is done in its order.
        await lock.release()
        return try outcome.get()
    }

    /// Removes a record and its lock, for the process with the lock.
    private func remove(
        _ file: PrivateFile, at revision: FleetRevision?
    ) async throws(StorageError) -> FleetWrite {
        guard let revision else { return .written(nil) }
        try await locking(removed) { () async throws(StorageError) in
            try await removed.onDisk { () throws(StorageError) in
                if try revision.number > Self.lastRemoved(removed) {
                    try removed.write(RecordFile(key: Self.removedKey, revision: revision, bytes: []).data)
                }
            }
        }
        return try await file.onDisk { () throws(StorageError) in
            try file.remove()
            // The last act: from then on, another process can lock the file.
            try file.removeLock()
            return .written(nil)
        }
    }

    // MARK: Revisions

    /// No record has that key.
    private static let removedKey = "removed records"

    /// The file that has the greatest revision of all records that were removed.
    private var removed: PrivateFile {
        PrivateFile(
            path: "\(folder)/removed.record", content: "the list of removed records in",
            largest: RecordFile.longestHead)
    }

    private static func lastRemoved(_ file: PrivateFile) throws(StorageError) -> UInt64 {
        try read(file, of: removedKey)?.revision.number ?? 0
    }

    private static var microseconds: UInt64 { UInt64(max(1, SystemTime.system.date.timeIntervalSince1970 * 1e6)) }

    private func translating<Value>(
        _ body: () async throws(StorageError) -> Value
    ) async throws(FleetStoreError) -> Value {
        try await StorageError.translating(to: FleetStoreError.init, body)
    }
}

extension FleetStoreError {
    fileprivate init(_ error: StorageError) {
        let kind: Kind =
            switch error.kind {
            case .cancelled: .cancelled
            case .locked: Task.isCancelled ? .cancelled : .unreachable
            case .damaged, .futureVersion: .damaged
            case .notPrivate, .symbolicLink: .refused
            case .unreadable, .unwritable, .notAFile, .missingFolder:
                switch error.cause {
                case .full: .full
                case .permission: .refused
                case nil: .other
                }
            }
        self.init(kind, error.message)
    }
}
