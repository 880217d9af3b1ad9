#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How a cache on a disk keeps to its limit.
///
/// The folder is counted now and then, and between the counts a process knows what it has written itself. A file's time
/// is that of its last change; a use changes it once in an hour at most. That is enough from one process to the next.
/// Within a process there is one bit for each file that was used since the last count. When files have to go, the
/// oldest go first, and one with its bit set is touched instead and loses the bit: so a hit writes nothing, and what is
/// used survives.
extension CacheFolder {
    /// Drafts that are older than this were left by processes that have died: ten minutes.
    private static let draftLifetime: Int64 = 600
    /// After a removal, this share of the limit is free, so that not every write removes something.
    static let spare = 8

    /// Counts what is in the folder. If there is more than `limit`, removes the files that were not used for the
    /// longest time, and what processes left behind that have died. Returns what is there then. What cannot be removed
    /// now counts, and is removed by a later count.
    func count(limit: Int, isUsed: (UInt64) -> Bool) throws(SystemError) -> Extent {
        checkKey()
        var files: [(time: Int64, length: Int)] = []
        var areas: [String] = []
        for name in try names(in: "") {
            if CachePlace.isArea(name) {
                areas.append(name)
            } else if name.hasPrefix("old-") {
                _ = try? empty(name)
            } else if name.hasPrefix("new-") {
                removeDraft(name)
            }
        }
        for area in areas {
            for name in try self.files(in: area) {
                if let status = status(of: name) { files.append((status.modified.total, status.length)) }
            }
        }
        var extent = Extent(responses: files.count, bytes: files.reduce(0) { $0 + $1.length })
        guard extent.bytes > limit else { return extent }
        let target = limit - limit / Self.spare
        // Those whose bit is set stay in the first round, and have lost it in the second.
        for round in 0..<2 where extent.bytes > target {
            files.sort { $0.time < $1.time }
            var (excess, last) = (extent.bytes - target, Int64.min)
            for file in files where excess > 0 {
                excess -= file.length
                last = file.time
            }
            files.removeAll()
            for area in areas {
                for name in try self.files(in: area) {
                    guard let status = status(of: name) else { continue }
                    var time = status.modified.total
                    if time <= last, extent.bytes > target {
                        if round == 0, isUsed(Checksum.of(name, seed: 0)) {
                            touch(name)
                            time = .max
                        } else if let change = try? remove(name) {
                            extent += change
                            continue
                        }
                    }
                    files.append((time, status.length))
                }
            }
        }
        for area in areas { removeEmptyFolders(in: area) }
        return Extent(responses: files.count, bytes: files.reduce(0) { $0 + $1.length })
    }

    /// Removes folders without files. One that has some, or that another process uses at this moment, stays.
    private func removeEmptyFolders(in area: String) {
        for name in (try? names(in: area)) ?? [] where name.hasSuffix(".d") {
            try? FileSystem.removeFolder(path(of: "\(area)/\(name)"))
        }
        try? FileSystem.removeFolder(path(of: area))
    }

    /// The status of a file; `nil` if another process has removed it since, or it is none.
    private func status(of name: String) -> FileStatus? {
        guard let status = try? FileSystem.status(of: path(of: name), followingLinks: false), status.kind == .file
        else { return nil }
        return status
    }

    private func removeDraft(_ name: String) {
        guard let status = status(of: name) else { return }
        let age = SystemTime.shared.date.timeIntervalSince1970 - Double(status.modified.seconds)
        if age > Double(Self.draftLifetime) { try? FileSystem.remove(path(of: name)) }
    }

    /// Notes that a file was used. Without that, it goes earlier than it should.
    private func touch(_ name: String) {
        guard let file = try? OpenFile(path(of: name), .readingNoLink) else { return }
        try? FileSystem.touch(file.descriptor)
        try? file.close()
    }
}
