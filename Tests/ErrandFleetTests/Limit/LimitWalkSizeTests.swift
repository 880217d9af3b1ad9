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

    @Test(
        "F9: a limit of 100,000 has a record as small as any, and every node with waiters is served",
        arguments: LongRun.isWanted ? [1, 3600] : [1])
    func largeLimit(seconds: Int) async throws {
        var settings = LimitWalk.Settings(
            nodes: 8, permits: 100_000, period: .seconds(seconds), trouble: 1, hasSkew: true)
        settings.costs = [100, 500, 1000, 2000]
        // An hour is a long time: as much happens in two of them as in a minute.
        let isLong = seconds > 1
        settings.lifetime = .seconds(isLong ? 120 : 3)
        settings.calmness = isLong ? 120 : 1
        var walk = LimitWalk(settings, over: MemoryFleetStore(), seed: 9)
        try await walk.run(seconds: isLong ? 7200 : LongRun.isWanted ? 60 : 10)
        walk.calm()
        // Together three times the limit.
        for index in 0..<8 { walk.setLoad(0.375, of: index) }
        try await walk.run(seconds: isLong ? 5400 : LongRun.isWanted ? 50 : 22)
        _ = walk.takeServed()
        let periods = isLong ? 2 : 10
        for _ in 0..<periods * 10 {
            try await walk.run(seconds: Double(seconds) / 10)
            // No permit lies idle but those that the first call of a node collects, and at most one in a hundred has no
            // node.
            for machine in walk.machines.indices {
                let now = walk.clock(of: machine)
                let (permits, cost) = walk.processes[walk.machines[machine].process].idle(at: now)
                #expect(permits < cost)
            }
            let record = try #require(walk.limitRecord)
            #expect(record.free + record.aside <= 100_000 / 100)
        }
        let served = walk.takeServed()
        let even = 100_000 * periods / 8
        #expect(served.allSatisfy { $0 >= even / 2 }, "\(even) would be even: \(served)")
        // What is used depends on how long the calls collect, and on when: with a period that is long beside the walk,
        // 86 to 95 % with three seeds.
        #expect(Double(served.reduce(0, +)) >= Double(even * 8) * (isLong ? 0.8 : 0.9))
        let record = try #require(walk.limitRecord)
        #expect(try record.encoded().count < 500)
        #expect(record.nodes.count <= 8)
        #expect(walk.faults.isEmpty)
        #expect(walk.checker.largestSum(in: .seconds(seconds)) <= 100_000)
    }
}
