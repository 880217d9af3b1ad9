#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// An open file, which is closed when it is released.
final class OpenFile: Sendable {
    let path: String
    /// -1 when the file is closed: with it, every function of the system fails.
    private let opened: Lock<CInt>

    init(_ path: String, _ mode: FileSystem.Mode) throws(SystemError) {
        self.path = path
        opened = Lock(try FileSystem.descriptor(of: path, mode))
    }

    var descriptor: CInt { opened.withLock { $0 } }

    /// The status of the file.
    func status() throws(SystemError) -> FileStatus { try FileSystem.status(of: descriptor) }

    /// Whether the path still leads to this file.
    var isPresent: Bool {
        // Whatever cannot be looked at is not there for others either.
        guard let mine = try? status(), let present = try? FileSystem.status(of: path, followingLinks: false)
        else { return false }
        return mine.identity == present.identity
    }

    /// Reads from that offset on, until the buffer is full or the file ends. Returns the number of bytes.
    func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
        try FileSystem.fill(buffer, from: descriptor, at: offset)
    }

    /// Returns the bytes from that offset on, at most `count` of them; none at the end.
    func read(upTo count: Int, at offset: Int) throws(SystemError) -> Data {
        var bytes = [UInt8](repeating: 0, count: count)
        let filled = try bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(SystemError) in try fill(buffer, at: offset) }
        }.get()
        return Data(bytes[..<filled])
    }

    /// Writes all bytes, from that offset on.
    func write(_ data: Data, at offset: Int) throws(SystemError) {
        try data.withUnsafeBytes { bytes in
            Result { () throws(SystemError) in try FileSystem.write(bytes, to: descriptor, at: offset) }
        }.get()
    }

    func truncate(to length: Int) throws(SystemError) { try FileSystem.truncate(descriptor, to: length) }

    func setMode(_ mode: UInt16) throws(SystemError) { try FileSystem.setMode(mode, of: descriptor) }

    /// Waits until what was written is on the disk.
    func sync() throws(SystemError) { try FileSystem.sync(descriptor) }

    /// Locks the file, if it is not locked.
    func lock() throws(SystemError) { try FileSystem.lock(descriptor) }

    /// Unlocks and closes the file. A process that is being started may still hold a copy of the descriptor, and with
    /// it the lock, so closing alone may not unlock.
    func unlockAndClose() {
        // Nothing is lost if that fails: the lock ends with the process at the latest.
        try? FileSystem.unlock(descriptor)
        try? close()
    }

    /// Closes the file, unless it is closed already.
    func close() throws(SystemError) {
        let descriptor = opened.withLock { opened in
            defer { opened = -1 }
            return opened
        }
        if descriptor >= 0 { try FileSystem.closeDescriptor(descriptor) }
    }

    deinit {
        // A writer of the file has synced or closed it before, so nothing is lost if this fails. The last reference may
        // go on any thread, and some file systems wait for their server when a file is closed.
        let descriptor = descriptor
        guard descriptor >= 0 else { return }
        DiskThreads.shared.submit(at: DiskPlace(path)) { try? FileSystem.closeDescriptor(descriptor) }
    }
}

/// What the system knows about a file besides its bytes.
struct FileStatus: Sendable {
    enum Kind: Sendable {
        case file, folder, link, other
    }

    /// Distinguishes a file from all others that exist.
    struct Identity: Sendable, Hashable {
        let device: Int64
        let number: UInt64
    }

    struct Moment: Sendable, Hashable {
        let seconds: Int64
        let nanoseconds: Int64
    }

    /// Distinguishes versions of a file that is replaced: a new one can have the identity of one that is gone.
    struct Version: Sendable, Hashable {
        let identity: Identity
        let modified: Moment
    }

    let kind: Kind
    let length: Int
    /// The number of its names.
    let links: Int
    let owner: UInt32
    /// The permissions.
    let mode: UInt16
    let identity: Identity
    let modified: Moment

    var version: Version { Version(identity: identity, modified: modified) }
}
