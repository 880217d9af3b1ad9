#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#else
import Darwin
#endif
#if URLSession && os(Linux)
// FoundationNetworking imports this module, which then owns the types of time for the compiler.
import CDispatch
#endif

/// The functions of the C library for files. No other file of the library imports the C library for them.
///
/// They decide nothing: each throws the number of its error, and its callers say what that means. A function that a
/// signal has interrupted is called again.
enum FileSystem {
    /// How a file is opened. No mode waits for the other end of a pipe, and no new process inherits the file.
    enum Mode {
        /// For reading.
        case reading
        /// For reading, unless a symbolic link is there.
        case readingNoLink
        /// For reading and writing, unless a symbolic link is there. A missing file is created, for its owner alone.
        case updating
        /// For writing to a new file, for its owner alone.
        case creating
    }

    static func descriptor(of path: String, _ mode: Mode) throws(SystemError) -> CInt {
        let flags =
            switch mode {
            case .reading: O_RDONLY | O_NONBLOCK
            case .readingNoLink: O_RDONLY | O_NONBLOCK | O_NOFOLLOW
            case .updating: O_RDWR | O_CREAT | O_NONBLOCK | O_NOFOLLOW
            case .creating: O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
            }
        return try result { open(path, flags | O_CLOEXEC, 0o600) }
    }

    /// Closes a descriptor, which is gone afterwards even if this throws.
    static func closeDescriptor(_ descriptor: CInt) throws(SystemError) {
        // Not once more: by then, the number may belong to another file.
        guard close(descriptor) == 0 else { throw SystemError(errno) }
    }

    static func status(of descriptor: CInt) throws(SystemError) -> FileStatus {
        var status = stat()
        _ = try result { fstat(descriptor, &status) }
        return FileStatus(status)
    }

    static func status(of path: String, followingLinks: Bool) throws(SystemError) -> FileStatus {
        var status = stat()
        _ = try result { followingLinks ? stat(path, &status) : lstat(path, &status) }
        return FileStatus(status)
    }

