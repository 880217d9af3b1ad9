#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Ten thousand calls and more at once to one server, and what a call costs that waits.
enum BurstBench {
    private static let cycles = 3

    static func run(_ base: String, into report: inout Report) throws {
        for calls in [10_000, 100_000] {
            var (cpu, seconds) = ([Double](), [Double]())
            for _ in 0..<cycles {
                let figures = try WireBench.worker(["burst", "\(base)/small", "\(calls)"])
                cpu.append(figures.processorSeconds * 1e6 / Double(calls))
                seconds.append(figures.seconds)
            }
            report.add("burst.us_\(calls)", .number(median(cpu)), "µs of CPU time per call, if \(calls) begin at once")
            report.add("burst.seconds_\(calls)", .number(median(seconds)), "seconds until the last has ended")
        }
        let waits = ["slow": "on a slow server", "limited": "for a permit"]
        var most = 0.0
        for (way, meaning) in waits.sorted(by: { $0.key > $1.key }) {
            let calls = 10_000
            let figures = try WireBench.worker(["waiting-\(way)", "\(base)/silent", "\(calls)"])
            let bytes = figures.memory * 1_048_576 / Double(calls)
            report.add(
                "burst.bytes_per_\(way)_call", .number(bytes), "bytes of memory for a call that waits \(meaning)")
            most = max(most, bytes)
        }
        report.add("burst.bytes_per_waiting_call", .number(most), "the larger of these")
    }
}
