#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Pins on a wall, their comments, and people who follow each other; behind a sign-in whose tokens expire.
public enum Pins {
    /// A user with an account.
    public struct User: Codable, Sendable, Hashable, Identifiable {
        /// The number of the account.
        public let userID: Int
        /// The name that the user signs in with.
        public let userName: String
        /// The full name, if it is known.
        public var fullName: String?
        /// The path of the user's page.
        public let navLink: String
        /// The date on which the account was created.
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

    /// Something that a user has pinned to the wall.
    public struct Pin: Codable, Sendable, Hashable, Identifiable {
        /// The number of the pin.
        public let pinID: Int
        /// The title.
        public var title: String
        /// The path of its page.
        public let navLink: String
        /// The user who pinned it.
        public let user: User
        /// The date on which it was pinned.
        public let createdAt: Date
        /// The picture, if there is one.
        public var picture: Picture?

        /// The number of the pin.
        public var id: Int { pinID }

        private enum CodingKeys: String, CodingKey {
            case title, user, picture
            case pinID = "pin_id"
            case navLink = "nav_link"
            case createdAt = "created_at"
        }
    }

    /// The picture of a pin.
    public struct Picture: Codable, Sendable, Hashable {
        /// The name of its file.
        public let name: String
        /// Its content type.
        public let type: String
        /// Its size in bytes.
        public let bytes: Int
    }

    /// A comment on a pin.
    public struct Comment: Codable, Sendable, Hashable, Identifiable {
        /// The number of the comment.
        public let commentID: Int
        /// The number of the account of the user who wrote it.
        public let userID: Int
        /// The text.
        public var text: String
        /// The path of its page.
        public let navLink: String
        /// The user who wrote it.
        public let user: User
        /// The date on which it was written.
        public let createdAt: Date

        /// The number of the comment.
        public var id: Int { commentID }

        private enum CodingKeys: String, CodingKey {
            case text, user
            case commentID = "comment_id"
            case userID = "user_id"
            case navLink = "nav_link"
            case createdAt = "created_at"
        }
    }
}
