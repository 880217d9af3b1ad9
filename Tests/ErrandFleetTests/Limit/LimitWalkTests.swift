import Errand
@testable import ErrandFleet
import Foundation
import Testing

@Suite("A walk of nodes through a shared limit", .timeLimit(.minutes(10))) struct LimitWalkTests {
    private static let isLong = ProcessInfo.processInfo.environment["ERRAND_LONG_RUN"] != nil

    /// A long run takes more than a million steps.
    @Test(
        "F7 F12: whatever happens to nodes and store, no period holds more than the limit, and then all goes on",
        arguments: 1...(isLong ? 20 : 6))
    func troubled(seed: UInt64) {
        var walk = LimitWalk(.init(nodes: 6, permits: 20, trouble: 1, hasSkew: true), seed: seed)
        walk.run(seconds: Self.isLong ? 300 : 120)
        #expect(walk.stamps.count > 200)
        walk.calm()
        for index in 0..<6 { walk.setLoad(1, of: index) }
        walk.run(seconds: 50)
        _ = walk.takeServed()
        walk.run(seconds: 30)
        let served = walk.takeServed()
        #expect(served.reduce(0, +) >= 540, "nine tenths of the limit are used: \(served)")
        #expect(served.allSatisfy { $0 >= 50 }, "every node gets its share: \(served)")
        #expect(walk.faults.isEmpty)
        #expect(Stamps.largestCount(walk.stamps, in: .seconds(1)) <= 20)
    }

    @Test("F2: a node that enters a fleet that uses its limit up gets its share soon")
    func enters() {
        var walk = LimitWalk(.init(nodes: 4, permits: 40), seed: 13)
        for index in 0..<4 { walk.setLoad(index < 3 ? 2 : 0, of: index) }
        walk.run(seconds: 20)
        walk.setLoad(2, of: 3)
        walk.run(seconds: 3)
        _ = walk.takeServed()
        walk.run(seconds: 10)
        let served = walk.takeServed()
        #expect(served[3] >= 80, "100 would be even: \(served)")
        #expect(Stamps.largestCount(walk.stamps, in: .seconds(1)) <= 40)
    }

    @Test("F7: a node with a short lifetime waits for the longer one of another node", arguments: 1...4)
    func lifetimes(seed: UInt64) {
        var walk = LimitWalk(
            .init(
                nodes: 4, permits: 20, trouble: 1, hasSkew: true, lifetimes: [.seconds(3), .seconds(20)],
                weights: [1, 3, .max]),
            seed: seed)
        walk.run(seconds: 200)
        #expect(walk.stamps.count > 100)
        #expect(walk.faults.isEmpty)
        #expect(Stamps.largestCount(walk.stamps, in: .seconds(1)) <= 20)
    }

    @Test("F3: a node that is cut off uses its permits to the end of a lifetime longer than that of the others")
    func cutOff() throws {
        var walk = LimitWalk(
            .init(nodes: 2, permits: 20, lifetimes: [.seconds(3), .seconds(30)]), seed: 11)
        for index in 0..<2 { walk.setLoad(2, of: index) }
        walk.run(seconds: 20)
        walk.cutOff(1)
        walk.run(seconds: 80)
        let served = walk.takeServed()
        #expect(served[0] > 20 * 50, "it has all in the end")
        #expect(Stamps.largestCount(walk.stamps, in: .seconds(1)) <= 20)
    }

    @Test("F12: a period longer than the lifetime", arguments: 1...3)
    func longPeriod(seed: UInt64) {
        let settings = LimitWalk.Settings(
            nodes: 4, permits: 20, period: .seconds(15), lifetime: .seconds(4), trouble: 1, hasSkew: true)
        var walk = LimitWalk(settings, seed: seed)
        walk.run(seconds: 300)
        #expect(walk.stamps.count > 20)
        #expect(walk.faults.isEmpty)
        #expect(Stamps.largestCount(walk.stamps, in: .seconds(15)) <= 20)
    }

    @Test("F11: nothing is written while the load stays the same, and the limit is used up", arguments: [3, 20])
    func steady(count: Int) {
        var walk = LimitWalk(.init(nodes: count, permits: count * 20, lifetime: .seconds(12)), seed: 1)
        for index in 0..<count { walk.setLoad(2.0 / Double(count) * 3, of: index) }
        walk.run(seconds: 20)
        let (writes, requests) = (walk.writes, walk.requests)
        _ = walk.takeServed()
        walk.run(seconds: 60)
        let served = walk.takeServed().reduce(0, +)
        #expect(served > count * 20 * 57)
        #expect(walk.writes - writes <= count / 2, "limit: \(walk.writes - writes) writes")
        #expect(Double(walk.requests - requests) / 60 / Double(count) <= 0.5, "\(walk.requests - requests) requests")
        #expect(Stamps.largestCount(walk.stamps, in: .seconds(1)) <= count * 20)
    }

    @Test("F2: permits move within two periods to the node whose calls wait, and back")
    func moves() {
        var walk = LimitWalk(.init(nodes: 3, permits: 50), seed: 3)
        for (busy, idle) in [(0, 1), (1, 0), (0, 1)] {
            for index in 0..<3 { walk.setLoad(index == busy ? 2 : 0, of: index) }
            walk.run(seconds: 2.1)
            _ = walk.takeServed()
            walk.run(seconds: 5)
            let served = walk.takeServed()
            #expect(served[busy] >= 225, "of 250")
            #expect(served[idle] == 0)
        }
        #expect(Stamps.largestCount(walk.stamps, in: .seconds(1)) <= 50)
    }

    @Test("F3: the permits of a killed node are in use elsewhere after a lifetime and a period, and not before")
    func killed() throws {
        var walk = LimitWalk(.init(nodes: 3, permits: 30, lifetime: .seconds(6)), seed: 5)
        for index in 0..<3 { walk.setLoad(2, of: index) }
        walk.run(seconds: 20)
        let dead = try #require(walk.limitRecord?.nodes.first)
        #expect(dead.owned == 10)
        let index = try #require(walk.index(of: dead.id))
        walk.kill(index)
        walk.run(seconds: 7)
        #expect(walk.limitRecord?.owned(by: dead.id) == 10)
        // A look at most half a lifetime after the last renewal, then a lifetime and a period, with what clocks differ.
        walk.run(seconds: 4)
        #expect(walk.limitRecord?.owned(by: dead.id) == 0)
        _ = walk.takeServed()
        walk.run(seconds: 10)
        let served = walk.takeServed().reduce(0, +)
        #expect(served >= 270)
        #expect(Stamps.largestCount(walk.stamps, in: .seconds(1)) <= 30)
    }

    @Test("F9: with fewer permits than nodes, every node is served in turn")
    func fewPermits() {
        var walk = LimitWalk(.init(nodes: 8, permits: 3), seed: 7)
        for index in 0..<8 { walk.setLoad(2, of: index) }
        walk.run(seconds: 10)
        _ = walk.takeServed()
        walk.run(seconds: 80)
        let served = walk.takeServed()
        #expect(served.allSatisfy { $0 >= 20 }, "30 would be even: \(served)")
        #expect(served.reduce(0, +) >= 216, "nine tenths of 240: \(served)")
        #expect(Stamps.largestCount(walk.stamps, in: .seconds(1)) <= 3)
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

    @Test("F9: the record of a large limit is as small as that of a small one")
    func largeLimit() throws {
        var walk = LimitWalk(.init(nodes: 3, permits: 100_000, period: .seconds(3600)), seed: 9)
        walk.run(seconds: 60)
        let record = try #require(walk.limitRecord)
        #expect(try record.encoded().count < 500)
        #expect(record.nodes.count <= 3)
    }
}
