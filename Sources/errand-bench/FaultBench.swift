import ChildProcess
import Errand
import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Makes calls to random faults, each with a deadline, and cancels some of them at random. Every call must end in time,
/// with a value or a matching error, and nothing must leak.
enum FaultBench {
    private static let tasks = 64
    private static let grace = Duration.milliseconds(250)

    struct Model: Decodable {
        let id: Int
    }

    private struct Tally {
        var ended: [String: Int] = [:]
        var wrong: [String] = []
        var late = 0
        var latest = Duration.zero

        mutating func merge(_ other: Tally) {
            ended.merge(other.ended, uniquingKeysWith: +)
            wrong += other.wrong
            late += other.late
            latest = max(latest, other.latest)
        }
    }

    static func run(into report: inout Report, calls: Int) async throws {
        let server = try Child(Child.own, ["worker", "faults"])
        defer { server.kill() }
        let url = "http://127.0.0.1:\(server.line().first ?? "")"
        // The first calls allocate what stays: threads of the system's pool, caches, memory that the allocator keeps.
        _ = try await round(of: calls / 10, at: url)
        let before = ProcessFigures.now
        let tally = try await round(of: calls, at: url)
        let after = ProcessFigures.now
        for (outcome, count) in tally.ended.sorted(by: { $0.key < $1.key }) {
            report.add("faults.\(outcome)", .count(count), "calls that ended so")
        }
        report.add(
            "faults.calls", .count(calls), "calls over \(Fault.allCases.count) faults, a fifth of them cancelled")
        report.add("faults.wrong", .count(tally.wrong.count), "that ended in another way than they should")
        report.add("faults.late", .count(tally.late), "that ended more than \(grace) after their deadline")
        report.add(
            "faults.latest_ms", .number(tally.latest / .milliseconds(1)), "ms after its deadline, the last of all")
        report.add("faults.descriptors", .count(after.descriptors - before.descriptors), "descriptors more than before")
        report.add("faults.threads", .count(after.threads - before.threads), "threads more than before")
        report.add("faults.memory_mb", .number(after.megabytes - before.megabytes), "MB of memory more than before")
        for line in Set(tally.wrong).sorted().prefix(20) { print("wrong: \(line)") }
    }

    private static func round(of calls: Int, at url: String) async throws -> Tally {
        let client = APIClient(url) {
            $0.rateLimit = .unlimited
            $0.responseByteLimit = 1 << 20
        }
        let tally = await withTaskGroup(of: Tally.self) { group in
            for _ in 0..<tasks {
                group.addTask {
                    var tally = Tally()
                    for _ in 0..<(calls / tasks) { await one(client, &tally) }
                    return tally
                }
            }
            var all = Tally()
            for await tally in group { all.merge(tally) }
            return all
        }
        await client.shutdown()
        return tally
    }

    private static func one(_ client: APIClient, _ tally: inout Tally) async {
        guard let fault = Fault.allCases.randomElement() else { return }
        let deadline = Duration.milliseconds(Int.random(in: 50...500))
        let start = ContinuousClock.now
        let task = Task { () -> Result<Int, ServiceError> in
            do throws(ServiceError) {
                return .success(try await client.run(Endpoint<Model>.get("\(fault)").deadline(deadline)).id)
            } catch {
                return .failure(error)
            }
        }
        let isCancelled = Int.random(in: 0..<5) == 0
        if isCancelled {
            // The sleep ends early only if the bench itself is canceled.
            try? await Task.sleep(for: .microseconds(Int.random(in: 0...60_000)))
            task.cancel()
        }
        let outcome = await task.value
        let overrun = start.duration(to: .now) - deadline
        if overrun > grace { tally.late += 1 }
        tally.latest = max(tally.latest, overrun)
        let name = outcomeName(of: outcome)
        tally.ended[name, default: 0] += 1
        let isRight = name == "cancelled" ? isCancelled : name == "timed_out" || fault.allows(outcome)
        if !isRight { tally.wrong.append("\(fault): \(outcome)") }
    }
}
