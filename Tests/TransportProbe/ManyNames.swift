#if os(Linux)
import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Calls to very many hosts whose lookups hang, beside calls to another one.
struct ManyNames {
    let count: Int
    let other: String

    /// Prints how long the calls to the other host took, how the calls ended, how often in each way, and the threads
    /// that libcurl has then.
    func report() async throws {
        let transport = CurlTransport()
        func client(_ url: String, _ timeout: Duration) -> APIClient {
            APIClient(url) {
                $0.transport = transport
                $0.rateLimit = .unlimited
                $0.retry = .never
                $0.allowsCleartext = true
                $0.connectivity = .always
                $0.timeout = timeout
            }
        }
        let beside = Beside(other, on: transport)
        var ends: [String: Int] = [:]
        await withTaskGroup(of: String.self) { group in
            for number in 0..<count {
                let client = client("http://n\(number).slow.test", .milliseconds(500))
                group.addTask {
                    do throws(ServiceError) {
                        _ = try await client.run(Endpoint<Int>.get("x"))
                        return "succeeded"
                    } catch {
                        if case .timedOut = error { return "timed out" }
                        return "\(error)"
                    }
                }
            }
            for await word in group { ends[word, default: 0] += 1 }
        }
        await beside.report()
        for (word, count) in ends.sorted(by: { $0.key < $1.key }) { print(count, word) }
        print(try CurlThread.all().count, "threads")
        await transport.shutdown()
    }
}
#endif
