import ChildProcess

/// From the start of a process to its first answer, beside a process that uses bare libcurl, and one of Swift that does
/// nothing: no answer can come sooner than both together.
enum StartBench {
    private static let cycles = 15

    static func run(_ base: String, into report: inout Report) throws {
        var (own, bare, idle): ([Double], [Double], [Double]) = ([], [], [])
        for _ in 0..<cycles {
            own.append(try milliseconds(Child.own, ["worker", "call", "\(base)/small"]))
            bare.append(try milliseconds(Child.sibling("wire-peer"), ["loop", "\(base)/small", "1", "0"]))
            idle.append(try milliseconds(Child.own, ["worker", "nothing"]))
        }
        report.add("start.ms", .number(median(own)), "ms from the start of a process to its first answer")
        report.add("start.libcurl_ms", .number(median(bare)), "likewise with libcurl alone, in C")
        report.add("start.idle_ms", .number(median(idle)), "ms until a process of Swift prints a line")
    }

    private static func milliseconds(_ program: String, _ arguments: [String]) throws -> Double {
        let start = ContinuousClock.now
        let child = try Child(program, arguments)
        guard !child.line().isEmpty else { throw Child.Failure(description: "\(program) said nothing") }
        let duration = start.duration(to: .now)
        _ = try child.end()
        return duration / .milliseconds(1)
    }
}
