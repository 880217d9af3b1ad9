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

/// The file that a download fills, beside the file that it becomes (`D4`).
///
/// `app.zip.part` holds the first bytes of the file, however few, and `app.zip.part.json` says of which version. A kill
/// at any instant leaves them so: the record is written after the part has been emptied and before the first byte comes
/// in, and the bytes of a part are appended in order. When the part is complete it is synced and renamed, so the target
/// is there whole or not at all; a record that is left without a part counts for nothing.
///
/// The part is locked as long as it is open, so two downloads to one place do not mix (`D5`). A part that was renamed
/// or removed before its lock was acquired is not the one that the path leads to; then the path is opened again.
///
/// All methods block: they are called on a thread for the disk.
final class PartFile: Sendable {
    let target: String
    private let path: String
    private let record: PrivateFile
    private let folder: String
    /// `nil` when the file is closed.
    private let descriptor: Lock<CInt?>

    /// Opens the part of a file, and creates it if there is none.
    init(of target: String) throws(ServiceError) {
        self.target = target
        path = "\(target).part"
        record = PrivateFile(path: "\(path).json", content: "the record of the download")
        folder = try Self.checkedFolder(of: target)
        descriptor = try Lock(Self.openLocked(path, in: folder, for: target))
    }

    /// The number of bytes in the part.
    var length: Int {
        withDescriptor { descriptor in
            var status = stat()
            return fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
        }
    }

    /// Returns the record, if there is one.
    func savedRecord() -> DownloadRecord? {
        // Whatever is wrong with it, the download begins again without it.
        (try? record.read(isAlone: false)).flatMap { try? JSONDecoder().decode(DownloadRecord.self, from: $0) }
    }

    func save(_ saved: DownloadRecord) throws(ServiceError) {
        do {
            try record.write(JSONEncoder().encode(saved))
        } catch let error as StorageError {
            throw .unusableFile(error.message)
        } catch {
            throw .unusableFile("\(record.path) cannot be encoded")
        }
    }

    /// Removes all bytes, and the record of what they were.
    func empty() throws(ServiceError) {
        guard withDescriptor({ ftruncate($0, 0) }) == 0 else { throw failure("emptied") }
        // A record without bytes says nothing; one that cannot be removed is replaced later.
        try? record.remove()
    }

    /// Writes bytes at that offset, which is the end of the part.
    func write(_ data: Data, at offset: Int) throws(ServiceError) {
        let isWritten = withDescriptor { descriptor in
            data.withUnsafeBytes { buffer in
                var done = 0
                while done < buffer.count {
                    let rest = UnsafeRawBufferPointer(rebasing: buffer[done...])
                    let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + done))
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { return false }
                    done += count
                }
                WriteBack.begin(descriptor, from: offset, count: done)
                return true
            }
        }
        guard isWritten else { throw failure("written") }
    }

    /// Returns the bytes from that offset on, at most `count` of them; none at the end.
    func read(from offset: Int, upTo count: Int) throws(ServiceError) -> Data {
        var bytes = [UInt8](repeating: 0, count: count)
        var result = -1
        repeat {
            result = withDescriptor { descriptor in
                bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
            }
        } while result < 0 && errno == EINTR
        guard result >= 0 else { throw failure("read") }
        return Data(bytes[..<result])
    }

    /// Puts the file in place, once its bytes are on the disk.
    func putInPlace() throws(ServiceError) {
        guard withDescriptor({ fsync($0) }) == 0 else { throw failure("written") }
        // It may have become a folder or a link meanwhile.
        _ = try Self.checkedFolder(of: target)
        guard rename(path, target) == 0 else { throw failure("put in place") }
        record.syncFolder()
        // A record without a part counts for nothing.
        try? record.remove()
    }

    /// Removes the part and its record.
    func remove() {
        // Whatever cannot be removed is not used again: without a record a part counts for nothing.
        try? record.remove()
        _ = unlink(path)
    }

    /// Closes and unlocks the part.
    func release() {
        let opened = descriptor.withLock { descriptor in
            defer { descriptor = nil }
            return descriptor
        }
        guard let opened else { return }
        // A process that is being started may still hold a copy of the descriptor, and with it the lock.
        _ = flock(opened, LOCK_UN)
        _ = close(opened)
    }

    deinit { release() }

    private func withDescriptor<Value>(_ body: (CInt) -> Value) -> Value {
        // A closed file has the descriptor -1, with which every function of the system fails.
        body(descriptor.withLock { $0 ?? -1 })
    }

    private func failure(_ what: String) -> ServiceError {
        .unusableFile("\(path) cannot be \(what): \(String(cString: strerror(errno)))")
    }
}

extension PartFile {
    /// Checks that the target can be written, and returns its folder (`D7`).
    private static func checkedFolder(of target: String) throws(ServiceError) -> String {
        let name = target.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard !["", ".", ".."].contains(name), !target.utf8.contains(0) else {
            throw .badFile("\(HTTPSyntax.quoted(target)) names no file")
        }
        let folder = target.dropLast(name.count + 1)
        let path = folder.isEmpty ? target.hasPrefix("/") ? "/" : "." : String(folder)
        var status = stat()
        guard stat(path, &status) == 0 else {
            let reason = errno == ENOENT ? "is missing" : "cannot be reached: \(String(cString: strerror(errno)))"
            throw .badFile("the folder \(path) \(reason)")
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw .badFile("\(path) is not a folder") }
        guard lstat(target, &status) == 0 else { return path }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return path
        case S_IFDIR: throw .badFile("\(target) is a folder")
        case S_IFLNK: throw .badFile("\(target) is a symbolic link, which is not followed")
        default: throw .badFile("\(target) is not a regular file")
        }
    }

    private static func openLocked(_ path: String, in folder: String, for target: String) throws(ServiceError) -> CInt {
        while true {
            let descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
            guard descriptor >= 0 else {
                switch errno {
                case EACCES, EPERM, EROFS: throw .badFile("the folder \(folder) is not writable")
                case ELOOP: throw .badFile("\(path) is a symbolic link, which is not followed; remove it")
                case let code: throw .unusableFile("\(path) cannot be created: \(String(cString: strerror(code)))")
                }
            }
            do throws(ServiceError) {
                if try lock(descriptor, path, for: target) { return descriptor }
            } catch {
                _ = close(descriptor)
                throw error
            }
            _ = close(descriptor)
        }
    }

    /// Locks an open part. Returns `false` if the path leads to another file by now.
    private static func lock(_ descriptor: CInt, _ path: String, for target: String) throws(ServiceError) -> Bool {
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno != EWOULDBLOCK else {
                throw .badFile("another download writes to \(target); wait for its end, or choose another name")
            }
            // The file system has no locks; there the second download is not noticed.
            break
        }
        var (mine, present) = (stat(), stat())
        guard fstat(descriptor, &mine) == 0, lstat(path, &present) == 0, mine.st_ino == present.st_ino,
            mine.st_dev == present.st_dev
        else { return false }
        // A name that somebody else has put there may lead to a file that must not be overwritten.
        guard mine.st_mode & S_IFMT == S_IFREG, mine.st_uid == geteuid(), mine.st_nlink == 1 else {
            throw .badFile("\(path) is not a file of this user's own; remove it")
        }
        _ = fchmod(descriptor, 0o600)
        return true
    }
}
