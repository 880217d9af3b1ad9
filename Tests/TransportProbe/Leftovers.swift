#if os(Linux)
import Errand

/// Counts the descriptors and threads that ended clients leave behind.
struct Leftovers {
    private static let clients = 10

    let url: String
    let isShutDown: Bool

    func report() async throws {
        // The first round creates what stays permanently, such as OpenSSL's own descriptors.
        _ = try await round()
        let before = try await Census.settled()
        let during = try await round()
        // A transport that was never used holds nothing after its shutdown either, even while it is still referenced.
        let unused = (0..<Self.clients).map { _ in CurlTransport() }
        for transport in unused { await transport.shutdown() }
        let after = try await Census.settled(atMost: before)
        withExtendedLifetime(unused) {}
        for census in [before, during, after] { print(census.descriptors, census.threads) }
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
