#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The folder of a cache on a disk, which several processes may share, and which may be deleted at any time.
///
/// A file is complete and never changes: it is written under another name first, and then replaces its predecessor.
/// Nothing is synced. What a power failure leaves of a file does not have its checksum, and a cache may lose files.
///
/// There is no index: what a file is, its name and its content say. Whatever is not as expected is a miss. A file that
/// this process may remove, and that no version of the program would read, is removed.
///
/// All methods block. Those that change something are called one after the other.
final class CacheFolder: Sendable {
    /// The number of responses, and of the bytes of their files: what is in the folder, or by how much it has grown.
    struct Extent: Sendable, Equatable {
        var responses = 0
        var bytes = 0

        static func += (left: inout Extent, right: Extent) {
            left.responses += right.responses
            left.bytes += right.bytes
        }
    }

    /// What has changed beside what the writer knows.
    struct Changes: Sendable {
        /// The lengths of the files that were written or removed during a count, by the checksums of their names; `nil`
        /// between two counts.
        var counted: [UInt64: Int?]?
        /// By how much the folder has grown because files were lost, outside of a count.
        var lost = Extent()
    }

    /// A place has no more variants than this: they are searched one after the other.
    static let variants = 32
    /// What is used is touched once in this time, so that the processes after this one know of it: one hour.
    private static let touchInterval: Int64 = 3600
    /// The part of a file that is read first: enough for the fields and a small body.
    private static let firstPart = 8 << 10

    let path: String
    /// The clock to which the instants in files belong: that of the machine since its start, so that a wall clock which
    /// is set back makes nothing fresh in the next process. If the system does not name its start, the clock is one of
    /// this process.
    let clock = SystemClock.start.map { Checksum.of($0, seed: 0) } ?? UInt64.random(in: .min ... .max)
    private let present = Lock<CacheFolderKey?>(nil)
    /// What was wrong with the folder first.
    private let problem = Lock((text: String?.none, isTaken: false))
    let changes = Lock(Changes())

    init(_ path: String) {
        self.path = path
    }

    func path(of name: String) -> String { "\(path)/\(name)" }

    /// A new name for a file or a folder that is in nobody's way.
    func newName(_ kind: String) -> String { "\(kind)-\(String(UInt64.random(in: .min ... .max), radix: 16))" }

    // MARK: The key

    /// Returns the key; `nil` if there is none.
    func key() throws(SystemError) -> CacheFolderKey? {
        if let key = present.withLock({ $0 }) { return key }
        guard let bytes = try bytes(of: "key") else { return nil }
        guard let key = CacheFolderKey(reading: bytes) else {
            // What is named by it cannot be found any more. The next key empties the folder.
            note("its key is damaged, so it is emptied")
            try? FileSystem.remove(path(of: "key"))
            return nil
        }
        present.withLock { $0 = key }
        return key
    }

    /// Forgets the key if it is no longer that of the folder: the folder was removed, and another process has made it
    /// again.
    func checkKey() {
        do throws(SystemError) {
            _ = try FileSystem.status(of: path(of: "key"), followingLinks: false)
        } catch {
            // What cannot be looked at may be there again when the error is gone.
            if error != .noSuchFile { return }
        }
        // What cannot be read now is read again when it is needed.
        let file = try? bytes(of: "key")
        present.withLock { key in
            if key?.file != file { key = nil }
        }
    }

    /// Returns the key, and makes it and the folder if they are missing. Of several processes that do so, one makes the
    /// key for all.
    func makeKey() throws(SystemError) -> CacheFolderKey {
        if let key = try key() { return key }
        try makeFolders()
        let draft = newName("new")
        try write([CacheFolderKey().file], to: draft)
        // A draft that stays is removed by a later count.
        defer { try? FileSystem.remove(path(of: draft)) }
        do throws(SystemError) {
            try FileSystem.addName(path(of: "key"), to: path(of: draft))
            // What was named by another key is not found any more.
            _ = try? remove([CacheRemoval.everything])
        } catch {
            // Not every file system has hard links. Then the last process wins.
            if error != .fileExists { try FileSystem.move(path(of: draft), to: path(of: "key")) }
        }
        if let key = try key() { return key }
        // Others can read what is there. It was copied without its mode, for instance.
        try FileSystem.move(path(of: draft), to: path(of: "key"))
        note("its key was not for this user alone, so it is emptied")
        _ = try? remove([CacheRemoval.everything])
        guard let key = try key() else { throw .noSuchFile }
        return key
    }

