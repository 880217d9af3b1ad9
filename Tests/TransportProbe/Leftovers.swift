#if os(Linux)
import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Counts the descriptors and threads that ended clients leave behind.
struct Leftovers {
    private static let clients = 10

    let url: String
    let isShutDown: Bool

    /// The descriptors and threads of this process, as the system reports them. Those of Dispatch, which the tasks run
    /// on, do not count: they come and go as it likes, and have its queues in their names.
    private struct Census: Equatable {
        let descriptors: Int
        let threads: Int

        init() throws {
            descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count { thread in
                let name = FileManager.default.contents(atPath: "/proc/self/task/\(thread)/comm")
                // One that has ended since has no name.
                return name.map { !String(decoding: $0, as: UTF8.self).contains("-qos") } ?? false
            }
        }
    }

    func report() async throws {
        // The first round creates what stays permanently, such as OpenSSL's own descriptors.
        _ = try await round()
        let before = try await settled()
        let during = try await round()
        // A transport that was never used holds nothing after its shutdown either, even while it is still referenced.
        let unused = (0..<Self.clients).map { _ in CurlTransport() }
        for transport in unused { await transport.shutdown() }
        let after = try await settled()
        withExtendedLifetime(unused) {}
        for census in [before, during, after] { print(census.descriptors, census.threads) }
    }

    /// Returns the census when it no longer changes. Polls, because a thread that was asked to end takes a while, and
    /// the kernel does not report its end.
    private func settled() async throws -> Census {
        var (census, times) = (try Census(), 0)
        while times < 50 {
            try await Task.sleep(for: .milliseconds(10))
            let next = try Census()
            times = next == census ? times + 1 : 0
            census = next
        }
        return census
    }

    /// Makes calls with all clients and ends them; returns the census at the time when all of them were connected.
    private func round() async throws -> Census {
        let clients = (0..<Self.clients).map { _ in
            APIClient(url) { $0.rateLimit = .unlimited }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in clients {
                for _ in 0..<5 { group.addTask { _ = try await client.run(Endpoint<Int>.get("x")) } }
            }
            try await group.waitForAll()
        }
        let census = try Census()
        // Half of them have a call that does not end by itself.
        let silent = clients.prefix(Self.clients / 2).map { client in
            Task { _ = try await client.run(Endpoint<Int>.get("silent")) }
        }
        if isShutDown {
            for client in clients { await client.shutdown() }
        } else {
            for task in silent { task.cancel() }
        }
        for task in silent { _ = await task.result }
        return census
    }
}
#endif
