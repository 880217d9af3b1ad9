#if os(Linux)
import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What clients leave behind when they go.
struct Leftovers {
    private static let clients = 10

    let url: String
    let isShutDown: Bool

    /// What the system says about this process.
    private struct Census: Equatable {
        let descriptors: Int
        let threads: Int

        init() throws {
            descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count
        }
    }

    func report() async throws {
        // The first round brings to life what stays for good: the threads that tasks run on, the clock's, OpenSSL's
        // own.
        _ = try await round()
        let before = try await settled()
        let meanwhile = try await round()
        // One that has never been used keeps nothing after its end either, though it is still held.
        let unused = (0..<Self.clients).map { _ in CurlTransport() }
        for transport in unused { await transport.shutdown() }
        let after = try await settled()
        withExtendedLifetime(unused) {}
        for census in [before, meanwhile, after] { print(census.descriptors, census.threads) }
    }

    /// What there is when nothing changes any more: a thread that was told to end still has to do so, and the kernel
    /// tells nobody when it has.
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

    /// Has clients make calls, and ends them all; what there was when all of them were connected.
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
        // Half of them have a call that will not end by itself.
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
