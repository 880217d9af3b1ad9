#if os(Linux)
import Errand
import ErrandFleet
import ErrandTestSupport
import Foundation
import Testing

@Suite(
    "A limit over etcd", .enabled(if: ServerProgram.etcd.isInstalled, "etcd is not installed"), .timeLimit(.minutes(5)))
struct LimitEtcdTests {
    @Test("F5: two nodes live through a restart of etcd: calls wait, and continue, and the limit is never exceeded")
    func restart() async throws {
        let cluster = try await EtcdCluster()
        try await cluster.isReady(for: EtcdFleetStore(cluster.addresses))
        let stampers = [Stamper(), Stamper()]
        let fleets = ["a", "b"].map { node in
            Fleet(
                store: EtcdFleetStore(cluster.addresses, timeout: .seconds(2)), name: "test", node: node,
                lifetime: .seconds(2))
        }
        let clients = zip(fleets, stampers).map { fleet, stamper in
            APIClient("https://api.example.com") {
                $0.transport = stamper
                $0.limiter = fleet.limiter("api", .requests(20, per: .seconds(1)))
                $0.timeout = nil
            }
        }
        let failures = Noted(0)
        let calls = Task {
            await withDiscardingTaskGroup { group in
                for client in clients {
                    for _ in 0..<15 {
                        group.addTask {
                            while !Task.isCancelled {
                                let outcome = await Result { () async throws(ServiceError) in
                                    try await client.run(Endpoint<NoContent>.get("/"))
                                }
                                if case .failure(let error) = outcome, error != .cancelled {
                                    failures.update { $0 += 1 }
                                    return
                                }
                            }
                        }
                    }
                }
            }
        }
        try await wait(for: "a full second's calls of each node") { stampers.allSatisfy { $0.count >= 20 } }
        await cluster.kill(0)
        // Longer than a busy machine stops.
        var (last, same) = (0, 0)
        try await wait(for: "the end of the permits", every: .seconds(1)) {
            let count = stampers.map(\.count).reduce(0, +)
            (last, same) = (count, count == last ? same + 1 : 0)
            return same == 3
        }
        let counts = stampers.map(\.count)
        try cluster.start(0)
        try await wait(for: "calls of each node after the restart") {
            zip(stampers, counts).allSatisfy { $0.count >= $1 + 20 }
        }
        calls.cancel()
        await calls.value
        for fleet in fleets { await fleet.leave() }
        #expect(failures.value == 0)
        #expect(Stamper.largestCount(stampers.flatMap(\.uses)) <= 20)
    }

    /// Waits until that has happened, for two minutes at most: a busy machine takes its time.
    private func wait(
        for what: String, every interval: Duration = .milliseconds(100), until condition: () -> Bool
    ) async throws {
        let end = ContinuousClock.now.advanced(by: .seconds(120))
        while !condition() {
            guard ContinuousClock.now < end else { throw NotReady(what: what) }
            try await Task.sleep(for: interval)
        }
    }
}

/// A transport that notes the instants directly before and after the use of each permit.
private final class Stamper: StoppableTransport {
    struct Use: Sendable {
        let before, after: Instant
    }

    private let noted = Noted<[Use]>([])

    var uses: [Use] { noted.value }
    var count: Int { noted.value.count }
    var usesPermits: Bool { true }
    var connectivity: Connectivity { .always }

    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        let time: any TimeSource = .system
        let before = time.now
        // Another permit is used somewhere in the wait for it: the stamp covers all of that.
        if !context.usePermit() { try await context.takePermit() }
        let use = Use(before: before, after: time.now)
        noted.update { $0.append(use) }
        return HTTPResponse(status: 204)
    }

    func shutdown() async {}

    /// Returns the largest number of permits that were used for certain within less than a second.
    static func largestCount(_ uses: [Use]) -> Int {
        uses.map { last in
            let start = last.after.advanced(by: .seconds(-1))
            return uses.count { $0.before > start && $0.after <= last.after }
        }.max() ?? 0
    }
}
#endif
