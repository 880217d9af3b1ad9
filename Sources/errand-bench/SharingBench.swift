import Errand
import ErrandSimulation

/// Ten thousand tasks ask for one resource at once.
enum SharingBench {
    private static let callers = 10_000
    private static let response = Duration.milliseconds(200)

    static func run(into report: inout Report) async throws {
        let alone = try await seconds(for: 1)
        let together = try await seconds(for: callers)
        report.add("share.callers", .count(callers), "tasks that ask for one resource at once")
        report.add("share.sends", .count(together.sends), "requests that are sent for them")
        report.add(
            "share.ten_thousand_ratio", .number(together.seconds / alone.seconds),
            "their time to that of one call, whose response takes 200 ms")
        report.add(
            "share.us_per_waiter", .number((together.seconds - alone.seconds) / Double(callers) * 1e6),
            "microseconds for each, beyond that of one call")
    }

    private static func seconds(for callers: Int) async throws -> (seconds: Double, sends: Int) {
        var best = (seconds: Double.infinity, sends: 0)
        for _ in 0..<5 {
            let network = ScriptedTransport { print($0) }
            network.onAny { ScriptedReply.json("1").after(response).always }
            let client = APIClient("https://api.test") {
                $0.transport = network
                $0.sharesEqualRequests = true
            }
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<callers { group.addTask { _ = try await client.run(Endpoint<Int>.get("x")) } }
                try await group.waitForAll()
            }
            let seconds = start.duration(to: .now) / .seconds(1)
            if seconds < best.seconds { best = (seconds, network.sent.count) }
        }
        return best
    }
}
