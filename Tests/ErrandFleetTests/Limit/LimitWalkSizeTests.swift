import Errand
@testable import ErrandFleet
import ErrandSimulation
import ErrandTestSupport
import Testing

@Suite("Walks through small and large limits", .timeLimit(.minutes(5))) struct LimitWalkSizeTests {
    @Test("F9: with fewer permits than nodes, every node is served in turn")
    func fewPermits() async throws {
        var walk = LimitWalk(.init(nodes: 8, permits: 3), over: MemoryFleetStore(), seed: 7)
        for index in 0..<8 { walk.setLoad(2, of: index) }
        try await walk.run(seconds: 10)
        _ = walk.takeServed()
        try await walk.run(seconds: 80)
        let served = walk.takeServed()
        #expect(served.allSatisfy { $0 >= 20 }, "30 would be even: \(served)")
        #expect(served.reduce(0, +) >= 216, "nine tenths of 240: \(served)")
        #expect(walk.checker.largestSum(in: .seconds(1)) <= 3)
    }

    @Test("F9: a limit of 100,000 has a record as small as any, and every node with waiters is served")
    func largeLimit() async throws {
        var walk = LimitWalk(.large(period: .seconds(1), lifetime: .seconds(3)), over: MemoryFleetStore(), seed: 9)
        try await walk.run(seconds: LongRun.isWanted ? 60 : 10)
        let used = try await walk.useOfLargeLimit(after: LongRun.isWanted ? 50 : 22, periods: 10)
        #expect(used >= 0.9)
    }
}

/// As much happens in hours of such a limit as in a minute of another one, so the walks take long.
@Suite("Walks through a limit for an hour", .enabled(if: LongRun.isWanted), .timeLimit(.minutes(20)))
struct LimitWalkHourTests {
    @Test("F9: a limit of 100,000 an hour has a record as small as any, and every node with waiters is served")
    func largeLimit() async throws {
        var used: [Double] = []
        for seed in 9...11 {
            var settings = LimitWalk.Settings.large(period: .seconds(3600), lifetime: .seconds(120))
            settings.calmness = 120
            var walk = LimitWalk(settings, over: MemoryFleetStore(), seed: UInt64(seed))
            try await walk.run(seconds: 7200)
            used.append(try await walk.useOfLargeLimit(after: 5400, periods: 2))
        }
        // Each hour is like the one before, so a walk has one pattern: where calls collect long, 86 % are used.
        #expect(used.reduce(0, +) / Double(used.count) >= 0.9, "\(used)")
    }
}

extension LimitWalk.Settings {
    /// A limit of 100,000 permits, and calls of which a few take what a node has.
    fileprivate static func large(period: Duration, lifetime: Duration) -> Self {
        var settings = Self(nodes: 8, permits: 100_000, period: period, lifetime: lifetime, trouble: 1, hasSkew: true)
        settings.costs = [100, 500, 1000, 2000]
        return settings
    }
}

extension LimitWalk {
    /// Ends all trouble, lets all nodes want three times the limit together, and returns the part of it that they use
    /// in so many periods. Checks that nothing lies idle in that time.
    fileprivate mutating func useOfLargeLimit(after seconds: Double, periods: Int) async throws -> Double {
        calm()
        for index in 0..<8 { setLoad(0.375, of: index) }
        try await run(seconds: seconds)
        _ = takeServed()
        for _ in 0..<periods * 10 {
            try await run(seconds: settings.period / .seconds(10))
            // No permit lies idle but those that the first call of a node collects, and at most one in a hundred has no
            // node.
            for machine in machines.indices {
                let (permits, cost) = processes[machines[machine].process].idle(at: clock(of: machine))
                #expect(permits < cost)
            }
            let record = try #require(limitRecord)
            #expect(record.free + record.aside <= 1000)
        }
        let served = takeServed()
        let even = 100_000 * periods / 8
        #expect(served.allSatisfy { $0 >= even / 2 }, "\(even) would be even: \(served)")
        let record = try #require(limitRecord)
        #expect(try record.encoded().count < 500)
        #expect(record.nodes.count <= 8)
        #expect(faults.isEmpty)
        #expect(checker.largestSum(in: settings.period) <= 100_000)
        return Double(served.reduce(0, +)) / Double(100_000 * periods)
    }
}