    // MARK: Problems

    /// Notes what is wrong with the folder, if nothing was before.
    func note(_ problem: String) {
        self.problem.withLock { if $0.text == nil { $0.text = problem } }
    }

    /// Returns what was wrong with the folder first, once.
    func takeProblem() -> String? {
        problem.withLock { problem in
            guard let text = problem.text, !problem.isTaken else { return nil }
            problem.isTaken = true
            return text
        }
    }

    // MARK: Folders

    private func makeFolders() throws(SystemError) {
        var made = path.hasPrefix("/") ? "/" : ""
        for part in path.split(separator: "/") {
            made += made.isEmpty || made == "/" ? part : "/\(part)"
            try makeFolder(at: made)
        }
        mend(path)
        // Without that, the files have the protection that the system gives all others.
        if let opened = try? OpenFile(path, .reading) {
            FileSystem.protectContents(of: opened.descriptor)
            try? opened.close()
        }
    }

    /// Gives a folder of this user back what its owner needs of a mode: it was copied without, for instance.
    func mend(_ path: String) {
        guard let status = try? FileSystem.status(of: path, followingLinks: false), status.kind == .folder,
            status.owner == FileSystem.user, status.mode & 0o700 != 0o700
        else { return }
        try? FileSystem.setMode(0o700, of: path)
    }

    private func makeFolder(at path: String) throws(SystemError) {
        do throws(SystemError) {
            try FileSystem.makeFolder(path)
        } catch {
            // Some systems say first that nothing may be created there.
            guard error != .fileExists, (try? FileSystem.status(of: path, followingLinks: true))?.kind != .folder else {
                return
            }
            throw error
        }
    }

    // MARK: Files

    /// Returns the bytes of a small file; `nil` if there is none that only this user can read and write.
    private func bytes(of name: String) throws(SystemError) -> Data? {
        guard let (file, status) = try open(name) else { return nil }
        // Nothing was written to it that closing could lose.
        defer { try? file.close() }
        return try file.read(upTo: min(status.length, Self.firstPart), at: 0)
    }

    /// Opens a file for reading; `nil` if there is none that only this user can read and write.
    private func open(_ name: String) throws(SystemError) -> (OpenFile, FileStatus)? {
        do throws(SystemError) {
            let file = try OpenFile(path(of: name), .readingNoLink)
            let status = try file.status()
            guard status.kind == .file, status.owner == FileSystem.user, status.mode & 0o077 == 0 else {
                try? file.close()
                return nil
            }
            return (file, status)
        } catch {
            guard ![.noSuchFile, .symbolicLink, .tooManyLinks].contains(error) else { return nil }
            throw error
        }
    }

    /// Writes a new file.
    func write(_ parts: [Data], to name: String) throws(SystemError) {
        let file = try OpenFile(path(of: name), .creating)
        do throws(SystemError) {
            var offset = 0
            for part in parts {
                try file.write(part, at: offset)
                offset += part.count
            }
            try file.close()
        } catch {
            // A draft that stays is removed by a later count.
            try? FileSystem.remove(path(of: name))
            throw error
        }
    }

    /// Returns the length of a file; `nil` if there is none. What is there instead is never read.
    ///
    /// Any other error says nothing about the file: it may be found again when the error is gone.
    func length(of name: String) throws(SystemError) -> Int? {
        do throws(SystemError) {
            let status = try FileSystem.status(of: path(of: name), followingLinks: false)
            return status.kind == .file ? status.length : nil
        } catch {
            // In a file that stands where a folder of the cache should be, there is none either. Where the cache itself
            // should be, it says nothing about the file.
            guard error == .noSuchFile || error == .notAFolder && isThere else { throw error }
            return nil
        }
    }

    /// Whether the folder of the cache is there. What cannot be looked at is not.
    private var isThere: Bool { (try? FileSystem.status(of: path, followingLinks: true))?.kind == .folder }

    /// Removes a file, if it is there. Returns by how much the folder has grown.
    @discardableResult
    func remove(_ name: String) throws(SystemError) -> Extent {
        guard let length = try length(of: name) else { return Extent() }
        do throws(SystemError) {
            try FileSystem.remove(path(of: name))
        } catch {
            guard error == .noSuchFile else { throw error }
            return Extent()
        }
        note(name, length: nil)
        return Extent(responses: -1, bytes: -length)
    }

