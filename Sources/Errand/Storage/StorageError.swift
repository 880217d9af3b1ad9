/// The reason why a private file could not be read, written or locked.
struct StorageError: Error {
    enum Kind: String, CaseIterable {
        case unreadable, unwritable, damaged, futureVersion, symbolicLink, notAFile, notPrivate, missingFolder, locked
    }

    let kind: Kind
    let message: String

    init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}
