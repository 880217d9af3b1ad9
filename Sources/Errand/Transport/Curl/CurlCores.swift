#if os(Linux)
import CCurl
#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// How many cores the process may use: those to which it is bound, and no more than its share of the machine, as a
/// container has it.
enum CurlCores {
    static let usable = max(1, min(bound ?? .max, share() ?? .max, sysconf(CInt(_SC_NPROCESSORS_ONLN))))

    /// The number of cores to which the process is bound; `nil` if the system does not say.
    private static var bound: Int? {
        let count = Int(ccurl_bound_cores())
        return count > 0 ? count : nil
    }

    /// The share of the machine, in cores and rounded up, of the groups that the process is in; `nil` if it is whole.
    private static func share() -> Int? {
        guard let groups = SystemFile.text(at: "/proc/self/cgroup") else { return nil }
        return share(groups) { SystemFile.text(at: "/sys/fs/cgroup\($0)") }
    }

    /// The share that these groups have, lines of `/proc/self/cgroup`. The files of a group are below its path.
    static func share(_ groups: String, file: (String) -> String?) -> Int? {
        var least: Int?
        for line in groups.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, parts[0] == "0" || parts[1].split(separator: ",").contains("cpu") else { continue }
            let root = parts[0] == "0" ? "" : "/cpu"
            // In a container, the paths are often those outside, while its own group is the root.
            var path = String(parts[2])
            while true {
                if let quota = quota(of: root + (path == "/" ? "" : path), file) { least = min(least ?? quota, quota) }
                guard let slash = path.lastIndex(of: "/"), path != "/" else { break }
                path = slash == path.startIndex ? "/" : String(path[..<slash])
            }
        }
        return least
    }

    private static func quota(of group: String, _ file: (String) -> String?) -> Int? {
        let text =
            file("\(group)/cpu.max")
            ?? ["cpu.cfs_quota_us", "cpu.cfs_period_us"]
            .compactMap { file("\(group)/\($0)") }.joined(separator: " ")
        let numbers = text.split { $0.isWhitespace }
        guard numbers.count == 2, let quota = Int(numbers[0]), let period = Int(numbers[1]), quota > 0, period > 0
        else { return nil }
        return max(1, (quota - 1) / period + 1)
    }
}
#endif
