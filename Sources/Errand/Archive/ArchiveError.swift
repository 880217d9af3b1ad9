/// Why a value could not be saved, loaded or removed. It holds nothing of the value.
public struct ArchiveError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong.
    @nonexhaustive public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The file or its folder cannot be read.
        case unreadable
        /// The file or its folder cannot be written.
        case unwritable
        /// What is in the file is not what was saved; it was kept aside.
        case damaged
        /// It was saved by a later version of the program; it was kept aside.
        case futureVersion
        /// It was saved by an older version, and cannot be migrated; it was kept aside.
        case oldVersion
        /// There is a symbolic link where the file should be; it was not followed.
        case symbolicLink
        /// There is a folder, or something else that is not a file, where the file should be.
        case notAFile
        /// The file belongs to another user, or others may read or write it; it was left as it is, and not used.
        case notPrivate
        /// Another process has held the lock on the file for too long; nothing was changed.
        case locked
        /// The value cannot be encoded, or is too large; what was saved before is there still.
        case unencodable
        /// The task was cancelled while somebody else was writing; nothing was changed.
        case cancelled
    }

    /// What is wrong.
    public let kind: Kind
    /// What it is wrong with, in words.
    public let message: String

    /// Makes one.
    public init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    /// A sentence for people.
    public var description: String { message }

    /// Translates what a private file throws: its problems have the same names here.
    static func translating<Value>(
        _ body: () throws(StorageError) -> Value
    ) throws(ArchiveError) -> Value {
        do throws(StorageError) {
            return try body()
        } catch {
            throw ArchiveError(Kind(rawValue: error.kind.rawValue) ?? .unreadable, error.message)
        }
    }
}
