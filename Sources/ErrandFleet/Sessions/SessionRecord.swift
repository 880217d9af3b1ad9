import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the record of a session says. All of it is encrypted.
struct SessionRecord: Codable, Sendable, Hashable {
    /// Says that a node is about to use the refresh token, which may be spent from then on.
    struct Mark: Codable, Sendable, Hashable {
        let id: UUID
        /// The node that has written the mark.
        let node: String
        /// How long that node may use the token, counted from before it began to write the mark.
        let milliseconds: Int64
        /// The number of times that the token had been replaced.
        let revision: Int?
    }

    /// The revision at which this series of records began. The first one of a series holds nothing, and has `nil`: it
    /// is its own revision. When the record is removed, its series is over, and the next has a greater number.
    var epoch: UInt64?
    /// Grows with each write of a series.
    var counter: UInt64
    /// Identifies the write.
    var writer: UUID
    /// The session; `nil` if no user is signed in.
    var session: SavedSession?
    /// The mark of the node that refreshes the token; `nil` if none does.
    var mark: Mark?

    /// Returns what the next write says by default: the same, with the next counter.
    func next(by writer: UUID) -> SessionRecord {
        SessionRecord(epoch: epoch, counter: counter &+ 1, writer: writer, session: session, mark: mark)
    }
}

/// Encrypts and decrypts the records of one session.
///
/// The key in the store, and the id of the key that has encrypted it, are authenticated with the record: it cannot be
/// moved to another name.
struct SessionCipher: Sendable {
    private struct Envelope: Codable {
        var version: Int
        /// The id of the key.
        var key: String
        var sealed: Data
    }

    /// What the record is stored under.
    let storeKey: String
    private let current: FleetKey
    private let keys: [FleetKey]

    init(storeKey: String, key: FleetKey, oldKeys: [FleetKey]) {
        self.storeKey = storeKey
        current = key
        keys = [key] + oldKeys
    }

    func seal(_ record: SessionRecord) throws(TokenPersistenceError) -> [UInt8] {
        let text: [UInt8]
        do {
            text = Array(try JSONEncoder().encode(record))
        } catch {
            throw TokenPersistenceError(.other, "the session cannot be encoded")
        }
        do {
            let sealed = try AESGCM.seal(text, with: current.bytes, context: context(current.id))
            return Array(try JSONEncoder().encode(Envelope(version: 1, key: current.id, sealed: Data(sealed))))
        } catch AESGCM.Failure.unavailable {
            throw missingLibrary
        } catch {
            throw TokenPersistenceError(.other, "the session cannot be encrypted")
        }
    }

    func open(_ bytes: [UInt8]) throws(TokenPersistenceError) -> SessionRecord {
        guard let envelope = try? JSONDecoder().decode(Envelope.self, from: Data(bytes)) else {
            throw changed("is none of a session")
        }
        guard envelope.version == 1 else {
            throw TokenPersistenceError(
                .unknownKey, "the record \(storeKey) was written by a later version of the program; it was not changed")
        }
        // Keys with the same id are tried in turn: somebody may have replaced one without a new name.
        let candidates = keys.filter { $0.id == envelope.key }
        guard !candidates.isEmpty else {
            throw TokenPersistenceError(
                .unknownKey,
                "the record \(storeKey) was encrypted with the key \(envelope.key.debugDescription), which this node "
                    + "does not have; add it to the old keys")
        }
        for key in candidates {
            let text: [UInt8]
            do throws(AESGCM.Failure) {
                text = try AESGCM.open(Array(envelope.sealed), with: key.bytes, context: context(key.id))
            } catch {
                guard error != .unavailable else { throw missingLibrary }
                continue
            }
            guard let record = try? JSONDecoder().decode(SessionRecord.self, from: Data(text)) else {
                throw changed("is none of a session")
            }
            return record
        }
        throw changed("does not belong to its key: it was changed, moved, or encrypted with another key of that name")
    }

    private func context(_ id: String) -> [UInt8] { Array("errand-fleet-session 1\n\(storeKey)\n\(id)".utf8) }

    private func changed(_ what: String) -> TokenPersistenceError {
        TokenPersistenceError(.notAuthentic, "the record \(storeKey) \(what); it was left as it is")
    }

    private var missingLibrary: TokenPersistenceError {
        TokenPersistenceError(
            .other, "shared sessions need the library libcrypto of OpenSSL 1.1.1 or later, which was not found")
    }
}
