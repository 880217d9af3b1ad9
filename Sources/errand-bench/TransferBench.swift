import ChildProcess
import Errand
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

/// A large download to a file, beside the `curl` program.
///
/// Before the file is put in place, its bytes are synced to the disk, which curl leaves to the system. So there are two
/// figures: beside curl as it is, and beside curl and the program `sync`.
enum TransferBench {
    private static let cycles = 5
    private static let megabytes = 1000

    static func run(_ base: String, into report: inout Report) throws {
        let url = "\(base)/bytes/\(megabytes << 20)"
        let place = FileManager.default.temporaryDirectory.appending(path: "errand-bench-\(getpid())").path
        // A file that cannot be removed stays in a folder that the system empties.
        defer { try? FileManager.default.removeItem(atPath: place) }
        var (fast, durable): ([Double], [Double]) = ([], [])
        var (memory, rate) = (0.0, [Double]())
        for _ in 0..<cycles {
            let own = try WireBench.worker(["file", url, place])
            memory = max(memory, own.memory)
            rate.append(Double(megabytes) / own.seconds)
            try? FileManager.default.removeItem(atPath: place)
            guard let curl = seconds("curl -s -o \(place) \(url)", "sync \(place)") else { continue }
            try? FileManager.default.removeItem(atPath: place)
            fast.append(curl.first / own.seconds)
            durable.append((curl.first + curl.second) / own.seconds)
        }
        report.add("transfer.rss_mb", .number(memory), "MB of memory, at most, while \(megabytes) MB go into a file")
        report.add("download.mb_per_s", .number(median(rate)), "MB per second into a file, synced to the disk")
        guard !fast.isEmpty else {
            return report.add("download.vs_curl_program", .truth(false), "the program curl is not installed")
        }
        report.add("download.vs_curl_program", .number(median(fast)), "that speed to that of curl, which does not sync")
        report.add("download.vs_curl_and_sync", .number(median(durable)), "that speed to that of curl and sync")
    }

    /// Downloads to a file, in a process of its own, and returns the number of bytes.
    static func download(_ url: String, to path: String) async throws -> Int {
        try await APIClient(url) { $0.rateLimit = .unlimited }.download(.get(""), to: path).bytes
    }

    /// Returns how long two commands of the shell take; `nil` if one of them fails.
    private static func seconds(_ first: String, _ second: String) -> (first: Double, second: Double)? {
        func seconds(_ command: String) -> Double? {
            let start = ContinuousClock.now
            // A command that cannot be started, or fails, gives no figure.
            guard let child = try? Child("sh", ["-c", command]), (try? child.end()) != nil else { return nil }
            return start.duration(to: .now) / .seconds(1)
        }
        guard let first = seconds(first), let second = seconds(second) else { return nil }
        return (first, second)
    }
}
