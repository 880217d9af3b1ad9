/// The reason why a private file could not be read, written or locked.
struct StorageError: Error {
    enum Kind: String, CaseIterable {
        case unreadable, unwritable, damaged, futureVersion, symbolicLink, notAFile, notPrivate, missingFolder, locked,
            cancelled
    }

    let kind: Kind
    let message: String

    init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}

extension StorageError: CancellationFailure {
    static var cancelled: StorageError { StorageError(.cancelled, "the task was cancelled") }
}

extension StorageError {
    /// Runs `body`, and translates what a private file or a lock throws.
    static func translating<Value, Failure: Error>(
        to failure: (StorageError) -> Failure, _ body: () async throws(StorageError) -> Value
    ) async throws(Failure) -> Value {
        do throws(StorageError) {
            return try await body()
        } catch {
            throw failure(error)
        }
    }
}
