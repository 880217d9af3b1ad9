import ChildProcess
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Answers of several sizes as `Data`, beside a bare libcurl loop in C that collects each in memory of its own.
enum BodyBench {
    private static let cycles = 5
    private static let tasks = 16
    private static let seconds = 1.0
    private static let sizes = [("10k", 10 << 10), ("100k", 100 << 10), ("1m", 1 << 20), ("10m", 10 << 20)]

    static func run(_ base: String, into report: inout Report) throws {
        for (name, size) in sizes {
            var (own, bare): ([Double], [Double]) = ([], [])
            for _ in 0..<cycles {
                let arguments = ["\(base)/bytes/\(size)", "\(tasks)", "\(seconds)"]
                own.append(try microseconds(Child.own, ["worker", "bytes"] + arguments))
                bare.append(try microseconds(Child.sibling("wire-peer"), ["loop"] + arguments))
            }
            let ratio = median(zip(own, bare).map { $0 / $1 })
            report.add("body.us_\(name)", .number(ratio), "the processor time of such a GET to that of libcurl")
            report.add("body.own_us_\(name)", .number(median(own)), "µs of CPU time per call")
        }
    }

    private static func microseconds(_ program: String, _ arguments: [String]) throws -> Double {
        let child = try Child(program, arguments)
        let calls = child.line().first.flatMap(Double.init)
        let cpu = try child.end()
        guard let calls else { throw Child.Failure(description: "\(program) said nothing") }
        return cpu * 1e6 / calls
    }
}
