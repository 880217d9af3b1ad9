#if os(Linux)
import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How much memory the responses to requests take.
struct Peaks {
    let urls: [String]

    /// Sends GETs one after the other with one transport. Prints for each the status or the kind of failure, and by how
    /// many megabytes the most memory that the process has had has grown since the one before.
    func report() async throws {
        let transport = CurlTransport()
        var most = Self.megabytes
        for url in urls {
            let word = try await outcome(of: url, transport).word
            let now = Self.megabytes
            print(word, now - most)
            most = now
        }
    }

    private static var megabytes: Int {
        guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
            let kilobytes = line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) })
        else { return 0 }
        return kilobytes / 1024
    }
}
#endif
