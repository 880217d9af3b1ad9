#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What is remembered of sessions that have ended.
struct PastSessions: Sendable {
    /// Only a few, because a refresh seldom outlives several sessions.
    private static let limit = 16

    /// The session before the current one, and why it ended.
    private var last: (version: SavedSession.Version, expiry: SessionExpiry)?
    /// The sessions that were signed out here, if their tokens are revoked, the latest last.
    private var signedOut: [UUID] = []

    /// Why that session ended; `nil` if that is not known any more.
    func expiry(of id: UUID) -> SessionExpiry? {
        last?.version.id == id ? last?.expiry : nil
    }

    /// Whether that version of a session is over. One whose refresh was refused continues with a newer revision, which
    /// another process has saved.
    func contains(_ version: SavedSession.Version) -> Bool {
        guard let last, last.version.id == version.id else { return false }
        return last.expiry.reason != .refreshRefused || version.revision <= last.version.revision
    }

    /// Whether the user has signed out of that session here.
    func hasSignedOut(_ id: UUID) -> Bool { signedOut.contains(id) }

    /// Notes that a session has ended.
    mutating func add(_ version: SavedSession.Version, because expiry: SessionExpiry) {
        last = (version, expiry)
    }

    /// Notes that what a refresh of that session still brings has to be revoked.
    mutating func addSignedOut(_ id: UUID) {
        if signedOut.count == Self.limit { signedOut.removeFirst() }
        signedOut.append(id)
    }
}
