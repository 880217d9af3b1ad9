#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A session that is kept between two runs of a program, or shared by several processes.
public struct SavedSession: Sendable, Hashable, Codable {
    /// Identifies the session: every sign-in begins a new one, a refresh continues the old one.
    public let id: UUID
    /// The number of times the token was replaced. Of two copies of a session, the one with the larger revision is
    /// current.
    public internal(set) var revision: Int
    /// The token.
    public internal(set) var token: Token
    /// When the token was received. Its lifetime counts from here.
    public internal(set) var received: Date

    /// A value of the program that belongs to the session, as JSON; `nil` if there is none. See
    /// ``TokenStore/signIn(_:keeping:)``.
    public let kept: Data?

    /// Identifies one state of a session: what a persistence compares before it replaces what is saved.
    public struct Version: Sendable, Hashable {
        /// The session.
        public let id: UUID
        /// The number of times its token was replaced.
        public let revision: Int

        /// Creates a version.
        public init(id: UUID, revision: Int) {
            self.id = id
            self.revision = revision
        }
    }

    /// The state of the session.
    public var version: Version { Version(id: id, revision: revision) }

    /// Creates a session.
    public init(id: UUID, revision: Int = 0, token: Token, received: Date, kept: Data? = nil) {
        self.id = id
        self.revision = revision
        self.token = token
        self.received = received
        self.kept = kept
    }

    /// Returns the same session with a newer token; the old refresh token stays if the newer one has none.
    func continued(with newer: Token, at date: Date) -> SavedSession {
        var token = newer
        token.keepRefreshToken(of: self.token)
        if newer.type == self.token.type { token.proofKey = newer.proofKey ?? self.token.proofKey }
        // The revision comes from a file, and may be any number.
        let next = revision == .max ? revision : revision + 1
        return SavedSession(id: id, revision: next, token: token, received: date, kept: kept)
    }
}

extension SavedSession: OpaqueReflectable {
    /// The session without its secrets.
    public var description: String { "SavedSession(\(token), revision: \(revision))" }
}
