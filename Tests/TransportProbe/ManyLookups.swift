#if os(Linux)
import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Makes many calls at once to a host whose lookup takes a while.
struct ManyLookups {
    let url: String
    let calls: Int
    let timeout: Duration

    /// Cancels the first call after a while. Prints how the calls ended, how often in each way, and the threads that
    /// libcurl has at the end.
    func report() async throws {
        let client = APIClient(url) {
            $0.transport = CurlTransport()
            $0.rateLimit = .unlimited
            $0.retry = .never
            $0.allowsCleartext = true
            $0.connectivity = .always
            $0.timeout = timeout
        }
        let first = Task { try await client.run(Endpoint<Int>.get("first")) }
        // Long enough for its lookup to have begun.
        try await Task.sleep(for: .milliseconds(100))
        let others = (1..<calls).map { _ in Task { try await client.run(Endpoint<Int>.get("x")) } }
        try await Task.sleep(for: .milliseconds(100))
        first.cancel()
        var ends: [String: Int] = [:]
        for call in [first] + others { ends[Self.word(for: await call.result), default: 0] += 1 }
        for (word, count) in ends.sorted(by: { $0.key < $1.key }) { print(count, word) }
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count { thread in
            let name = FileManager.default.contents(atPath: "/proc/self/task/\(thread)/comm")
            return name.map { String(decoding: $0, as: UTF8.self) == "errand.curl\n" } ?? false
        }
        print(threads, "threads")
    }

    private static func word(for result: Result<Int, any Error>) -> String {
        switch result {
        case .success: return "succeeded"
        case .failure(ServiceError.cancelled): return "cancelled"
        case .failure(ServiceError.timedOut): return "timed out"
        case .failure(ServiceError.transport(let failure)): return "\(failure.kind.rawValue) \(failure.message)"
        case .failure(let error): return "\(error)"
        }
    }
}
#endif
