import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The part of `BurstBench` that runs in a process of its own.
enum BurstWorker {
    /// Makes so many calls at once, and waits for the last.
    static func burst(_ url: String, calls: Int) async throws -> Int {
        let client = APIClient(url) { $0.rateLimit = .unlimited }
        return try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<calls { group.addTask { try await client.run(Endpoint<WireWorker.Model>.get("")).id } }
            return try await group.reduce(0) { count, _ in count + 1 }
        }
    }

    /// Returns by how many megabytes the process grows while so many calls wait.
    static func megabytes(of calls: Int, waitingAt url: String, isLimited: Bool) async throws -> Double {
        let client = APIClient(url) {
            $0.rateLimit = isLimited ? .requests(1, per: .seconds(3600)) : .unlimited
        }
        let started = Counter()
        func wait(for count: Int, then settle: Duration = .milliseconds(300)) async throws {
            while started.value < count { try await Task.sleep(for: .milliseconds(1)) }
            // Each still has to get from its beginning to where it waits.
            try await Task.sleep(for: settle)
        }
        return try await withThrowingTaskGroup(of: Void.self) { group in
            func begin() {
                group.addTask {
                    started.add(1)
                    // It is canceled in the end.
                    _ = try? await client.run(Endpoint<WireWorker.Model>.get(""))
                }
            }
            // These take what is there once, whether or not others wait.
            for _ in 0..<100 { begin() }
            try await wait(for: 100)
            let before = ProcessFigures.now.megabytes
            for _ in 0..<calls { begin() }
            try await wait(for: 100 + calls, then: .seconds(1))
            let after = ProcessFigures.now.megabytes
            group.cancelAll()
            return after - before
        }
    }
}
