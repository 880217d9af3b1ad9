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

/// A public error into which storage errors are translated.
protocol StorageFailure: Error {
    init(_ error: StorageError)
}

extension StorageFailure {
    /// Translates what a private file or a lock throws.
    static func translating<Value>(_ body: () throws(StorageError) -> Value) throws(Self) -> Value {
        do throws(StorageError) {
            return try body()
        } catch {
            throw Self(error)
        }
    }
}
