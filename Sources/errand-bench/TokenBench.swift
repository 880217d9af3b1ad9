import Errand
import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Ten thousand calls with one expired token, compared with the same calls with a valid one.
enum TokenBench {
    private static let callers = 10_000
    private static let cycles = 5

    static func run(into report: inout Report) async throws {
        var (expired, valid): ([Double], [Double]) = ([], [])
        var refreshes = 0
        for _ in 0..<cycles {
            valid.append(try await seconds { _ = try await calls(expiringIn: 86_400) })
            let counter = Counter()
            expired.append(try await seconds { counter.add(try await calls(expiringIn: -1)) })
            refreshes = max(refreshes, counter.value)
        }
        report.add("tokens.callers", .count(callers), "calls at once on one expired token")
        report.add("tokens.refreshes", .count(refreshes), "refreshes that they caused, the most of \(cycles) cycles")
        report.add(
            "tokens.expired_to_valid_ratio", .number(median(expired) / median(valid)),
            "their time to that with a valid token")
    }

    /// Runs the calls and returns how many refreshes there were.
    private static func calls(expiringIn lifetime: Double) async throws -> Int {
        let refreshes = Counter()
        let tokens = TokenStore { old in
            refreshes.add(1)
            return Token(accessToken: "new", expiry: Date(timeIntervalSinceNow: 86_400))
        }
        await tokens.signIn(Token(accessToken: "old", expiry: Date(timeIntervalSinceNow: lifetime)))
        let network = ScriptedTransport { print($0) }
        network.onAny { ScriptedReply.json("1").always }
        let client = APIClient("https://api.test") {
            $0.transport = network
            $0.tokens = tokens
            $0.rateLimit = .unlimited
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<callers {
                group.addTask { _ = try await client.run(Endpoint<NoContent>.get("me")) }
            }
            try await group.waitForAll()
        }
        return refreshes.value
    }
}
