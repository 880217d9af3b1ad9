import Errand
import ErrandTesting
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The overhead of the library itself: a call with every layer enabled, compared with the bare transport. Both get
/// scripted responses.
enum CoreBench {
    private static let calls = 20_000
    private static let cycles = 7

    static func run(into report: inout Report) async throws {
        let tokens = TokenStore { $0 }
        await tokens.signIn(Token(access: "token", expiry: Date(timeIntervalSinceNow: 86_400)))
        var (full, bare): ([Double], [Double]) = ([], [])
        let url = try HTTPURL("https://api.test/users/7/friends")
        for _ in 0..<cycles {
            // A new transport for each round, because it records everything that is sent.
            let network = ScriptedTransport()
            network.onAny { ScriptedReply.json("1").always }
            let client = APIClient("https://api.test") {
                $0.transport = network
                $0.tokens = tokens
                $0.rateLimit = .requests(1_000_000, per: .seconds(1))
                $0.deadline = .seconds(30)
                $0.parameters = ["version": "1.0"]
            }
            full.append(
                try await seconds {
                    for _ in 0..<calls { _ = try await client.run(Endpoint<NoContent>.get("users/7/friends")) }
                })
            bare.append(
                try await seconds {
                    let request = HTTPRequest(method: .get, url: url)
                    for _ in 0..<calls { _ = try await network.send(request, context: TransportContext()) }
                })
        }
        let callMiddlewares = 1e6 / Double(calls)
        report.add(
            "core.us_per_call", .number(median(full) * callMiddlewares), "µs for a call, all layers on, nothing decoded"
        )
        report.add(
            "core.bare_us_per_call", .number(median(bare) * callMiddlewares), "µs for the scripted transport alone")
    }
}
