#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A small file that only its owner may read: it has mode 0600, and is never reached through a symbolic link. A missing
/// folder is created with mode 0700; an existing one is used as it is.
struct PrivateFile: Sendable {
    let path: String
    /// The name of the content, for error messages.
    var content = "the saved session"
    /// The size limit: a larger file is not read into memory. The default is 1 MiB; a session takes a few kilobytes.
    var largest = 1 << 20

    /// The path of the new version until it is complete.
    private var draft: String { "\(path).new" }

    private var aside: String { "\(path).damaged" }

    private var folder: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Reads the file; `nil` if there is none. A file that is too large is moved aside, but only if the caller holds
    /// the lock.
    func read(isAlone: Bool = true) throws(StorageError) -> Data? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT, ENOTDIR: return nil
            case ELOOP, EMLINK: throw failure(.symbolicLink, "is a symbolic link, which is not followed")
            default: throw failure(.unreadable, "cannot be read: \(reason())")
            }
        }
        defer { _ = close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure(.unreadable, "cannot be read: \(reason())") }
        guard status.st_mode & S_IFMT == S_IFREG else { throw failure(.notAFile, "is not a file") }
        try refuseOthers(status)
        guard status.st_size <= largest else {
            let words = "is too large for one"
            throw isAlone ? setAside(.damaged, words) : failure(.damaged, words)
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size) + 1)
        var filled = 0
        while filled < bytes.count {
            let count = bytes.withUnsafeMutableBytes { buffer in
                #if canImport(Darwin)
                Darwin.read(descriptor, buffer.baseAddress?.advanced(by: filled), buffer.count - filled)
                #elseif canImport(Musl)
                Musl.read(descriptor, buffer.baseAddress?.advanced(by: filled), buffer.count - filled)
                #else
                Glibc.read(descriptor, buffer.baseAddress?.advanced(by: filled), buffer.count - filled)
                #endif
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure(.unreadable, "cannot be read: \(reason())") }
            if count == 0 { break }
            filled += count
        }
        return Data(bytes[..<filled])
    }

    /// Writes the file atomically: completely or not at all.
    func write(_ data: Data) throws(StorageError) {
        try makeFolder()
        try refuseLinksAndFolders()
        // A process that was killed while writing has left its draft here. The process that holds the lock may delete
        // it.
        _ = unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure(.unwritable, "cannot be written: \(reason())") }
        guard writeAll(data, to: descriptor), fsync(descriptor) == 0 else {
            let problem = failure(.unwritable, "cannot be written: \(reason())")
            _ = close(descriptor)
            _ = unlink(draft)
            throw problem
        }
        guard close(descriptor) == 0, rename(draft, path) == 0 else {
            let problem = failure(.unwritable, "cannot be written: \(reason())")
            _ = unlink(draft)
            throw problem
        }
        syncFolder()
    }

    /// Removes the file, if it exists.
    func remove() throws(StorageError) {
        var status = stat()
        // A file that belongs to another user was never used: it stays for a person to look at.
        if lstat(path, &status) == 0, status.st_uid != geteuid() { try refuseOthers(status) }
        // The draft of a process that was killed while writing is secret too.
        _ = unlink(draft)
        guard unlink(path) != 0 else { return syncFolder() }
        let code = errno
        if code == ENOENT || code == ENOTDIR { return }
        if isFolder { throw failure(.notAFile, "is a folder") }
        throw failure(.unwritable, "cannot be removed: \(reason(code))")
    }

    /// Moves the file aside, for a person to look at, and returns an error that says so. Returns `nil` if another
    /// process has meanwhile replaced the file; then the new one stays in place. For callers that do not hold the lock.
    func setAside(
        _ kind: StorageError.Kind, _ what: String, ifStillHolding data: Data
    ) throws(StorageError) -> StorageError? {
        guard rename(path, aside) == 0 else { return failure(kind, what) }
        let other = PrivateFile(path: aside, content: content, largest: largest)
        // The content is compared after the move, when nobody replaces it any more; before, it could change between the
        // comparison and the move. A file that cannot be read is not a session that another process has just saved.
        guard let moved = try? other.read(isAlone: false), moved != data else {
            return failure(kind, "\(what); it was kept aside as \(aside)")
        }
        // A newer file that exists by now stays. Not every file system has hard links.
        if link(aside, path) != 0, errno != EEXIST, rename(aside, path) == 0 { return nil }
        try other.remove()
        return nil
    }

    /// Moves the file aside, for a person to look at, and returns an error that says so.
    func setAside(_ kind: StorageError.Kind, _ what: String) -> StorageError {
        return failure(kind, rename(path, aside) == 0 ? "\(what); it was kept aside as \(aside)" : what)
    }

    /// The number that distinguishes versions of the file: each version is a new file under the same name. `nil` if
    /// there is none.
    var inode: ino_t? {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_ino : nil
    }

    /// Whether the folder of the file exists, readable or not.
    var hasFolder: Bool {
        var status = stat()
        return stat(folder, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    var missingFolder: StorageError {
        failure(.missingFolder, "cannot be found: its folder \(folder) is missing; put it back, or sign in again")
    }

    var lockPath: String { "\(path).lock" }

    /// Opens a lock file beside this one, and creates it if necessary. Returns `nil` if the folder is not writable:
    /// then there is nothing to protect.
    func openLock(makingFolder: Bool) throws(StorageError) -> CInt? {
        if makingFolder { try makeFolder() }
        let descriptor = open(lockPath, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard descriptor < 0 else { return descriptor }
        let code = errno
        var status = stat()
        let isThere = lstat(lockPath, &status) == 0
        switch code {
        case ENOENT: throw missingFolder
        case EROFS: return nil
        case EACCES where !isThere, EPERM where !isThere: return nil
        case ELOOP, EMLINK:
            throw failure(
                .symbolicLink, "cannot be locked: \(lockPath) is a symbolic link, which is not followed; remove it")
        case EISDIR, ENXIO: throw failure(.notAFile, "cannot be locked: \(lockPath) is not a file; remove it")
        default: throw failure(.unwritable, "cannot be locked: \(lockPath): \(reason(code))")
        }
    }

    /// Opens the file for a lock on itself; `nil` if it cannot be opened.
    func openForLock() -> CInt? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        return descriptor >= 0 ? descriptor : nil
    }

    /// Refuses a file that others may have written: with their session, this user's data would go to their account.
    private func refuseOthers(_ status: stat) throws(StorageError) {
        guard status.st_uid == geteuid() else {
            let owner = "belongs to another user (\(status.st_uid), not \(geteuid()))"
            throw failure(.notPrivate, "\(owner) and is not used; find out who put it there, and remove it")
        }
        let mode = status.st_mode & 0o777
        guard mode & 0o077 == 0 else {
            let problem = "is open to other users (mode \(String(mode, radix: 8))) and is not used"
            throw failure(.notPrivate, "\(problem); remove it, or chmod it to 600 if nobody else has written it")
        }
    }

    private var isFolder: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    private func makeFolder() throws(StorageError) {
        var status = stat()
        if stat(folder, &status) == 0 {
            guard status.st_mode & S_IFMT == S_IFDIR else {
                throw failure(.unwritable, "lies in \(folder), which is not a folder")
            }
            return
        }
        // Missing parent folders are created too, each for its owner alone.
        var made = folder.hasPrefix("/") ? "/" : ""
        for part in folder.split(separator: "/") {
            made += made.isEmpty || made == "/" ? part : "/\(part)"
            guard mkdir(made, 0o700) != 0, errno != EEXIST else { continue }
            throw failure(.unwritable, "cannot be written: the folder \(made) cannot be made: \(reason())")
        }
    }

    private func refuseLinksAndFolders() throws(StorageError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFLNK: throw failure(.symbolicLink, "is a symbolic link, which is not followed")
        default: throw failure(.notAFile, "is not a file")
        }
    }

    private func writeAll(_ data: Data, to descriptor: CInt) -> Bool {
        var rest = data[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { buffer in
                #if canImport(Darwin)
                Darwin.write(descriptor, buffer.baseAddress, buffer.count)
                #elseif canImport(Musl)
                Musl.write(descriptor, buffer.baseAddress, buffer.count)
                #else
                Glibc.write(descriptor, buffer.baseAddress, buffer.count)
                #endif
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Ensures that the new name survives a power failure. If the folder cannot be synced, the file itself is still
    /// complete.
    func syncFolder() {
        let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        _ = fsync(descriptor)
        _ = close(descriptor)
    }

    private func reason(_ code: CInt = errno) -> String { String(cString: strerror(code)) }

    func failure(_ kind: StorageError.Kind, _ what: String) -> StorageError {
        StorageError(kind, "\(content) \(path) \(what)")
    }
}
