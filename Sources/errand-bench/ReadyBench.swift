import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Whether other tasks run beside streams whose bytes are always ready, of which there are as many as processors.
enum ReadyBench {
    private static let duration = Duration.seconds(3)
    /// The longest time, in milliseconds, for which the other task may stand still. A busy machine takes some of it.
    private static let longestGap = 250.0

    /// A server that sends the same bytes for ever, faster than they are read.
    private struct Flood: Transport {
        let type: String
        let chunk: Data

        func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
            HTTPResponse(
                status: 200, headers: ["Content-Type": type],
                body: .stream(HTTPBody.Chunks { Task.isCancelled ? nil : chunk }))
        }

        func shutdown() async {}
    }

    private struct Row: Decodable {
        let id: Int
    }

    /// What is read.
    private enum Kind: String, CaseIterable, Sendable {
        case lines, rows, events, comments, chunks

        var type: String { self == .events || self == .comments ? "text/event-stream" : "text/plain" }

        /// What the server sends: the least that a line, a blank row, an event, a comment or a chunk can be.
        var chunk: Data {
            switch self {
            case .lines: Data(String(repeating: "\n", count: 1 << 16).utf8)
            case .rows: Data(String(repeating: " \n", count: 1 << 16).utf8)
            case .events: Data(String(repeating: "data: a\n\n", count: 1 << 13).utf8)
            case .comments: Data(String(repeating: ":\n", count: 1 << 16).utf8)
            case .chunks: Data([0x61])
            }
        }

        @concurrent
        func read(_ client: APIClient) async throws {
            switch self {
            case .lines: try await drain(client.stream(.get("a")).lines)
            case .rows: try await drain(client.stream(.get("a")).decoded(Row.self))
            case .events, .comments: try await drain(client.events(.get("a")))
            case .chunks: try await drain(client.stream(.get("a")).chunks)
            }
        }

        private func drain(_ elements: some AsyncSequence) async throws {
            for try await _ in elements where Task.isCancelled { return }
        }
    }

    /// Returns whether the other task has run all the time.
    static func run(into report: inout Report) async -> Bool {
        var isKept = true
        for kind in Kind.allCases {
            let gap = await longestGap(beside: kind)
            isKept = isKept && gap <= longestGap
            report.add("ready.\(kind.rawValue)", .number(gap), "ms at most in which no other task has run")
        }
        return isKept
    }

    /// Returns the longest time, in milliseconds, between two turns of a task beside twice as many readers as there are
    /// processors.
    private static func longestGap(beside kind: Kind) async -> Double {
        let transport = Flood(type: kind.type, chunk: kind.chunk)
        let client = APIClient("https://api.test") {
            $0.transport = transport
            $0.rateLimit = .unlimited
        }
        // They end with this function.
        let readers = (0..<2 * ProcessInfo.processInfo.activeProcessorCount).map { _ in
            Task { try await kind.read(client) }
        }
        let clock = ContinuousClock()
        let start = clock.now
        var (last, longest) = (start, Duration.zero)
        while start.duration(to: last) < duration {
            await Task.yield()
            let now = clock.now
            (longest, last) = (max(longest, last.duration(to: now)), now)
        }
        for reader in readers { reader.cancel() }
        for reader in readers { _ = await reader.result }
        return Double(longest.components.attoseconds) / 1e15 + Double(longest.components.seconds) * 1000
    }
}
