#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A small file that only its owner may read: it has mode 0600, and is never reached through a symbolic link. A missing
/// folder is created with mode 0700; an existing one is used as it is.
///
/// All methods block: they are called on a thread for the disk, by `onDisk`.
package struct PrivateFile: Sendable {
    package let path: String
    /// The name of the content, for error messages.
    var content = "the saved session"
    /// The size limit: a larger file is not read into memory. The default is 1 MiB; a session takes a few kilobytes.
    var largest = 1 << 20

    /// Creates a file at that path.
    package init(path: String, content: String = "the saved session", largest: Int = 1 << 20) {
        self.path = path
        self.content = content
        self.largest = largest
    }

    /// The path of the new version until it is complete.
    private var draft: String { "\(path).new" }

    private var aside: String { "\(path).damaged" }

    private var folder: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Reads the file; `nil` if there is none. A file that is too large is moved aside, but only if the caller holds
    /// the lock.
    package func read(isAlone: Bool = true) throws(StorageError) -> Data? {
        let file: OpenFile
        do throws(SystemError) {
            file = try OpenFile(path, .readingNoLink)
        } catch {
            switch error {
            case .noSuchFile, .notAFolder: return nil
            case .symbolicLink, .tooManyLinks: throw failure(.symbolicLink, "is a symbolic link, which is not followed")
            default: throw failure(.unreadable, "cannot be read: \(error.words)").caused(by: error)
            }
        }
        // Nothing was written to it that closing could lose.
        defer { try? file.close() }
        let status = try orUnreadable { () throws(SystemError) in try file.status() }
        guard status.kind == .file else { throw failure(.notAFile, "is not a file") }
        try refuseOthers(status)
        guard status.length <= largest else {
            let words = "is larger than \(largest) bytes"
            throw isAlone ? setAside(.damaged, words) : failure(.damaged, words)
        }
        return try orUnreadable { () throws(SystemError) in try file.read(upTo: status.length + 1, at: 0) }
    }

    /// Writes the file atomically: completely or not at all.
    package func write(_ data: Data) throws(StorageError) {
        try makeFolder()
        try refuseLinksAndFolders()
        // A process that was killed while writing has left its draft here. The process that holds the lock may delete
        // it. If that fails, so does the creation of the next one, which says why.
        try? FileSystem.remove(draft)
        try orUnwritable { () throws(SystemError) in
            let file = try OpenFile(draft, .creating)
            do throws(SystemError) {
                try file.write(data, at: 0)
                try file.sync()
                try file.close()
                try FileSystem.move(draft, to: path)
            } catch {
                // The next write removes it, if this does not.
                try? FileSystem.remove(draft)
                throw error
            }
        }
        syncFolder()
    }

    /// Removes the file, if it exists.
    package func remove() throws(StorageError) {
        // A file that belongs to another user was never used: it stays for a person to look at.
        if let status, status.owner != FileSystem.user { try refuseOthers(status) }
        // The draft of a process that was killed while writing is secret too. If it stays, the next write removes it.
        try? FileSystem.remove(draft)
        do throws(SystemError) {
            try FileSystem.remove(path)
        } catch {
            if error == .noSuchFile || error == .notAFolder { return }
            if status?.kind == .folder { throw failure(.notAFile, "is a folder") }
            throw failure(.unwritable, "cannot be removed: \(error.words)")
        }
        syncFolder()
    }

    /// Removes the lock file, for the process that has locked it. It has to be its last act under the lock.
    package func removeLock() throws(StorageError) {
        do throws(SystemError) {
            try FileSystem.remove(lockPath)
        } catch {
            guard error != .noSuchFile else { return }
            throw failure(.unwritable, "cannot be removed: \(lockPath): \(error.words)")
        }
    }

    /// Moves the file aside, for a person to look at, and returns an error that says so. Returns `nil` if another
    /// process has replaced the file; then the new one stays in place. For callers that do not hold the lock.
    func setAside(
        _ kind: StorageError.Kind, _ what: String, ifStillHolding data: Data
    ) throws(StorageError) -> StorageError? {
        guard isMoved(to: aside) else { return failure(kind, what) }
        let other = PrivateFile(path: aside, content: content, largest: largest)
        // The content is compared after the move, when it is not replaced any more; before, it could change between the
        // comparison and the move. A file that cannot be read is not a session that another process has just saved.
        guard let moved = try? other.read(isAlone: false), moved != data else {
            return failure(kind, "\(what); it was kept aside as \(aside)")
        }
        // A newer file that exists by now stays. Not every file system has hard links.
        do throws(SystemError) {
            try FileSystem.addName(path, to: aside)
        } catch {
            if error != .fileExists, other.isMoved(to: path) { return nil }
        }
        try other.remove()
        return nil
    }

    /// Moves the file aside, for a person to look at, and returns an error that says so.
    func setAside(_ kind: StorageError.Kind, _ what: String) -> StorageError {
        failure(kind, isMoved(to: aside) ? "\(what); it was kept aside as \(aside)" : what)
    }

    /// Distinguishes versions of the file: each version is a new file under the same name. `nil` if there is none.
    var version: FileStatus.Version? { status?.version }

    /// Whether the folder of the file exists, readable or not.
    var hasFolder: Bool { folderKind == .folder }

    var missingFolder: StorageError {
        failure(.missingFolder, "cannot be found: its folder \(folder) is missing; put it back, or sign in again")
    }

    var lockPath: String { "\(path).lock" }

    /// Opens a lock file beside this one, and creates it if necessary. Returns `nil` if the folder is not writable:
    /// then there is nothing to protect.
    func openLock(makingFolder: Bool) throws(StorageError) -> OpenFile? {
        if makingFolder { try makeFolder() }
        do throws(SystemError) {
            return try OpenFile(lockPath, .updating)
        } catch {
            // What cannot be looked at counts as missing; then the folder is to blame.
            let isThere = (try? FileSystem.status(of: lockPath, followingLinks: false)) != nil
            switch error {
            case .noSuchFile: throw missingFolder
            case .readOnlyFileSystem: return nil
            case .permissionDenied where !isThere, .notPermitted where !isThere: return nil
            case .symbolicLink, .tooManyLinks:
                throw failure(
                    .symbolicLink, "cannot be locked: \(lockPath) is a symbolic link, which is not followed; remove it")
            case .isAFolder, .noSuchDevice:
                throw failure(.notAFile, "cannot be locked: \(lockPath) is not a file; remove it")
            default: throw failure(.unwritable, "cannot be locked: \(lockPath): \(error.words)")
            }
        }
    }

    /// Opens the file for a lock on itself; `nil` if it cannot be opened. Whoever reads it next is told why.
    func openForLock() -> OpenFile? { try? OpenFile(path, .readingNoLink) }

    /// Refuses a file that others may have written: with their session, this user's data would go to their account.
    private func refuseOthers(_ status: FileStatus) throws(StorageError) {
        guard status.owner == FileSystem.user else {
            let owner = "belongs to another user (\(status.owner), not \(FileSystem.user))"
            throw failure(.notPrivate, "\(owner) and is not used; find out who put it there, and remove it")
        }
        guard status.mode & 0o077 == 0 else {
            let problem = "is open to other users (mode \(String(status.mode, radix: 8))) and is not used"
            throw failure(.notPrivate, "\(problem); remove it, or chmod it to 600 if no other user has written it")
        }
    }

    /// The status of the file, or of the link in its place; `nil` if there is none. What cannot be looked at counts as
    /// missing: the read or the write that follows fails with the reason.
    private var status: FileStatus? { try? FileSystem.status(of: path, followingLinks: false) }

    /// What is in the place of the folder; `nil` if it cannot be looked at, which then counts as missing, too.
    private var folderKind: FileStatus.Kind? { (try? FileSystem.status(of: folder, followingLinks: true))?.kind }

    private func makeFolder() throws(StorageError) {
        if let folderKind {
            guard folderKind == .folder else {
                throw failure(.unwritable, "cannot be written: \(folder) is not a folder")
            }
            return
        }
        // Missing parent folders are created too, each for its owner alone.
        var made = folder.hasPrefix("/") ? "/" : ""
        for part in folder.split(separator: "/") {
            made += made.isEmpty || made == "/" ? part : "/\(part)"
            do throws(SystemError) {
                try FileSystem.makeFolder(made)
            } catch {
                guard error != .fileExists else { continue }
                throw failure(.unwritable, "cannot be written: the folder \(made) cannot be created: \(error.words)")
                    .caused(by: error)
            }
        }
    }

    private func refuseLinksAndFolders() throws(StorageError) {
        switch status?.kind {
        case nil, .file: return
        case .link: throw failure(.symbolicLink, "is a symbolic link, which is not followed")
        case .folder, .other: throw failure(.notAFile, "is not a file")
        }
    }

    /// Gives the file another name. Returns `false` if that fails: then it stays where it is, and the error that led
    /// here is the one to report.
    private func isMoved(to other: String) -> Bool {
        (try? FileSystem.move(path, to: other)) != nil
    }

    /// Ensures that the new name survives a power failure. If the folder cannot be synced, the file itself is still
    /// complete.
    func syncFolder() {
        guard let opened = try? OpenFile(folder, .reading) else { return }
        try? opened.sync()
        try? opened.close()
    }

    private func orUnwritable(_ body: () throws(SystemError) -> Void) throws(StorageError) {
        do throws(SystemError) {
            try body()
        } catch {
            throw failure(.unwritable, "cannot be written: \(error.words)").caused(by: error)
        }
    }

    private func orUnreadable<Value>(_ body: () throws(SystemError) -> Value) throws(StorageError) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            throw failure(.unreadable, "cannot be read: \(error.words)")
        }
    }

    /// Runs `work` on a thread for the disk. If the task is canceled, work that the disk hinders longer than is usual
    /// is left behind, or not begun.
    @_semantics("optimize.sil.specialize.generic.never")
    package func onDisk<Value: Sendable>(
        _ work: @escaping @Sendable () throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        do throws(StorageError) {
            return try await DiskThreads.run(at: path, grace: DiskThreads.shared.timeLimit, work)
        } catch {
            guard error.kind == .cancelled else { throw error }
            throw failure(.cancelled, "was not completed: its disk does not respond, and the task was canceled")
        }
    }

    package func failure(_ kind: StorageError.Kind, _ what: String) -> StorageError {
        StorageError(kind, "\(content) \(path) \(what)")
    }
}
