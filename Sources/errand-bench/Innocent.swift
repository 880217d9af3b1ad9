import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Calls to a well-behaved host, on a transport that also calls hostile ones.
struct Innocent {
    /// The time limit of a call, which alone takes a few milliseconds.
    static let limit = Duration.seconds(1)

    struct Tally {
        var calls = 0
        var failures: [String] = []
        var slowest = Duration.zero

        /// Whether all calls have succeeded in time.
        var isUnharmed: Bool { calls > 0 && failures.isEmpty && slowest <= Innocent.limit }

        mutating func merge(_ other: Tally) {
            calls += other.calls
            failures += other.failures
            slowest = max(slowest, other.slowest)
        }

        func add(to report: inout Report, _ prefix: String) {
            for failure in Set(failures).sorted().prefix(5) { print("wrong: the other host's call: \(failure)") }
            report.add("\(prefix).innocent", .count(calls), "calls to another host during the attack")
            report.add("\(prefix).innocent_failed", .count(failures.count), "of which failed")
            report.add("\(prefix).innocent_slowest_ms", .number(slowest / .milliseconds(1)), "ms, the slowest of them")
        }
    }

    private let task: Task<Tally, Never>

    /// Begins to make calls, one after the other.
    init(_ url: String, on transport: any Transport) {
        let client = APIClient(url) {
            $0.rateLimit = .unlimited
            $0.transport = transport
            $0.retry = .never
        }
        task = Task {
            var tally = Tally()
            repeat {
                let start = ContinuousClock.now
                do throws(ServiceError) {
                    let model = try await client.run(Endpoint<HostileBench.Model>.get("none").deadline(.seconds(20)))
                    if model.id != 7 { tally.failures.append("another's value") }
                } catch {
                    tally.failures.append("\(error)")
                }
                tally.calls += 1
                tally.slowest = max(tally.slowest, start.duration(to: .now))
                // The pause ends early when the calls are to end.
                try? await Task.sleep(for: .milliseconds(30))
            } while !Task.isCancelled
            await client.shutdown()
            return tally
        }
    }

    /// Ends the calls. If that cancels the last one, it does not count.
    func end() async -> Tally {
        task.cancel()
        var tally = await task.value
        tally.failures.removeAll { $0 == "\(ServiceError.cancelled)" }
        return tally
    }
}
