/// The reason why a private file could not be read, written or locked.
package struct StorageError: Error {
    package enum Kind: CaseIterable {
        case unreadable, unwritable, damaged, futureVersion, symbolicLink, notAFile, notPrivate, missingFolder, locked,
            cancelled
    }

    /// What the system says about it, where that leads to other advice than the kind alone.
    package enum Cause: Sendable {
        /// The disk, or the share of it that the user may have, is full.
        case full
        /// The user may not do this.
        case permission
    }

    package let kind: Kind
    package let message: String
    package private(set) var cause: Cause?

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}

extension StorageError {
    /// Returns the same error with the cause that the system names.
    func caused(by error: SystemError) -> StorageError {
        var copy = self
        switch error {
        case .noSpace, .quotaExceeded: copy.cause = .full
        case .permissionDenied, .notPermitted, .readOnlyFileSystem: copy.cause = .permission
        default: copy.cause = nil
        }
        return copy
    }
}

extension StorageError: CancellationFailure {
    package static var cancelled: StorageError { StorageError(.cancelled, "the task was canceled") }
}

extension StorageError {
    /// Runs `body`, and translates what a private file or a lock throws.
    package static func translating<Value, Failure: Error>(
        to failure: (StorageError) -> Failure, _ body: () async throws(StorageError) -> Value
    ) async throws(Failure) -> Value {
        do throws(StorageError) {
            return try await body()
        } catch {
            throw failure(error)
        }
    }
}
