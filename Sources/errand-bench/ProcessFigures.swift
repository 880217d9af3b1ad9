#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The resources that this process holds, as the system reports them.
struct ProcessFigures {
    var descriptors: Int
    var threads: Int
    var megabytes: Double
    var mostMegabytes: Double

    static var now: ProcessFigures {
        ProcessFigures(
            descriptors: count("/proc/self/fd"), threads: count("/proc/self/task"), megabytes: memory("VmRSS:"),
            mostMegabytes: memory("VmHWM:"))
    }

    /// A folder that does not exist, as on systems other than Linux, counts as zero.
    private static func count(_ folder: String) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0
    }

    private static func memory(_ name: String) -> Double {
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix(name) }),
            let kilobytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Double($0) })
        else { return 0 }
        return kilobytes / 1024
    }
}
