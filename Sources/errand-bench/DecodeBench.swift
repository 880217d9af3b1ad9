import Errand
import ErrandSimulation
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Decodes a list of three megabytes through the client, and with its decoder and JSONDecoder alone; then runs two such
/// calls at once.
enum DecodeBench {
    private static let cycles = 7

    static func run(into report: inout Report) async throws {
        let data = try JSONCorpora.list()
        let network = ScriptedTransport { print($0) }
        let answer = HTTPResponse(status: 200, headers: ["Content-Type": "application/json"], body: .bytes(data))
        network.onAny { ScriptedReply.response(answer).always }
        let client = APIClient("https://api.test") {
            $0.transport = network
            $0.rateLimit = .unlimited
        }
        let endpoint = Endpoint<[JSONCorpora.Item]>.get("items")
        var (through, alone, foundation): ([Double], [Double], [Double]) = ([], [], [])
        var (one, two): ([Double], [Double]) = ([], [])
        for _ in 0..<cycles {
            foundation.append(
                try await seconds { _ = try JSONDecoder().decode([JSONCorpora.Item].self, from: data) })
            alone.append(try await seconds { _ = try FastJSONDecoder().decode([JSONCorpora.Item].self, from: data) })
            through.append(try await seconds { _ = try await client.run(endpoint) })
        }
        for _ in 0..<cycles {
            one.append(
                try await seconds {
                    for _ in 0..<4 { _ = try await client.run(endpoint) }
                })
            two.append(
                try await seconds {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for _ in 0..<2 {
                            group.addTask {
                                for _ in 0..<2 { _ = try await client.run(endpoint) }
                            }
                        }
                        try await group.waitForAll()
                    }
                })
        }
        let size = Double(data.count) / 1_048_576
        report.add("decode.megabytes", .number(size), "size of the list")
        // Compared pair by pair: the load of the machine is about the same for both measurements of a pair.
        report.add(
            "decode.ratio_to_decoder", .number(median(zip(through, alone).map { $0 / $1 })),
            "time through the client to that of its decoder alone")
        report.add(
            "decode.ratio_to_jsondecoder", .number(median(zip(through, foundation).map { $0 / $1 })),
            "time through the client to that of JSONDecoder alone")
        report.add(
            "decode.two_task_speedup", .number(median(zip(one, two).map { $0 / $1 })),
            "two tasks beside one, for the same number of calls")
    }
}
