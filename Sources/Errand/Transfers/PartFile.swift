#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The file that a download fills, beside the file that it becomes (`D4`).
///
/// `app.zip.part` holds the first bytes of the file, however few, and `app.zip.part.json` says of which version. A kill
/// at any instant leaves them so: the record is written after the part has been emptied and before the first byte comes
/// in, and the bytes of a part are appended in order. When the part is complete it is synced and renamed, so the target
/// is there whole or not at all; a record that is left without a part counts for nothing.
///
/// The part is locked as long as it is open, so two downloads to one place do not mix (`D5`). A part that was renamed
/// or removed before its lock was acquired is not the one that the path leads to; then the path is opened again. What
/// happens to the path later is checked before anything is done with it.
///
/// All methods block: they are called on a thread for the disk.
final class PartFile: Sendable {
    let target: String
    private let path: String
    private let record: PrivateFile
    private let folder: String
    private let file: OpenFile
    private let identity: FileStatus.Identity
    private let isHeld = Lock(true)

    /// The parts that are open in this process: not every file system has locks.
    private static let open = Lock<Set<FileStatus.Identity>>([])

    /// Opens the part of a file, and creates it if there is none.
    init(of target: String) throws(ServiceError) {
        self.target = target
        path = Self.path(beside: target)
        record = PrivateFile(path: "\(path).json", content: "the record of the download")
        folder = try Self.checkedFolder(of: target)
        (file, identity) = try Self.openLocked(path, in: folder, for: target)
    }

    /// The number of bytes in the part; 0 if it is not known, so that no byte is taken for granted.
    var length: Int { (try? file.status().length) ?? 0 }

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
        try or("emptied") { () throws(SystemError) in try file.truncate(to: 0) }
        // A record without bytes says nothing; one that cannot be removed is replaced later.
        try? record.remove()
    }

    /// Writes bytes at that offset, which is the end of the part.
    func write(_ data: Data, at offset: Int) throws(ServiceError) {
        guard length == offset else { throw .unusableFile("\(path) was changed during the download") }
        try or("written") { () throws(SystemError) in try file.write(data, at: offset) }
        FileSystem.beginWriting(file.descriptor, from: offset, count: data.count)
    }

    /// Returns the bytes from that offset on, at most `count` of them; none at the end.
    func read(from offset: Int, upTo count: Int) throws(ServiceError) -> Data {
        try or("read") { () throws(SystemError) in try file.read(upTo: count, at: offset) }
    }

    /// Waits until all bytes are on the disk.
    func sync() throws(ServiceError) {
        do throws(ServiceError) {
            try or("written") { () throws(SystemError) in try file.sync() }
        } catch {
            // The system says once that bytes were lost. A writer that continued would not learn of it.
            remove()
            throw error
        }
    }

    /// Puts the file in place, which has that many bytes. They are on the disk.
    func putInPlace(_ count: Int) throws(ServiceError) {
        // It may have become a folder or a link during the download.
        _ = try Self.checkedFolder(of: target)
        guard file.isPresent, length == count else {
            throw .unusableFile("\(path) was changed or removed during the download")
        }
        try or("put in place") { () throws(SystemError) in try FileSystem.move(path, to: target) }
        record.syncFolder()
        removeRecord()
    }

    /// Removes the part and its record, unless they have become those of somebody else.
    func remove() {
        guard file.isPresent else { return }
        // Whatever cannot be removed is not used again: without a record a part counts for nothing.
        try? record.remove()
        try? FileSystem.remove(path)
    }

    /// Removes the record of a part that has gone, unless another download has the place by now: then it is that one's.
    private func removeRecord() {
        // Whatever fails here leaves a record without bytes, which counts for nothing.
        guard let place = try? OpenFile(path, .updating) else { return }
        defer { place.unlockAndClose() }
        do throws(SystemError) {
            try place.lock()
        } catch {
            guard error != .wouldBlock else { return }
        }
        // The same: what is there is left, and counts for nothing.
        guard place.isPresent, (try? place.status().length) == 0 else { return }
        try? record.remove()
        try? FileSystem.remove(path)
    }

    /// Closes and unlocks the part.
    func release() {
        let wasHeld = isHeld.withLock { isHeld in
            defer { isHeld = false }
            return isHeld
        }
        guard wasHeld else { return }
        // First, because a file that is closed may leave its number to the next one.
        Self.open.withLock { _ = $0.remove(identity) }
        file.unlockAndClose()
    }

    deinit { release() }

    /// Runs `body`, and translates an error of the system: the part cannot be what is said of it.
    private func or<Value>(
        _ what: String, _ body: () throws(SystemError) -> Value
    ) throws(ServiceError) -> Value {
        do throws(SystemError) {
            return try body()
        } catch {
            throw .unusableFile("\(path) cannot be \(what): \(error.words)")
        }
    }
}

