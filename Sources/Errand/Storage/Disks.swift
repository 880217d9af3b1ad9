#if os(Linux)
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// Which disk work on files goes to: the one to which its path leads by its text, without asking a disk that may hang.
///
/// A symbolic link in the path may lead to another disk. That is looked up only when work on the path hangs, and
/// remembered.
final class Disks: Sendable {
    private struct State {
        var table = MountTable()
        var read: Instant?
        /// The disks of folders to which links lead.
        var moved: [String: String] = [:]
    }

    static let shared = Disks()

    /// For how long the system's list of mounts counts.
    private static let memory = Duration.seconds(1)
    /// At this number of folders whose disks were looked up, all are forgotten.
    private static let mostMoved = 256
    /// As many links in a path as Linux follows.
    private static let mostLinks = 40

    private let readTable: @Sendable () -> String
    private let state = Lock(State())

    /// Creates a list of disks from the system's, or from such a text.
    init(_ readTable: @escaping @Sendable () -> String = { Disks.systemTable() }) {
        self.readTable = readTable
    }

    /// Returns the name of the disk of that place.
    func disk(of place: DiskPlace) -> String {
        let now = SystemTime.shared.now
        let path = Self.absolute(place)
        if isDue(at: now) {
            let table = MountTable(readTable())
            state.withLock { $0.table = table }
        }
        return state.withLock { $0.moved[place.folder] ?? $0.table.disk(of: path) ?? place.folder }
    }

    /// Returns whether the caller has to read the list of mounts again: one caller does, without the lock, and the
    /// others go on with the list that there is. Only the first list is read under the lock, because there is none.
    private func isDue(at now: Instant) -> Bool {
        state.withLock { state in
            guard let read = state.read else {
                state.table = MountTable(readTable())
                state.read = now
                return false
            }
            guard read.advanced(by: Self.memory) <= now else { return false }
            state.read = now
            return true
        }
    }

    /// Looks up to which disk the links in the path of a folder lead, and remembers it. Returns `nil` if that is the
    /// disk on which it was taken to be.
    ///
    /// It reads the links of that disk, no others; if the disk hangs, it does not return.
    func look(at place: DiskPlace, on disk: String) -> String? {
        let table = state.withLock { $0.table }
        guard let found = Self.disk(reachedBy: Self.absolute(place), from: disk, by: table) else { return nil }
        state.withLock { state in
            if state.moved.count >= Self.mostMoved { state.moved = [:] }
            state.moved[place.folder] = found
        }
        return found
    }

    private static func disk(reachedBy path: String, from disk: String, by table: MountTable) -> String? {
        var (done, rest, links) = ("", path.split(separator: "/")[...], 0)
        while let name = rest.popFirst() {
            guard let target = link(at: "\(done)/\(name)") else {
                done += "/\(name)"
                continue
            }
            links += 1
            guard links <= mostLinks else { return nil }
            let base = target.hasPrefix("/") ? "" : done
            let full = withoutDots("\(base)/\(target)/\(rest.joined(separator: "/"))")
            let found = table.disk(of: full)
            if let found, found != disk { return found }
            (done, rest) = ("", full.split(separator: "/")[...])
        }
        return nil
    }

    /// Returns the path without `.` and `..`. After a link, `..` means another folder; that is not taken into account.
    private static func withoutDots(_ path: String) -> String {
        path.split(separator: "/").reduce(into: [Substring]()) { names, name in
            switch name {
            case ".": break
            case "..": _ = names.popLast()
            default: names.append(name)
            }
        }.reduce(into: "") { $0 += "/\($1)" }
    }

    /// Returns what a symbolic link names; `nil` if it is none.
    private static func link(at path: String) -> String? {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &target, target.count)
        guard count > 0 else { return nil }
        return String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func absolute(_ place: DiskPlace) -> String {
        // The system knows the current folder without asking the disk.
        let base = place.file.hasPrefix("/") ? "" : "\(FileManager.default.currentDirectoryPath)/"
        let path = base + place.folder
        return path.contains("/.") ? withoutDots(path) : path
    }

    private static func systemTable() -> String {
        // Without it, each folder counts as a disk.
        SystemFile.text(at: "/proc/self/mountinfo") ?? ""
    }
}
#else
/// Elsewhere, each folder counts as a disk.
struct Disks: Sendable {
    static let shared = Disks()

    func disk(of place: DiskPlace) -> String { place.folder }
    func look(at place: DiskPlace, on disk: String) -> String? { nil }
}
#endif
