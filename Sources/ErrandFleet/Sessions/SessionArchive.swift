import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reads and writes the record of a session, and remembers the latest that it has seen.
///
/// A record of an earlier series, or with a lower counter, is an older one that was put back, and so is another one
/// with the same counter. A node that has started later cannot know. The number of a series is a revision of the store,
/// which grows even when the record was removed. So nothing depends on the wall clock of a node, and the first sign-in
/// after a removal is newer than all that any node has seen.
final class SessionArchive: Sendable {
    /// A record with its revision in the store.
    struct Found: Sendable {
        var record: SessionRecord
        var revision: FleetRevision
    }

    /// What became of a write.
    enum Outcome: Sendable {
        case written(FleetRevision?)
        case changed
        /// The store has failed, and what it says may be the word of a proxy: the write may have been made, or may be
        /// made until the record's revision changes.
        case unknown(FleetStoreError)
    }

    /// Why a record could not be read or written.
    enum Failure: Error, Sendable {
        case store(FleetStoreError)
        /// The store has responded, but its record cannot be used, or none can be made.
        case record(TokenPersistenceError)

        /// The error for the caller.
        var error: TokenPersistenceError {
            switch self {
            case .store(let error): TokenPersistenceError(error)
            case .record(let error): error
            }
        }
    }

    private struct Seen: Sendable, Hashable {
        var epoch: UInt64 = 0
        var counter: UInt64 = 0
        var writer: UUID?

        /// Whether that record is older, or another one with the same counter.
        func isAhead(of record: SessionRecord) -> Bool {
            let (known, found) = ((epoch, counter), (record.epoch ?? 0, record.counter))
            return found < known || found == known && record.writer != writer
        }
    }

    let cipher: SessionCipher
    private let store: any FleetStore
    private let time: any TimeSource
    private let seen = Lock(Seen())

    init(_ store: any FleetStore, _ cipher: SessionCipher, time: any TimeSource) {
        self.store = store
        self.cipher = cipher
        self.time = time
    }

    /// Returns the record; `nil` if there is none.
    func read() async throws(TokenPersistenceError) -> Found? {
        do throws(Failure) {
            return try await find()
        } catch {
            throw error.error
        }
    }

    /// Returns the record; `nil` if there is none. Says what has failed.
    func find() async throws(Failure) -> Found? {
        // What is known when the read begins: the answers of two reads may come in another order than they were made.
        let seen = seen.withLock { $0 }
        let found: FleetRecord?
        do throws(FleetStoreError) {
            found = try await store.read(cipher.storeKey)
        } catch {
            throw .store(error)
        }
        guard let found else { return nil }
        var record: SessionRecord
        do throws(TokenPersistenceError) {
            record = try cipher.open(found.bytes)
        } catch {
            throw .record(error)
        }
        record.epoch = record.epoch ?? found.revision.number
        guard !seen.isAhead(of: record) else {
            throw .record(
                TokenPersistenceError(
                    .outdated,
                    "the record \(cipher.storeKey) is older than one that this node has seen; it was left as it is. "
                        + "Remove it, and sign in again"))
        }
        note(record)
        return Found(record: record, revision: found.revision)
    }

    /// Begins a series of records, where there is none.
    func begin() async throws(Failure) -> Outcome {
        try await write(SessionRecord(counter: 0, writer: time.randomUUID()), replacing: nil)
    }

    /// Writes a record in place of that one.
    func write(_ record: SessionRecord, over old: Found) async throws(Failure) -> Outcome {
        try await write(record, replacing: old.revision)
    }

    private func write(_ record: SessionRecord, replacing revision: FleetRevision?) async throws(Failure) -> Outcome {
        let bytes: [UInt8]
        do throws(TokenPersistenceError) {
            bytes = try cipher.seal(record)
        } catch {
            throw .record(error)
        }
        do throws(FleetStoreError) {
            switch try await store.write(bytes, to: cipher.storeKey, replacing: revision) {
            case .changed: return .changed
            case .written(let next):
                // The first of a series is noted when it is read.
                if record.epoch != nil { note(record) }
                return .written(next)
            }
        } catch {
            guard error.kind != .invalid else { throw .store(error) }
            return .unknown(error)
        }
    }

    /// Removes the record, whatever it says.
    func remove() async throws(FleetStoreError) {
        while let record = try await store.read(cipher.storeKey) {
            let written = try await store.write(nil, to: cipher.storeKey, replacing: record.revision)
            if case .written = written { return }
        }
    }

    /// The versions of the record from now on.
    func changes() -> AsyncThrowingStream<FleetRecord?, any Error> { store.changes(of: cipher.storeKey) }

    /// Passes on the versions of the record, until the watch ends. Throws if it fails or is dead.
    func watch(_ pass: @escaping @Sendable (FleetRecord?) -> Void) async throws(FleetStoreError) {
        try await RecordWatch(of: cipher.storeKey, in: store, time: time).run { pass($0) }
    }

    private func note(_ record: SessionRecord) {
        seen.withLock { seen in
            guard (record.epoch ?? 0, record.counter) > (seen.epoch, seen.counter) else { return }
            seen = Seen(epoch: record.epoch ?? 0, counter: record.counter, writer: record.writer)
        }
    }
}

extension TokenPersistenceError {
    init(_ error: FleetStoreError) {
        let kind: Kind =
            switch error.kind {
            case .unreachable: .unreachable
            case .full: .unwritable
            case .damaged: .unreadable
            case .refused, .invalid, .cancelled, .other: .other
            }
        self.init(kind, "the fleet's store: \(error.message)")
    }
}
