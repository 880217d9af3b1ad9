import Errand
import ErrandSimulation

/// Cancels a hundred thousand calls at random points, in real time and on all cores.
enum CancelBench {
    private static let calls = 100_000
    private static let batch = 2_000

    static func run(into report: inout Report) async throws {
        let wrong = Counter()
        let left = Counter()
        for _ in 0..<(calls / batch) {
            let network = ScriptedTransport { print($0) }
            network.onAny { ScriptedReply.json("1").after(.milliseconds(2)).always }
            let client = APIClient("https://api.test") {
                $0.transport = network
                $0.rateLimit = .requests(500, per: .milliseconds(5))
            }
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<batch {
                    let call = Task {
                        do throws(ServiceError) {
                            _ = try await client.run(Endpoint<NoContent>.get("x"))
                        } catch {
                            if error != .cancelled { wrong.add(1) }
                        }
                    }
                    group.addTask {
                        try? await Task.sleep(for: .microseconds(Int.random(in: 0..<12_000)))
                        call.cancel()
                        await call.value
                    }
                }
            }
            for await inFlight in client.activity {
                left.add(inFlight)
                break
            }
            left.add(client.limiter.snapshot.waiters)
        }
        report.add("cancel.calls", .count(calls), "calls cancelled at random points")
        report.add("cancel.left", .count(left.value), "of them, or of their places in line, left behind")
        report.add("cancel.wrong", .count(wrong.value), "of them ended with another error than .cancelled")
    }
}
