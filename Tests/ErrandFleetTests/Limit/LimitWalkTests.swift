import Errand
@testable import ErrandFleet
import ErrandSimulation
import Foundation
import Testing

@Suite("A walk of nodes through a shared limit", .timeLimit(.minutes(10))) struct LimitWalkTests {
    private static let isLong = ProcessInfo.processInfo.environment["ERRAND_LONG_RUN"] != nil

    /// What happened in walks.
    private struct Summary {
        var steps = 0
        var met: [String: Int] = [:]
        var learnedPauses = 0
        var leastLimit = 1.0

        mutating func add(_ other: Summary) {
            steps += other.steps
            met.merge(other.met, uniquingKeysWith: +)
            learnedPauses += other.learnedPauses
            leastLimit = min(leastLimit, other.leastLimit)
        }
    }

    @Test("F7 F10 F12: whatever happens to nodes, clocks and store, no period holds more than the limit")
    func troubled() async throws {
        let plain = LimitWalk.Settings(nodes: 6, permits: 20, trouble: 1, hasSkew: true)
        // Calls of different costs, and a server that refuses some, pauses all and so lowers the limit.
        var full = plain
        (full.nodes, full.permits, full.costs, full.refusals) = (5, 75, [1, 1, 1, 2, 5], 0.004)
        full.lowering = .on429(recoveringEvery: .seconds(2))
        var whole = Summary()
        for seed in 1...(Self.isLong ? 20 : 6) as ClosedRange<UInt64> {
            async let one = troubled(plain, seed: seed)
            async let other = troubled(full, seed: seed)
            for summary in try await [one, other] { whole.add(summary) }
        }
        #expect(whole.steps >= (Self.isLong ? 1_000_000 : 150_000))
        for kind in LimitWalk.Trouble.allCases { #expect(whole.met[kind.rawValue] ?? 0 > 0, "\(kind)") }
        #expect(whole.learnedPauses > 20)
        #expect(whole.leastLimit < 0.6)
    }

    private func troubled(_ settings: LimitWalk.Settings, seed: UInt64) async throws -> Summary {
        var walk = LimitWalk(settings, over: MemoryFleetStore(), seed: seed)
        try await walk.run(seconds: Self.isLong ? 300 : 120)
        #expect(walk.stamps.count > 200)
        walk.calm()
        for index in walk.machines.indices { walk.setLoad(1, of: index) }
        try await walk.run(seconds: 50)
        _ = walk.takeServed()
        // Calls of different costs leave some of the limit unused, now more and now less: a call waits until all its
        // permits are back, and those that are back first wait with it. In two minutes that evens out.
        let seconds = 120
        try await walk.run(seconds: Double(seconds))
        let served = walk.takeServed()
        let limit = settings.permits
        #expect(
            served.reduce(0, +) * 10 >= limit * seconds * 9,
            "seed \(seed): nine tenths of the limit are used: \(served)")
        #expect(
            served.allSatisfy { $0 * settings.nodes * 2 >= limit * seconds },
            "seed \(seed): every node gets its share: \(served)")
        #expect(walk.faults.isEmpty, "seed \(seed)")
        #expect(walk.checker.largestSum(in: .seconds(1)) <= limit, "seed \(seed)")
        return Summary(
            steps: walk.steps, met: walk.met, learnedPauses: walk.checker.learnedPauses,
            leastLimit: Double(walk.checker.lowestLimit) / Double(limit))
    }

    @Test("F2: a node that enters a fleet that uses its limit up gets its share soon")
    func enters() async throws {
        var walk = LimitWalk(.init(nodes: 4, permits: 40), over: MemoryFleetStore(), seed: 13)
        for index in 0..<4 { walk.setLoad(index < 3 ? 2 : 0, of: index) }
        try await walk.run(seconds: 20)
        walk.setLoad(2, of: 3)
        try await walk.run(seconds: 3)
        _ = walk.takeServed()
        try await walk.run(seconds: 10)
        let served = walk.takeServed()
        #expect(served[3] >= 80, "100 would be even: \(served)")
        #expect(walk.checker.largestSum(in: .seconds(1)) <= 40)
    }

    @Test("F7: a node with a short lifetime waits for the longer one of another node", arguments: 1...4)
    func lifetimes(seed: UInt64) async throws {
        var walk = LimitWalk(
            .init(
                nodes: 4, permits: 20, trouble: 1, hasSkew: true, lifetimes: [.seconds(3), .seconds(20)],
                weights: [1, 3, .max]),
            over: MemoryFleetStore(), seed: seed)
        try await walk.run(seconds: 200)
        #expect(walk.stamps.count > 100)
        #expect(walk.faults.isEmpty)
        #expect(walk.checker.largestSum(in: .seconds(1)) <= 20)
    }

    @Test("F3: a node that is cut off uses its permits to the end of a lifetime longer than that of the others")
    func cutOff() async throws {
        var walk = LimitWalk(
            .init(nodes: 2, permits: 20, lifetimes: [.seconds(3), .seconds(30)]), over: MemoryFleetStore(), seed: 11)
        for index in 0..<2 { walk.setLoad(2, of: index) }
        try await walk.run(seconds: 20)
        walk.cutOff(1)
        try await walk.run(seconds: 80)
        let served = walk.takeServed()
        #expect(served[0] > 20 * 50, "it has all in the end")
        #expect(walk.checker.largestSum(in: .seconds(1)) <= 20)
    }

    @Test("F12: a period longer than the lifetime", arguments: 1...3)
    func longPeriod(seed: UInt64) async throws {
        let settings = LimitWalk.Settings(
            nodes: 4, permits: 20, period: .seconds(15), lifetime: .seconds(4), trouble: 1, hasSkew: true)
        var walk = LimitWalk(settings, over: MemoryFleetStore(), seed: seed)
        try await walk.run(seconds: 300)
        #expect(walk.stamps.count > 20)
        #expect(walk.faults.isEmpty)
        #expect(walk.checker.largestSum(in: .seconds(15)) <= 20)
    }

    @Test("F11: nothing is written while the load stays the same, and the limit is used up", arguments: [3, 20])
    func steady(count: Int) async throws {
        var walk = LimitWalk(
            .init(nodes: count, permits: count * 20, lifetime: .seconds(12)), over: MemoryFleetStore(), seed: 1)
        for index in 0..<count { walk.setLoad(2.0 / Double(count) * 3, of: index) }
        try await walk.run(seconds: 20)
        let (writes, requests) = (walk.store.writes, walk.store.requests)
        _ = walk.takeServed()
        try await walk.run(seconds: 60)
        let served = walk.takeServed().reduce(0, +)
        #expect(served > count * 20 * 57)
        #expect(walk.store.writes - writes <= count / 2, "limit: \(walk.store.writes - writes) writes")
        #expect(
            Double(walk.store.requests - requests) / 60 / Double(count) <= 0.5,
            "\(walk.store.requests - requests) requests")
        #expect(walk.checker.largestSum(in: .seconds(1)) <= count * 20)
    }

    @Test("F2: permits move within two periods to the node whose calls wait, and back")
    func moves() async throws {
        var walk = LimitWalk(.init(nodes: 3, permits: 50), over: MemoryFleetStore(), seed: 3)
        for (busy, idle) in [(0, 1), (1, 0), (0, 1)] {
            for index in 0..<3 { walk.setLoad(index == busy ? 2 : 0, of: index) }
            try await walk.run(seconds: 2.1)
            _ = walk.takeServed()
            try await walk.run(seconds: 5)
            let served = walk.takeServed()
            #expect(served[busy] >= 225, "of 250")
            #expect(served[idle] == 0)
        }
        #expect(walk.checker.largestSum(in: .seconds(1)) <= 50)
    }

    @Test("F3: the permits of a killed node are in use elsewhere after a lifetime and a period, and not before")
    func killed() async throws {
        var walk = LimitWalk(.init(nodes: 3, permits: 30, lifetime: .seconds(6)), over: MemoryFleetStore(), seed: 5)
        for index in 0..<3 { walk.setLoad(2, of: index) }
        try await walk.run(seconds: 20)
        let dead = try #require(walk.limitRecord?.nodes.first)
        #expect(dead.owned == 10)
        let index = try #require(walk.index(of: dead.id))
        walk.kill(index)
        try await walk.run(seconds: 7)
        #expect(walk.limitRecord?.owned(by: dead.id) == 10)
        // A look at most half a lifetime after the last renewal, then a lifetime and a period, with what clocks differ.
        try await walk.run(seconds: 4)
        #expect(walk.limitRecord?.owned(by: dead.id) == 0)
        _ = walk.takeServed()
        try await walk.run(seconds: 10)
        let served = walk.takeServed().reduce(0, +)
        #expect(served >= 270)
        #expect(walk.checker.largestSum(in: .seconds(1)) <= 30)
    }

    @Test("a record has its shape back after it was written")
    func coded() throws {
        var record = LimitRecord(permits: 50, period: .seconds(1))
        record.update("a") { $0.owned = 20 }
        record.update("b") { node in
            (node.owned, node.wants, node.cost, node.weight) = (10, 50, 3, 2)
        }
        record.free = 20
        record.pause = LimitRecord.Pause(id: .max, milliseconds: 1500)
        let bytes = try record.encoded()
        #expect(try LimitRecord(bytes, key: "key") == record)
        #expect(String(decoding: bytes, as: UTF8.self).contains(#"["a",20]"#))
        record.free = 21
        let wrong = try record.encoded()
        #expect(throws: FleetStoreError.self) { try LimitRecord(wrong, key: "key") }
    }
}