extension PartFile {
    /// Checks that the target can be written, and returns its folder (`D7`).
    private static func checkedFolder(of target: String) throws(ServiceError) -> String {
        let name = target.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard !["", ".", ".."].contains(name), !target.utf8.contains(0) else {
            throw .badFile("\(HTTPSyntax.quoted(target)) is not the path of a file")
        }
        let folder = target.dropLast(name.count + 1)
        let path = folder.isEmpty ? target.hasPrefix("/") ? "/" : "." : String(folder)
        let status: FileStatus
        do throws(SystemError) {
            status = try FileSystem.status(of: path, followingLinks: true)
        } catch {
            let reason = error == .noSuchFile ? "is missing; create it first" : "cannot be reached: \(error.words)"
            throw .badFile("the folder \(path) \(reason)")
        }
        guard status.kind == .folder else { throw .badFile("\(path) is not a folder") }
        switch try kind(of: target) {
        case nil, .file: return path
        case .folder: throw .badFile("\(target) is a folder; add the name of the file")
        case .link: throw .badFile("\(target) is a symbolic link, which is not followed")
        case .other: throw .badFile("\(target) is not a regular file")
        }
    }

    /// Returns what is at the target; `nil` if nothing is.
    private static func kind(of target: String) throws(ServiceError) -> FileStatus.Kind? {
        do throws(SystemError) {
            return try FileSystem.status(of: target, followingLinks: false).kind
        } catch {
            // In a folder that cannot be searched, the part cannot be created either, which says so.
            guard error != .noSuchFile, error != .permissionDenied else { return nil }
            // Most often its name is too long, which is found out here and not after the download.
            throw .badFile("\(target) cannot be accessed: \(error.words)")
        }
    }

    private static func openLocked(
        _ path: String, in folder: String, for target: String
    ) throws(ServiceError) -> (OpenFile, FileStatus.Identity) {
        while true {
            let file: OpenFile
            do throws(SystemError) {
                file = try OpenFile(path, .updating)
            } catch {
                switch error {
                case .permissionDenied, .notPermitted, .readOnlyFileSystem:
                    // A part that cannot even be looked at lies in a folder that is not writable either.
                    let isThere = (try? FileSystem.status(of: path, followingLinks: false)) != nil
                    throw isThere ? notOwn(path) : .badFile("the folder \(folder) is not writable")
                case .symbolicLink: throw .badFile("\(path) is a symbolic link, which is not followed; remove it")
                // A folder of the system that takes no files, such as `/proc/self`; or something else is at the path.
                case .noSuchFile, .notAFolder, .isAFolder, .noSuchDevice, .invalidArgument, .notSupported,
                    .operationNotSupported:
                    throw .badFile("\(path) cannot be created: \(error.words)")
                default: throw .unusableFile("\(path) cannot be created: \(error.words)")
                }
            }
            if let identity = try lock(file, for: target) { return (file, identity) }
        }
    }

    /// Locks an open part. Returns `nil` if the path leads to another file by now.
    private static func lock(_ file: OpenFile, for target: String) throws(ServiceError) -> FileStatus.Identity? {
        do throws(SystemError) {
            try file.lock()
        } catch {
            guard error != .wouldBlock else { throw occupied(target) }
            // The file system has no locks; there a download of another process is noticed when it writes.
        }
        // A file without a status is opened again, as one that has gone.
        guard file.isPresent, let status = try? file.status() else { return nil }
        // A name that somebody else has put there may lead to a file that must not be overwritten.
        guard status.kind == .file, status.owner == FileSystem.user, status.links == 1 else { throw notOwn(file.path) }
        guard open.withLock({ $0.insert(status.identity).inserted }) else { throw occupied(target) }
        // If that fails, the file keeps the mode that its owner has given it.
        try? file.setMode(0o600)
        return status.identity
    }

    private static func occupied(_ target: String) -> ServiceError {
        .badFile("another download writes to \(target); wait for its end, or choose another name")
    }

    private static func notOwn(_ path: String) -> ServiceError {
        .badFile("\(path) is not a regular file owned by this user; remove it")
    }

    /// The greatest number of bytes in the name of a part: a name may have 255, and its record's draft adds 9.
    private static let longestName = 246

    /// Returns the path of the part of a file: its name with `.part`, shortened if that would be too long.
    private static func path(beside target: String) -> String {
        let name = target.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        let end = ".part"
        guard name.utf8.count + end.utf8.count > longestName else { return target + end }
        let hash = Hexadecimal.encode(Array(SHA256.hash(of: Data(name.utf8)).prefix(8)))
        var short = name
        while short.utf8.count + hash.utf8.count + 1 + end.utf8.count > longestName { short.removeLast() }
        return "\(target.dropLast(name.count))\(short)-\(hash)\(end)"
    }
}
