#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The reason why a value could not be saved, loaded or removed. It holds nothing of the value.
///
/// `print` shows a sentence for developers. `localizedDescription` is for the user, as that of ``ServiceError``.
public struct ArchiveError: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong.
    @nonexhaustive public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// The file or its folder cannot be read.
        case unreadable
        /// The file or its folder cannot be written.
        case unwritable
        /// The content of the file is not a saved value; the file was moved aside.
        case damaged
        /// A later version of the program saved the file; the file was moved aside.
        case futureVersion
        /// An older version saved the file, and its value cannot be migrated; the file was moved aside.
        case oldVersion
        /// The path leads to a symbolic link; it was not followed.
        case symbolicLink
        /// The path leads to a folder, or to something else that is not a file.
        case notAFile
        /// The file belongs to another user, or others may read or write it; it was not used and not changed.
        case notPrivate
        /// Another process held the lock on the file for too long; nothing was changed.
        case locked
        /// The value cannot be encoded, or is too large; the previous value is still saved.
        case unencodable
        /// The task was canceled while it waited for another writer, and nothing was changed; or while the disk did
        /// not respond, and then a `save` or `remove` that has begun may still be completed.
        case cancelled
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

extension ArchiveError: LocalizedError {
    /// A sentence for the user, which has nothing of the message. See
    /// <doc:HandlingErrors#Sentences-in-other-languages>.
    public var localizedDescription: String { [sentence].inUserLanguage }

    /// The same sentence.
    public var errorDescription: String? { localizedDescription }

    /// The sentence, as a key that an app can translate.
    public var sentence: ErrorSentence {
        switch kind {
        case .cancelled: ErrorSentence(.cancelled)
        case .unwritable, .unencodable: ErrorSentence(.archiveUnsaved)
        case .unreadable, .damaged, .futureVersion, .oldVersion, .symbolicLink, .notAFile, .notPrivate, .locked:
            ErrorSentence(.archiveUnusable)
        }
    }
}

extension ArchiveError {
    init(_ error: StorageError) {
        let kind: Kind =
            switch error.kind {
            case .unreadable: .unreadable
            // Without its folder, a file cannot be written.
            case .unwritable, .missingFolder: .unwritable
            case .damaged: .damaged
            case .futureVersion: .futureVersion
            case .symbolicLink: .symbolicLink
            case .notAFile: .notAFile
            case .notPrivate: .notPrivate
            case .locked: .locked
            case .cancelled: .cancelled
            }
        self.init(kind, error.message)
    }
}