    /// Reads from that offset on, until the buffer is full or the file ends. Returns the number of bytes.
    static func fill(
        _ buffer: UnsafeMutableRawBufferPointer, from descriptor: CInt, at offset: Int
    ) throws(SystemError) -> Int {
        var done = 0
        while done < buffer.count, let rest = buffer.baseAddress?.advanced(by: done) {
            let count = try result { pread(descriptor, rest, buffer.count - done, off_t(offset + done)) }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Writes all bytes, from that offset on.
    static func write(
        _ buffer: UnsafeRawBufferPointer, to descriptor: CInt, at offset: Int
    ) throws(SystemError) {
        var done = 0
        while done < buffer.count, let rest = buffer.baseAddress?.advanced(by: done) {
            let count = try result { pwrite(descriptor, rest, buffer.count - done, off_t(offset + done)) }
            guard count > 0 else { throw SystemError(EIO) }
            done += count
        }
    }

    static func truncate(_ descriptor: CInt, to length: Int) throws(SystemError) {
        _ = try result { ftruncate(descriptor, off_t(length)) }
    }

    /// Waits until what was written is on the disk.
    static func sync(_ descriptor: CInt) throws(SystemError) {
        _ = try result { fsync(descriptor) }
    }

    static func setMode(_ mode: UInt16, of descriptor: CInt) throws(SystemError) {
        _ = try result { fchmod(descriptor, mode_t(mode)) }
    }

    static func setMode(_ mode: UInt16, of path: String) throws(SystemError) {
        _ = try result { chmod(path, mode_t(mode)) }
    }

    /// Locks a file for its descriptor, if no other one has locked it; throws ``SystemError/wouldBlock`` otherwise.
    static func lock(_ descriptor: CInt) throws(SystemError) {
        _ = try result { flock(descriptor, LOCK_EX | LOCK_NB) }
    }

    static func unlock(_ descriptor: CInt) throws(SystemError) {
        _ = try result { flock(descriptor, LOCK_UN) }
    }

    /// Gives a file another name, in place of the file that has it now.
    static func move(_ path: String, to other: String) throws(SystemError) {
        _ = try result { rename(path, other) }
    }

    /// Gives a file a second name, unless another file has that.
    static func addName(_ other: String, to path: String) throws(SystemError) {
        _ = try result { link(path, other) }
    }

    static func remove(_ path: String) throws(SystemError) {
        _ = try result { unlink(path) }
    }

    /// Creates a folder for its owner alone.
    static func makeFolder(_ path: String) throws(SystemError) {
        _ = try result { mkdir(path, 0o700) }
    }

    static func removeFolder(_ path: String) throws(SystemError) {
        _ = try result { rmdir(path) }
    }

    /// Returns the names in a folder, in no order.
    static func names(in folder: String) throws(SystemError) -> [String] {
        guard let opened = opendir(folder) else { throw SystemError(errno) }
        defer { closedir(opened) }
        var names: [String] = []
        while let entry = readdir(opened) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { bytes in
                bytes.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Sets the time of the last change of a file to now.
    static func touch(_ descriptor: CInt) throws(SystemError) {
        _ = try result { futimens(descriptor, nil) }
    }

    /// Has the system encrypt what is created in a folder until the device was unlocked for the first time since its
    /// start. Does nothing where the system knows no such classes.
    static func protectContents(of folder: CInt) {
        #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
        // The class C is `completeUntilFirstUserAuthentication`. Without it, files have the default class of the app.
        _ = fcntl(folder, F_SETPROTECTIONCLASS, 3)
        #endif
    }

    /// The user whose files this process creates.
    static var user: UInt32 { UInt32(geteuid()) }

    /// Returns what a function of the C library returns; throws its error if that is negative.
    @inline(__always)
    private static func result<Number: SignedInteger>(_ function: () -> Number) throws(SystemError) -> Number {
        while true {
            let number = function()
            guard number < 0 else { return number }
            let code = errno
            guard code == EINTR else { throw SystemError(code) }
        }
    }
}

extension FileStatus {
    fileprivate init(_ status: stat) {
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .folder
            case S_IFLNK: .link
            default: .other
            }
        length = Int(status.st_size)
        links = Int(status.st_nlink)
        owner = UInt32(status.st_uid)
        mode = UInt16(status.st_mode & 0o777)
        identity = Identity(
            device: Int64(truncatingIfNeeded: status.st_dev), number: UInt64(truncatingIfNeeded: status.st_ino))
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        modified = Moment(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }
}

/// An error of the C library: a value of `errno`.
struct SystemError: Error, Hashable {
    let code: CInt

    init(_ code: CInt) {
        self.code = code
    }

    static var notPermitted: SystemError { SystemError(EPERM) }
    static var noSuchFile: SystemError { SystemError(ENOENT) }
    static var noSuchDevice: SystemError { SystemError(ENXIO) }
    static var badDescriptor: SystemError { SystemError(EBADF) }
    static var permissionDenied: SystemError { SystemError(EACCES) }
    static var fileExists: SystemError { SystemError(EEXIST) }
    static var notAFolder: SystemError { SystemError(ENOTDIR) }
    static var isAFolder: SystemError { SystemError(EISDIR) }
    static var invalidArgument: SystemError { SystemError(EINVAL) }
    static var folderNotEmpty: SystemError { SystemError(ENOTEMPTY) }
    static var readOnlyFileSystem: SystemError { SystemError(EROFS) }
    static var noSpace: SystemError { SystemError(ENOSPC) }
    static var quotaExceeded: SystemError { SystemError(EDQUOT) }
    static var wouldBlock: SystemError { SystemError(EWOULDBLOCK) }
    /// What `O_NOFOLLOW` reports for a symbolic link.
    static var symbolicLink: SystemError { SystemError(ELOOP) }
    /// The same, on FreeBSD's file systems.
    static var tooManyLinks: SystemError { SystemError(EMLINK) }
    static var notSupported: SystemError { SystemError(ENOTSUP) }
    static var operationNotSupported: SystemError { SystemError(EOPNOTSUPP) }
    static var noFunction: SystemError { SystemError(ENOSYS) }

    /// What the system says about it.
    var words: String { String(cString: strerror(code)) }
}

// MARK: Writing early

extension FileSystem {
    #if os(Linux)
    /// Large enough for the disk, small enough not to be felt.
    private static let writingStep = 8 << 20
    private typealias SyncRange = @convention(c) (CInt, off_t, off_t, CUnsignedInt) -> CInt

    /// `sync_file_range`, which is not visible to Swift.
    private static let syncRange = dlsym(nil, "sync_file_range").map { unsafeBitCast($0, to: SyncRange.self) }
    /// `SYNC_FILE_RANGE_WRITE`: without waiting for what is being written already.
    private static let syncFlags: CUnsignedInt = 2
    #endif

    /// Lets the system begin early to write bytes to the disk, while others still arrive: then the sync at the end has
    /// little to wait for.
    static func beginWriting(_ descriptor: CInt, from offset: Int, count: Int) {
        #if os(Linux)
        let (start, end) = (offset / writingStep * writingStep, (offset + count) / writingStep * writingStep)
        guard end > start else { return }
        // An error comes again from the sync at the end.
        _ = syncRange?(descriptor, off_t(start), off_t(end - start), syncFlags)
        #endif
    }
}
