#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A count of what is in the folder of a cache, which goes on in steps, so that changes can be made between them.
///
/// The folder is counted now and then, and between the counts a process knows what it has written itself. If there is
/// more than the limit, or almost as much, the count removes the files that were not used for the longest time.
///
/// A file's time is that of its last change; a use changes it once in an hour at most. That is enough from one process
/// to the next. Within a process there is one bit for each file that was used since the last count. When files have to
/// go, the oldest go first, and one with its bit set is touched instead and loses the bit: so a hit writes nothing, and
/// what is used survives.
struct CacheFolderCount: Sendable {
    /// When less than this share of the limit is free, a count removes files: early enough that writes need not wait.
    static let reserve = 16
    /// After a removal, this share of the limit is free, so that not every write removes something.
    static let spare = 8

    private enum Phase: Sendable {
        case beginning, counting
        /// Removes files that were not used after that time. In the first round, those whose bit is set stay, and have
        /// lost it in the second.
        case removing(upTo: Int64, isFirst: Bool)
        case tidying, over
    }

    private struct File: Sendable {
        /// The checksum of its name.
        let bit: UInt64
        var time: Int64
        let length: Int
    }

    private let limit: Int
    private let folder: CacheFolder
    private var phase = Phase.beginning
    private var areas: [String] = []
    private var files: [File] = []
    private var bytes = 0
    /// The files, or the marks, that are still to be looked at.
    private var walk = CacheFolderWalk([])
    /// Whether everything could be looked at.
    private(set) var isComplete = true
    /// What processes have left behind that have died.
    private var leftovers: [String] = []

    /// Begins a count, which has removed what is beyond the limit when it is over.
    init(of folder: CacheFolder, limit: Int) {
        (self.folder, self.limit) = (folder, limit)
        folder.beginNoting()
    }

    /// Looks at that many files. Returns what is in the folder when that is known, and otherwise `nil`. What cannot be
    /// removed now counts, and is removed by a later count.
    mutating func step(_ count: Int, isUsed: (UInt64) -> Bool) throws(SystemError) -> CacheFolder.Extent? {
        var count = count
        while count > 0 {
            switch phase {
            case .beginning: try begin()
            case .counting:
                guard let name = walk.next(in: folder) else {
                    isComplete = walk.isComplete
                    plan(isFirst: true)
                    continue
                }
                if let status = folder.status(of: name) {
                    add(File(bit: Checksum.of(name, seed: 0), time: status.modified.total, length: status.length))
                }
            case .removing(let last, let isFirst):
                guard let name = walk.next(in: folder) else {
                    if isFirst { plan(isFirst: false) } else { tidy() }
                    continue
                }
                look(at: name, last, isFirst: isFirst, isUsed)
            case .tidying:
                if let leftover = leftovers.popLast() {
                    _ = try? folder.empty(leftover)
                } else if let mark = walk.next(in: folder) {
                    folder.removeIfOld(mark)
                } else {
                    phase = .over
                    continue
                }
            case .over: return folder.endNoting(files.map { ($0.bit, $0.length) })
            }
            count -= 1
        }
        return nil
    }

    private mutating func begin() throws(SystemError) {
        folder.checkKey()
        for name in try folder.names(in: "") {
            if CachePlace.isArea(name) {
                areas.append(name)
            } else if name.hasPrefix("old-") {
                leftovers.append(name)
            } else if name.hasPrefix("new-"), let status = folder.status(of: name), folder.isLeftover(status) {
                try? FileSystem.remove(folder.path(of: name))
            }
        }
        (phase, walk) = (.counting, CacheFolderWalk(areas))
    }

    private mutating func add(_ file: File) {
        files.append(file)
        bytes += file.length
    }

    /// Decides whether files are to be removed, and which.
    private mutating func plan(isFirst: Bool) {
        let target = limit - limit / Self.spare
        guard bytes > (isFirst ? limit - limit / Self.reserve : target) else { return tidy() }
        files.sort { $0.time < $1.time }
        var (excess, last) = (bytes - target, Int64.min)
        for file in files where excess > 0 {
            excess -= file.length
            last = file.time
        }
        (phase, walk, files) = (.removing(upTo: last, isFirst: isFirst), CacheFolderWalk(areas), [])
    }

