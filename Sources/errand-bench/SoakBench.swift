import ChildProcess
import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Runs at full speed for minutes against a server in another process, and measures the memory after each minute.
enum SoakBench {
    private static let tasks = 64

    static func run(into report: inout Report, minutes: Int) async throws {
        let server = try Child(Child.sibling("wire-peer"), ["serve"])
        defer { server.kill() }
        let client = APIClient("http://127.0.0.1:\(server.line().first ?? "")") { $0.rateLimit = .unlimited }
        var memory: [Double] = []
        var total = 0
        for minute in 1...minutes {
            let calls = try await calls(of: client, for: .seconds(60))
            total += calls
            memory.append(ProcessFigures.now.megabytes)
            print("minute \(minute): \(calls) calls, \(memory[minute - 1]) MB")
        }
        await client.shutdown()
        report.add("soak.calls", .count(total), "typed GETs in \(minutes) minutes, with \(tasks) tasks")
        report.add("soak.first_mb", .number(memory.first ?? 0), "MB of memory after the first minute")
        report.add("soak.last_mb", .number(memory.last ?? 0), "MB of memory after the last")
        report.add("soak.most_mb", .number(memory.max() ?? 0), "MB of memory, the most after any minute")
    }

    private static func calls(of client: APIClient, for duration: Duration) async throws -> Int {
        let end = ContinuousClock.now + duration
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    var calls = 0
                    while ContinuousClock.now < end {
                        _ = try await client.run(Endpoint<WireWorker.Model>.get("small"))
                        calls += 1
                    }
                    return calls
                }
            }
            return try await group.reduce(0, +)
        }
    }
}