    /// Returns the names in a folder of the cache, which a link is not; `nil` if it cannot be looked at. An empty one
    /// is removed, unless another process has just put something there.
    func namesToWalk(in folder: String) -> [String]? {
        guard (try? FileSystem.status(of: path(of: folder), followingLinks: false))?.kind == .folder else { return [] }
        mend(path(of: folder))
        do throws(SystemError) {
            let names = try names(in: folder)
            if names.isEmpty { try? FileSystem.removeFolder(path(of: folder)) }
            return names
        } catch {
            note(error.words)
            return nil
        }
    }

    /// Returns the names in a folder; none if it is missing.
    func names(in folder: String) throws(SystemError) -> [String] {
        do throws(SystemError) {
            return try FileSystem.names(in: folder.isEmpty ? path : path(of: folder))
        } catch {
            guard error == .noSuchFile || error == .notAFolder && !folder.isEmpty else { throw error }
            return []
        }
    }

    // MARK: Entries

    /// Reads a file of the cache. Returns `nil` if there is none, or it is not `wanted`. A damaged one is removed.
    ///
    /// The body is read only with `hasBody`, into memory that becomes the body.
    func entry(
        _ name: String, _ key: CacheFolderKey, hasBody: Bool, where wanted: (CacheEntryFile.Fields) -> Bool
    ) throws(SystemError) -> (fields: CacheEntryFile.Fields, body: Data)? {
        guard let (file, status) = try open(name) else { return nil }
        // Nothing was written to it that closing could lose.
        defer { try? file.close() }
        let seed = key.seed(of: name)
        var head = try file.read(upTo: min(status.length, Self.firstPart), at: 0)
        do throws(DamagedEntry) {
            let prefix = try parsed(head) { bytes throws(DamagedEntry) in
                try CacheEntryFile(prefix: bytes, fileLength: status.length)
            }
            let bodyStart = prefix.length - prefix.bodyLength
            // A part that cannot be read counts as damaged, as the body does.
            if head.count < bodyStart {
                guard let longer = try? file.read(upTo: bodyStart, at: 0) else { throw DamagedEntry() }
                head = longer
            }
            let fields = try parsed(head) { bytes throws(DamagedEntry) in try prefix.fields(in: bytes, seed: seed) }
            guard wanted(fields) else { return nil }
            guard hasBody else { return (fields, Data()) }
            var body = Data()
            if head.count == status.length {
                body = head.subdata(in: head.startIndex + bodyStart..<head.endIndex)
            } else if let read = try? self.body(of: file, from: bodyStart, count: prefix.bodyLength) {
                body = read
            }
            guard body.withUnsafeBytes({ prefix.isIntact($0, seed: seed) }) else { throw DamagedEntry() }
            touch(file, status)
            return (fields, body)
        } catch {
            // Another process may have replaced it since; then that is lost, as any file of a cache may be. If it
            // stays, it is damaged the next time too.
            try? lose(name)
            return nil
        }
    }

    /// Removes a file that is of no use.
    func lose(_ name: String) throws(SystemError) {
        let change = try remove(name)
        // A count leaves it out by itself.
        changes.withLock { if $0.counted == nil { $0.lost += change } }
    }

    /// Returns by how much the folder has grown because of that, since this was asked last.
    func takeLost() -> Extent {
        changes.withLock { changes in
            defer { changes.lost = Extent() }
            return changes.lost
        }
    }

    private func parsed<Value>(
        _ data: Data, _ parse: (UnsafeRawBufferPointer) throws(DamagedEntry) -> Value
    ) throws(DamagedEntry) -> Value {
        try data.withUnsafeBytes { bytes in Result { () throws(DamagedEntry) in try parse(bytes) } }.get()
    }

    private func body(of file: OpenFile, from offset: Int, count: Int) throws(SystemError) -> Data {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 16)
        guard let start = memory.baseAddress else { return Data() }
        let body = Data(bytesNoCopy: start, count: count, deallocator: .custom { start, _ in start.deallocate() })
        let filled = try file.fill(memory, at: offset)
        return filled == count ? body : Data()
    }

    private func touch(_ file: OpenFile, _ status: FileStatus) {
        let now = SystemTime.shared.date.timeIntervalSince1970
        guard now - Double(status.modified.seconds) >= Double(Self.touchInterval) else { return }
        // Without it, the file is only removed earlier.
        try? FileSystem.touch(file.descriptor)
    }
}
