#if os(Linux)
import Errand
import ErrandFleet
import ErrandTestSupport
import Foundation

/// Nodes that use a limit of twenty per second up over a server, with thirty tasks in all.
struct LimitServerScene {
    static let permits = 20

    let fleets: [Fleet]
    /// The failures of each node's calls.
    let failures: [Noted<[ServiceError]>]
    /// What uses the permits of each node.
    private let stampers: [Stamper]
    private let calls: Task<Void, Never>

    /// Starts two nodes over etcd.
    ///
    /// - Parameters:
    ///   - first: The index of the member that they call first.
    ///   - outages: What the calls of each do without the store.
    ///   - transport: What is between the nodes and etcd; `nil` for nothing.
    init(
        over cluster: EtcdCluster, first: Int = 0, lifetime: Duration = .seconds(2),
        outages: [Fleet.Outage] = [.wait, .wait], timeout: Duration = .seconds(2), transport: (any Transport)? = nil
    ) {
        let addresses = Array(cluster.addresses[first...] + cluster.addresses[..<first])
        let stores = outages.map { _ in EtcdFleetStore(addresses, timeout: timeout, transport: transport) }
        self.init(in: stores, lifetime: lifetime, outages: outages)
    }

    /// Starts a node in each of the stores.
    init(in stores: [any FleetStore], lifetime: Duration = .seconds(2), outages: [Fleet.Outage]) {
        let fleets = stores.enumerated().map { index, store in
            Fleet(store: store, name: "test", node: "n\(index)", lifetime: lifetime)
        }
        let stampers = fleets.map { _ in Stamper() }
        let failures = fleets.map { _ in Noted<[ServiceError]>([]) }
        let clients = fleets.indices.map { index in
            APIClient("https://api.example.com") {
                $0.transport = stampers[index]
                $0.limiter = fleets[index].limiter(
                    "api", .requests(Self.permits, per: .seconds(1)), whenUnreachable: outages[index])
                $0.timeout = nil
            }
        }
        (self.fleets, self.failures, self.stampers) = (fleets, failures, stampers)
        calls = Task {
            await withDiscardingTaskGroup { group in
                for index in 0..<30 {
                    let (client, failed) = (clients[index % clients.count], failures[index % clients.count])
                    group.addTask { await Self.call(client, failed) }
                }
            }
        }
    }

    private static func call(_ client: APIClient, _ failures: Noted<[ServiceError]>) async {
        while !Task.isCancelled {
            let outcome = await Result { () async throws(ServiceError) in
                try await client.run(Endpoint<NoContent>.get("/"))
            }
            if case .failure(let error) = outcome, error != .cancelled {
                failures.update { $0.append(error) }
                try? await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    /// The number of permits that each node has used.
    var counts: [Int] { stampers.map(\.count) }

    /// The largest number of permits that were used for certain within less than a second.
    var largestCount: Int { Stamper.largestCount(stampers.flatMap(\.uses)) }

    /// The same for the permits of this scene and of another one together.
    func largestCount(with other: LimitServerScene) -> Int {
        Stamper.largestCount((stampers + other.stampers).flatMap(\.uses))
    }

    /// Waits until each node has used a full second's permits from now on.
    func waitForCalls(_ what: String) async throws {
        let before = counts
        try await wait(for: "calls of each node \(what)") {
            zip(counts, before).allSatisfy { $0 >= $1 + Self.permits }
        }
    }

    /// Waits until that has happened, for two minutes at most: a busy machine takes its time.
    func wait(
        for what: String, every interval: Duration = .milliseconds(100), until condition: () -> Bool
    ) async throws {
        let end = ContinuousClock.now.advanced(by: .seconds(120))
        while !condition() {
            guard ContinuousClock.now < end else { throw NotReady(what: what) }
            try await Task.sleep(for: interval)
        }
    }

    /// Ends the calls, and leaves the fleet.
    func end() async {
        calls.cancel()
        await calls.value
        for fleet in fleets { await fleet.leave() }
    }
}

/// A transport that notes the instants directly before and after the use of each permit.
private final class Stamper: Transport {
    struct Use: Sendable {
        let before, after: Instant
    }

    private let noted = Noted<[Use]>([])

    var uses: [Use] { noted.value }
    var count: Int { noted.value.count }
    let features: TransportFeatures = [.observesStops, .usesPermits]

    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        let time: any TimeSource = .system
        let before = time.now
        // Another permit is used somewhere in the wait for it: the stamp covers all of that.
        try await context.usePermit()
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
