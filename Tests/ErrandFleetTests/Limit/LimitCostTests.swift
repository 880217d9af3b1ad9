import Errand
@testable import ErrandFleet
import ErrandSimulation
import ErrandTestSupport
import Testing

/// What a limit costs its store when calls come independently of each other, at nodes that have more or less of them.
@Suite("What a shared limit costs at uneven load", .timeLimit(.minutes(10))) struct LimitCostTests {
    struct Load: CustomTestStringConvertible {
        var nodes = 8
        let permits: Int
        /// The calls per second of all nodes.
        let calls: Double
        /// Whether the second node has half of the calls of the first, the third a third, and so on.
        var isUneven = false
        /// The store's requests per send, of all kinds.
        let most: Double

        var testDescription: String { "\(calls) of \(permits) at \(nodes) nodes\(isUneven ? ", unevenly" : "")" }
    }

    static let loads = [
        Load(permits: 50, calls: 20, most: 0.25), Load(permits: 50, calls: 41, most: 0.2),
        Load(permits: 50, calls: 41, isUneven: true, most: 0.2), Load(permits: 500, calls: 410, most: 0.05),
        Load(permits: 500, calls: 410, isUneven: true, most: 0.05),
    ]

    @Test("F11: while the load fits, the store is asked far less often than once a send", arguments: loads)
    func cost(_ load: Load) async throws {
        let settings = LimitWalk.Settings(
            nodes: load.nodes, permits: load.permits, lifetime: .seconds(12), isPoisson: true)
        var walk = LimitWalk(settings, over: MemoryFleetStore(), seed: 7)
        let parts = (0..<load.nodes).map { load.isUneven ? 1 / Double($0 + 1) : 1 }
        for (index, part) in parts.enumerated() {
            walk.setLoad(load.calls / Double(load.permits) * part / parts.reduce(0, +), of: index)
        }
        try await walk.run(seconds: 30)
        _ = walk.takeServed()
        let (requests, waited) = (walk.store.requests, walk.waited)
        try await walk.run(seconds: LongRun.isWanted ? 240 : load.calls > 100 ? 20 : 60)
        let sent = Double(walk.takeServed().reduce(0, +))
        let cost = Double(walk.store.requests - requests) / sent
        #expect(cost <= load.most, "\(cost)")
        let wait = (walk.waited - waited) / sent
        #expect(wait <= 0.5, "half a second on average: \(wait)")
        #expect(walk.faults.isEmpty)
        #expect(walk.checker.largestSum(in: .seconds(1)) <= load.permits)
    }

    @Test("F3: processes that are killed after a few calls own little of a limit with a long period")
    func longPeriod() async throws {
        var walk = LimitWalk(
            .init(nodes: 12, permits: 5000, period: .seconds(3600), lifetime: .seconds(12), isPoisson: true),
            over: MemoryFleetStore(), seed: 5)
        // One call in twenty seconds on each, of 1.4 a second that all may send.
        for index in 0..<12 { walk.setLoad(0.036, of: index) }
        try await walk.run(seconds: 60)
        let sent = walk.takeServed().reduce(0, +)
        for index in 0..<12 { walk.kill(index) }
        let record = try #require(walk.limitRecord)
        let owned = record.nodes.reduce(0) { $0 + $1.owned }
        #expect(sent >= 20)
        #expect(owned <= sent + 12 * 10, "\(owned) of 5,000, after \(sent) sends")
    }

    @Test("F2: with a long period, a node makes free what it no longer needs")
    func unneeded() async throws {
        var walk = LimitWalk(
            .init(nodes: 2, permits: 600, period: .seconds(60), lifetime: .seconds(6), isPoisson: true),
            over: MemoryFleetStore(), seed: 3)
        walk.setLoad(0.9, of: 0)
        walk.setLoad(0, of: 1)
        try await walk.run(seconds: 60)
        let busy = try #require(walk.limitRecord)
        #expect(busy.owned(by: "node-1") > 400)
        walk.setLoad(0.01, of: 0)
        try await walk.run(seconds: 120)
        let idle = try #require(walk.limitRecord)
        #expect(idle.owned(by: "node-1") < 100, "\(idle.owned(by: "node-1"))")
    }
}