    /// Removes a file, or keeps it.
    private mutating func look(at name: String, _ last: Int64, isFirst: Bool, _ isUsed: (UInt64) -> Bool) {
        guard let status = folder.status(of: name) else { return }
        var file = File(bit: Checksum.of(name, seed: 0), time: status.modified.total, length: status.length)
        if file.time <= last, bytes > limit - limit / Self.spare {
            if isFirst, isUsed(file.bit) {
                folder.touch(name)
                file.time = .max
            } else if let change = try? folder.remove(name) {
                bytes += change.bytes
                return
            }
        }
        files.append(file)
    }

    /// Removes what is of no use to anybody.
    private mutating func tidy() {
        let names = (folder.namesToWalk(in: CacheFolder.Mark.folder) ?? []).map { "\(CacheFolder.Mark.folder)/\($0)" }
        // There are only folders.
        leftovers += names.filter { folder.status(of: $0) != nil }
        (phase, walk) = (.tidying, CacheFolderWalk(names))
    }
}

/// The files of responses in some folders of a cache, one after the other.
struct CacheFolderWalk: Sendable {
    /// The folders that are still to be looked at, and the names of files in the one before those.
    private var folders: [String]
    private var names: [String] = []
    /// Whether all folders so far could be looked at.
    private(set) var isComplete = true

    init(_ folders: [String]) {
        self.folders = folders
    }

    mutating func next(in cache: CacheFolder) -> String? {
        while names.isEmpty {
            guard let next = folders.popLast() else { return nil }
            guard let found = cache.namesToWalk(in: next) else {
                isComplete = false
                continue
            }
            for name in found {
                if CachePlace.isFolder(name) {
                    folders.append("\(next)/\(name)")
                } else {
                    names.append("\(next)/\(name)")
                }
            }
        }
        return names.removeLast()
    }
}

extension CacheFolder {
    /// Drafts that are older than this were left by processes that have died: ten minutes.
    private static let draftLifetime: Int64 = 600

    /// Whether a file that only is there for a moment is too old for that.
    func isLeftover(_ status: FileStatus) -> Bool {
        let age = SystemTime.shared.date.timeIntervalSince1970 - Double(status.modified.seconds)
        return age > Double(Self.draftLifetime)
    }

    /// The status of a file; `nil` if another process has removed it since, or it is none.
    func status(of name: String) -> FileStatus? {
        guard let status = try? FileSystem.status(of: path(of: name), followingLinks: false), status.kind == .file
        else { return nil }
        return status
    }

    /// Notes that a file was used. Without that, it goes earlier than it should.
    fileprivate func touch(_ name: String) {
        guard let file = try? OpenFile(path(of: name), .readingNoLink) else { return }
        try? FileSystem.touch(file.descriptor)
        try? file.close()
    }

    // MARK: Changes during a count

    /// From now on, changes are noted.
    fileprivate func beginNoting() { changes.withLock { $0.counted = [:] } }

    /// Notes the length that a file has now; `nil` if it is gone.
    func note(_ name: String, length: Int?) {
        changes.withLock { _ = $0.counted?.updateValue(length, forKey: Checksum.of(name, seed: 0)) }
    }

    /// Ends the notes. Returns what is in the folder, of which those files were counted: a file that has changed since
    /// counts as it is.
    @discardableResult
    func endNoting(_ counted: [(bit: UInt64, length: Int)] = []) -> Extent {
        let changed = changes.withLock { changes in
            defer { changes = Changes() }
            return changes.counted ?? [:]
        }
        var extent = Extent()
        for file in counted where changed[file.bit] == nil { extent += Extent(responses: 1, bytes: file.length) }
        for length in changed.values { if let length { extent += Extent(responses: 1, bytes: length) } }
        return extent
    }
}
