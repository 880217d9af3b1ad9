#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A signed-in session as it is kept between two runs of a program, or shared by several processes.
public struct SavedSession: Sendable, Hashable, Codable {
    /// Names the session: every sign-in begins a new one, a refresh goes on with the old.
    public let id: UUID
    /// How often its token has been replaced. Of two copies of a session, the one with the larger revision is the
    /// present one.
    public internal(set) var revision: Int
    /// The token.
    public internal(set) var token: Token
    /// When the token was received; its lifetime counts from here.
    public internal(set) var received: Date

    /// Makes a session.
    public init(id: UUID, revision: Int = 0, token: Token, received: Date) {
        self.id = id
        self.revision = revision
        self.token = token
        self.received = received
    }

    /// The same session with a newer token; the old refresh token stays if none came with it.
    func continued(with newer: Token, at date: Date) -> SavedSession {
        var token = newer
        token.refresh = newer.refresh ?? self.token.refresh
        // The number comes from a file, where there may be anything.
        let next = revision == .max ? revision : revision + 1
        return SavedSession(id: id, revision: next, token: token, received: date)
    }
}

extension SavedSession: CustomStringConvertible, CustomReflectable {
    /// The session without its secrets.
    public var description: String { "SavedSession(\(token), revision: \(revision))" }
    /// Shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["session": description]) }
}
