#if os(Linux)
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif
#if canImport(Glibc)
import Glibc
#else
import Musl
#endif

/// A thread of libcurl: the one that serves a transport, or one that it has started for a lookup.
struct CurlThread {
    private let folder: String

    /// Returns those of this process.
    static func all() throws -> [CurlThread] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").map { "/proc/self/task/\($0)" }
            .filter { text(of: "\($0)/comm") == "errand.curl\n" }.map { CurlThread(folder: $0) }
    }

    /// How long a processor has worked for it.
    var work: Duration {
        // After its name, which stands in parentheses, the 12th and the 13th field are the ticks in the program and in
        // the system.
        let fields = Self.text(of: "\(folder)/stat").split(separator: ")").last?.split(separator: " ") ?? []
        let ticks = fields.dropFirst(11).prefix(2).compactMap { Int($0) }.reduce(0, +)
        return .seconds(1) * ticks / sysconf(CInt(_SC_CLK_TCK))
    }

    private static func text(of file: String) -> String {
        String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
    }
}
#endif
