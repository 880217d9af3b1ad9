import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Reads and writes the record of a session, and remembers the latest that it has seen.
///
/// A record with a lower counter is an older one that was put back, and so is another one with the same counter. A node
/// that has started later cannot know.
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
        /// The store's answer was lost, the store cannot be reached, or it is full: the write may have been made, or
        /// may be made until the record's revision changes.
        case unknown(TokenPersistenceError)
    }

    private struct Seen: Sendable, Hashable {
        var counter: UInt64 = 0
        var writer: UUID?
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
        // What is known when the read begins: the answers of two reads may come in another order than they were made.
        let seen = seen.withLock { $0 }
        let found: FleetRecord?
        do throws(FleetStoreError) {
            found = try await store.read(cipher.storeKey)
        } catch {
            throw TokenPersistenceError(error)
        }
        guard let found else { return nil }
        let record = try cipher.open(found.bytes)
        guard record.counter >= seen.counter, record.counter > seen.counter || record.writer == seen.writer else {
            throw TokenPersistenceError(
                .outdated,
                "the record \(cipher.storeKey) is older than one that this node has seen; it was left as it is. Remove "
                    + "it, and sign in again")
        }
        note(record)
        return Found(record: record, revision: found.revision)
    }

    /// Returns what the first record says, where there is none. Its counter is greater than any before, even if
    /// somebody has removed the record: counters begin with the time, and grow more slowly.
    func first(by writer: UUID) -> SessionRecord {
        let now = UInt64(max(1, time.date.timeIntervalSince1970 * 1e6))
        return SessionRecord(counter: max(now, seen.withLock { $0.counter } + 1), writer: writer)
    }

    /// Writes a record in place of the one with that revision.
    func write(_ record: SessionRecord, over old: Found?) async throws(TokenPersistenceError) -> Outcome {
        let bytes = try cipher.seal(record)
        do throws(FleetStoreError) {
            switch try await store.write(bytes, to: cipher.storeKey, replacing: old?.revision) {
            case .changed: return .changed
            case .written(let revision):
                note(record)
                return .written(revision)
            }
        } catch {
            switch error.kind {
            case .unreachable, .cancelled, .full: return .unknown(TokenPersistenceError(error))
            case .refused, .damaged, .invalid, .other: throw TokenPersistenceError(error)
            }
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

    private func note(_ record: SessionRecord) {
        seen.withLock { seen in
            guard record.counter > seen.counter else { return }
            seen = Seen(counter: record.counter, writer: record.writer)
        }
    }
}

extension TokenPersistenceError {
    init(_ error: FleetStoreError) {
        let kind: Kind =
            switch error.kind {
            case .unreachable: .unreachable
            case .full: .unwritable
            case .damaged: .notAuthentic
            case .refused, .invalid, .cancelled, .other: .other
            }
        self.init(kind, "the fleet's store: \(error.message)")
    }
}
