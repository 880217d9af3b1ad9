#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Pins on a wall, comments below them, and people who follow each other; behind a sign-in whose tokens expire.
public enum Pins {
    /// Who has an account.
    public struct User: Codable, Sendable, Hashable, Identifiable {
        /// The number of the account.
        public let userID: Int
        /// What the user signs in with.
        public let userName: String
        /// What the user is called, if that is known.
        public var fullName: String?
        /// Where the user's own page is.
        public let navLink: String
        /// When the account was made.
        public let createdAt: Date

        /// The number of the account.
        public var id: Int { userID }

        private enum CodingKeys: String, CodingKey {
            case userID = "user_id"
            case userName = "user_name"
            case fullName = "full_name"
            case navLink = "nav_link"
            case createdAt = "created_at"
        }
    }

    /// What somebody has pinned to the wall.
    public struct Pin: Codable, Sendable, Hashable, Identifiable {
        /// Its number.
        public let pinID: Int
        /// What it shows.
        public var title: String
        /// Where its page is.
        public let navLink: String
        /// Who has pinned it.
        public let user: User
        /// When.
        public let createdAt: Date

        /// Its number.
        public var id: Int { pinID }

        private enum CodingKeys: String, CodingKey {
            case title, user
            case pinID = "pin_id"
            case navLink = "nav_link"
            case createdAt = "created_at"
        }
    }

    /// What somebody says about a pin.
    public struct Comment: Codable, Sendable, Hashable, Identifiable {
        /// Its number.
        public let commentID: Int
        /// What is said.
        public var text: String
        /// Who says it.
        public let user: User
        /// When.
        public let createdAt: Date

        /// Its number.
        public var id: Int { commentID }

        private enum CodingKeys: String, CodingKey {
            case text, user
            case commentID = "comment_id"
            case createdAt = "created_at"
        }
    }
}
