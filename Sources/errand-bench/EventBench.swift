import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// How many server-sent events one task reads, from a transport that has them in memory.
enum EventBench {
    private static let cycles = 5
    private static let chunks = 200
    private static let eventsPerChunk = 600

    /// Sends the same chunk of events again and again.
    private struct Feed: Transport {
        let chunk: Data

        func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
            let left = Counter()
            left.add(chunks)
            let body = HTTPBody.Chunks {
                left.add(-1)
                return left.value < 0 ? nil : chunk
            }
            return HTTPResponse(status: 200, headers: ["Content-Type": "text/event-stream"], body: .stream(body))
        }

        func shutdown() async {}
    }

    private struct Message: Decodable {
        let id: Int
        let text: String
    }

    static func run(into report: inout Report) async throws {
        // A hundred bytes each.
        let event = #"data: {"id": 1234567, "text": "\#(String(repeating: "x", count: 63))"}"# + "\n\n"
        let transport = Feed(chunk: Data(String(repeating: event, count: eventsPerChunk).utf8))
        let client = APIClient("https://api.test") {
            $0.transport = transport
            $0.rateLimit = .unlimited
        }
        let events = client.events(.get("feed")).reconnecting(false)
        var (raw, decoded): ([Double], [Double]) = ([], [])
        for _ in 0..<cycles {
            raw.append(try await seconds { for try await _ in events {} })
            decoded.append(try await seconds { for try await _ in events.decoded(Message.self) {} })
        }
        let count = Double(chunks * eventsPerChunk)
        report.add("events.per_second", .number(count / median(raw)), "events of 100 bytes that one task reads")
        report.add("events.decoded_per_second", .number(count / median(decoded)), "likewise, decoded from JSON")
    }
}
