/// A type that keeps what the nodes of a fleet share: small records under keys, each with a revision.
///
/// Three methods are enough; the fourth is for operators. The fleet's safety rests on ``write(_:to:replacing:)`` alone:
/// of several writers that have read the same revision, one succeeds. It assumes nothing about the store's clock, and
/// no record expires.
///
/// A key consists of letters, digits, `-`, `.`, `_` and `/`, and has at most 512 bytes. A record has at most 512 KB.
/// All methods throw ``FleetStoreError/Kind/cancelled`` soon after their task is canceled, and never wait without limit
/// for a store that does not respond.
public protocol FleetStore: Sendable {
    /// Returns the record under a key; `nil` if there is none. The record is at least as new as every write that had
    /// ended before the read began.
    func read(_ key: String) async throws(FleetStoreError) -> FleetRecord?
    /// Writes the bytes, or removes the record if `bytes` is `nil`, if the record under the key still has `revision`
    /// (`nil`: if there is none). Returns what became of it. When this returns ``FleetWrite/written(_:)``, the change
    /// is permanent and every later read sees it. When it throws, the change may have been made or not, and may still
    /// be made later unless the revision changes first.
    func write(
        _ bytes: [UInt8]?, to key: String, replacing revision: FleetRevision?
    ) async throws(FleetStoreError) -> FleetWrite
    /// Returns the record under a key now, and again after each change. Changes that follow each other quickly can be
    /// one element; an older record never comes after a newer one, and the last change always comes. The sequence ends
    /// by throwing, when the store cannot be reached or no longer knows what came between; its reader then begins
    /// another. It ends with the task that reads it.
    func changes(of key: String) -> AsyncThrowingStream<FleetRecord?, any Error>
    /// Returns what an operator should know about the store, each in a sentence: a setting that can lose writes, or a
    /// version with a fault. Nothing, by default. A fleet asks once, when the store has responded first.
    func warnings() async -> [String]
}

extension FleetStore {
    /// Returns nothing.
    public func warnings() async -> [String] { [] }
}

/// A record of a fleet's store.
public struct FleetRecord: Sendable, Hashable {
    /// What was written.
    public let bytes: [UInt8]
    /// The revision of the record.
    public let revision: FleetRevision

    /// Creates a record.
    public init(bytes: [UInt8], revision: FleetRevision) {
        self.bytes = bytes
        self.revision = revision
    }
}

/// The revision of a record. Each write of a record gives it a greater one, even when the record was removed before.
public struct FleetRevision: Sendable, Hashable, Comparable {
    /// The store's own number.
    public let number: UInt64

    /// Creates a revision from the store's own number.
    public init(_ number: UInt64) {
        self.number = number
    }

    /// Whether a revision is older than another.
    public static func < (earlier: FleetRevision, later: FleetRevision) -> Bool { earlier.number < later.number }
}

/// What became of a write.
public enum FleetWrite: Sendable, Hashable {
    /// The record was written, and has this revision; `nil` if it was removed.
    case written(FleetRevision?)
    /// The record had another revision, so nothing was changed. This is the record now; `nil` if there is none.
    case changed(FleetRecord?)
}

/// Why a fleet's store could not read or write a record.
public struct FleetStoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong.
    @nonexhaustive public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The store could not be reached, or did not respond in time. A write may have been made.
        case unreachable
        /// The store refused the user or the permission.
        case refused
        /// The store has no space left. A write may have been made.
        case full
        /// The store's response could not be read.
        case damaged
        /// The key or the record is one that the store cannot keep.
        case invalid
        /// The task was canceled. A write may have been made.
        case cancelled
        /// Another failure.
        case other
    }

    /// What is wrong.
    public let kind: Kind
    /// A sentence that describes the problem.
    public let message: String

    /// Creates an error.
    public init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    /// The message.
    public var description: String { message }
}
