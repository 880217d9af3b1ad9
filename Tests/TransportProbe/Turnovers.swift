#if os(Linux)
import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Overlapping requests that act, to a server that ends its connections after a number of requests each.
struct Turnovers {
    let url: String
    let authorities: String
    let count: Int
    let other: String

    /// Makes so many POSTs, eight at a time. Prints how many of the first half have failed, how many of the second, and
    /// how long calls to another server took beside them.
    func report() async throws {
        let transport = CurlTransport(trusting: authorities)
        let beside = Beside(other, on: transport)
        for _ in 0..<2 {
            let failed = await withTaskGroup(of: Int.self) { group in
                for _ in 0..<8 { group.addTask { await failures(of: count / 16, on: transport) } }
                return await group.reduce(0, +)
            }
            print("failed", failed)
        }
        await beside.report()
        await transport.shutdown()
    }

    /// Makes POSTs one after the other, and returns how many have failed.
    private func failures(of count: Int, on transport: CurlTransport) async -> Int {
        var failures = 0
        for _ in 0..<count {
            do {
                let request = HTTPRequest(method: .post, url: try HTTPURL(url), body: .bytes(.init([1])))
                _ = try await transport.send(request, context: TransportContext())
            } catch {
                failures += 1
            }
        }
        return failures
    }
}
#endif
