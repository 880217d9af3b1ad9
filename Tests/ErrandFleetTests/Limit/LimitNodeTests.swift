@testable import Errand
@testable import ErrandFleet
import Testing

/// What a node decides in single steps. `LimitWalkTests` show what becomes of many.
@Suite("A node's steps through a shared limit") struct LimitNodeTests {
    private var settings: SharedLimitSettings { settings(permits: 20) }
    private let start = Instant.zero.advanced(by: .seconds(100))

    private func at(_ seconds: Double) -> Instant { start.advanced(by: .seconds(seconds)) }

    private func settings(permits: Int) -> SharedLimitSettings {
        SharedLimitSettings(
            RateLimit.Window(permits: permits, period: .seconds(1), isSmooth: false), lifetime: .seconds(6))
    }

    /// A record in which each of those nodes owns so many permits, and wants so many.
    private func record(_ nodes: [(id: String, owned: Int, wants: Int)], period: Duration? = nil) -> LimitRecord {
        var record = LimitRecord(permits: 20, period: period ?? settings.period)
        for node in nodes {
            record.update(node.id) { ($0.owned, $0.wants) = (node.owned, node.wants) }
            record.free -= node.owned
        }
        return record
    }

    private func node(_ id: String = "a", after record: LimitRecord, _ revision: UInt64 = 5) -> LimitNode {
        var node = LimitNode(id: id, settings: settings)
        node.see(record, FleetRevision(revision), at: start)
        return node
    }

    private func written(_ step: LimitNode.Step) throws -> LimitRecord { try #require(step.write) }

    @Test("the margin of a limit belongs to the period that nodes share, which is longer by a hundredth")
    func margin() {
        for (margin, period) in [(0, 1010), (100, 1111)] {
            let limit = RateLimit.requests(20, per: .seconds(1)).margin(.milliseconds(margin))
            let settings = SharedLimitSettings(limit.windows[0], lifetime: .seconds(6))
            #expect(settings.period == .milliseconds(period))
        }
    }

    @Test("a node that finds no record begins one; one that has seen it go waits for a lifetime and a period")
    func none() {
        var new = LimitNode(id: "a", settings: settings)
        new.seeNone(at: start)
        #expect(new.step(.init(waiting: 4), at: start).write?.owned(by: "a") ?? 0 >= 4)
        var old = node(after: record([("a", 10, 0), ("b", 10, 0)]))
        old.seeNone(at: at(1))
        #expect(old.owned == 0)
        let end = at(1).advanced(by: settings.takeover(after: .seconds(6)))
        let early = old.step(.init(waiting: 4), at: end.advanced(by: .nanoseconds(-1)))
        #expect(early.write == nil && early.share == 0 && early.due == end)
        #expect(old.step(.init(waiting: 4), at: end).write?.owned(by: "a") ?? 0 >= 4)
    }

    @Test("F12: what a write of unknown outcome gives away is not used, and nothing else is decided meanwhile")
    func unknown() throws {
        var node = node(after: record([("a", 20, 0), ("b", 0, 20)]))
        let gift = node.step(.init(unused: 20), at: start)
        let write = try #require(gift.write)
        #expect(write.owned(by: "b") > 0 && write.owned(by: "a") == node.owned)
        let left = node.owned
        node.wrote(nil, nil, at: at(0.5))
        // Its own calls need all permits now, but the write may still be made.
        let again = node.step(.init(out: 0, unused: 20, waiting: 20), at: at(0.5))
        #expect(again.write == write && again.share == gift.share && node.owned == left)
        // It was not made: somebody else has changed the record.
        let other = record([("a", 20, 0), ("b", 0, 5)])
        node.wrote(.changed(FleetRecord(bytes: [], revision: FleetRevision(6))), other, at: at(1))
        #expect(node.owned == 20 && !node.isWriting && node.record == other)
        #expect(node.revision == FleetRevision(6))
    }

    @Test("a newer record ends a write of unknown outcome, and an older one changes nothing")
    func newer() throws {
        var node = node(after: record([("a", 20, 0), ("b", 0, 20)]))
        let write = try written(node.step(.init(unused: 20), at: start))
        node.wrote(nil, nil, at: at(0.5))
        node.see(record([("a", 20, 0)]), FleetRevision(4), at: at(0.6))
        #expect(node.isWriting && node.owned == write.owned(by: "a"))
        node.see(write, FleetRevision(6), at: at(0.7))
        #expect(!node.isWriting && node.owned == write.owned(by: "a"))
        node.see(record([("a", 20, 0)]), FleetRevision(5), at: at(0.8))
        #expect(node.owned == write.owned(by: "a"))
    }

    @Test("only permits that are not in use are given away, and the rest as soon as it is back")
    func inUse() throws {
        var node = node(after: record([("a", 20, 0), ("b", 0, 20)]))
        let step = node.step(.init(out: 15, unused: 5, nextReturn: at(0.3)), at: start)
        // It needs the 15 that are out, and goes on with as many as are fair.
        #expect(step.write?.owned(by: "a") == 15)
        #expect(step.share == 10)
        #expect(step.due == at(0.3))
    }

    @Test("permits of nodes that are gone become free, but never a node's own")
    func gone() throws {
        var node = node(after: record([("a", 8, 0), ("b", 7, 9), ("c", 5, 0)]))
        let write = try written(node.step(.init(unused: 8), gone: ["a", "b"], at: start))
        #expect(write.owned(by: "a") == 8)
        #expect(write.node("b") == nil && write.owned(by: "c") == 5 && write.free == 7)
    }

    @Test("a record of another period or of a later version is left alone, and nothing is sent under it")
    func foreign() {
        var later = record([("a", 10, 0)])
        later.version += 1
        for found in [record([("a", 10, 0)], period: .seconds(2)), later] {
            var node = node(after: found)
            #expect(node.step(.init(waiting: 5), at: start) == LimitNode.Step(share: 0))
        }
    }

    @Test("a node that makes a limit smaller than what was put aside leaves one permit")
    func smaller() throws {
        var lowered = record([("b", 5, 0)])
        (lowered.aside, lowered.free) = (15, 0)
        var node = LimitNode(id: "a", settings: settings(permits: 10))
        node.see(lowered, FleetRevision(5), at: start)
        let write = try written(node.step(.init(waiting: 2), at: start))
        #expect(write.isSound && write.permits == 10 && write.aside == 9)
    }

    @Test("a node that leaves keeps what is in use, and is said to need nothing")
    func leaving() throws {
        var node = node(after: record([("a", 10, 14), ("b", 10, 0)]))
        let returned = node.leave(.init(out: 4, unused: 6), at: start)
        let left = try #require(returned)
        #expect(left.owned(by: "a") == 4 && left.node("a")?.wants == 0 && left.free == 6)
        #expect(node.isWriting && node.owned == 4)
        #expect(node.leave(.init(unused: 10), at: start) == left, "one write at a time")
    }

    @Test("F10: a node that leaves keeps the fleet's pause, and goes on when another node ends it")
    func leavesDuringPause() {
        var paused = record([("a", 10, 0), ("b", 10, 0)])
        paused.pause = LimitRecord.Pause(id: 7, milliseconds: 1500)
        var node = node(after: paused)
        #expect(node.followPause(nil, at: start) == .pause(until: at(1.5)))
        #expect(node.followPause(at(1.5), at: at(0.5)) == nil, "it is the same pause")
        paused.pause = nil
        node.see(paused, FleetRevision(6), at: at(0.6))
        #expect(node.followPause(at(1.5), at: at(0.6)) == .resume(from: at(1.5)))
    }

    @Test("F11: a node that waits for what others are to give does not look again and again")
    func waitsForOthers() {
        // The place of the node has ended after 30 seconds, but it has less than it may keep at the end too.
        var record = LimitRecord(permits: 19, period: settings.period)
        for (id, owned) in [("a", 3), ("b", 3), ("c", 13)] {
            record.update(id) { ($0.owned, $0.wants) = (owned, id == "c" ? 0 : 19) }
            record.note(.seconds(6), of: id)
        }
        record.free = 0
        var node = LimitNode(id: "a", settings: settings(permits: 19))
        node.see(record, FleetRevision(5), at: start)
        for seconds in [29, 31] {
            let step = node.step(.init(out: 3, waiting: 20, nextReturn: at(32)), at: at(Double(seconds)))
            #expect(step.write == nil)
            // Its own waiters may leave without a report.
            #expect(step.due.map { $0 > at(Double(seconds)) && $0 <= at(Double(seconds) + 2) } == true)
        }
    }

    @Test("F1: what a node gives to others it does not make free as well, after the limit was lowered")
    func lowered() throws {
        let window = RateLimit.Window(permits: 10, period: .seconds(3600), isSmooth: false)
        let settings = SharedLimitSettings(window, lifetime: .seconds(12))
        var lowered = LimitRecord(permits: 10, period: settings.period)
        lowered.free = -90
        lowered.update("a") { $0.owned = 100 }
        var node = LimitNode(id: "a", settings: settings)
        node.see(lowered, FleetRevision(5), at: start)
        let write = try written(node.step(.init(out: 60, unused: 40), at: start))
        #expect(write.isSound && write.owned(by: "a") == 60 && write.free == -50)
    }

    @Test("numbers that no limit has are damage", arguments: [Int.max, Int(Int32.max) + 1])
    func largeNumbers(number: Int) throws {
        var large = LimitRecord(permits: number, period: settings.period)
        #expect(!large.isSound)
        large = record([("a", 5, number)])
        #expect(!large.isSound)
        large = record([("a", 5, 12)])
        large.update("a") { $0.cost = number }
        #expect(!large.isSound)
    }

    @Test("under another name a node owns nothing of the old one")
    func renamed() {
        var node = node(after: record([("a", 20, 0), ("b", 0, 20)]))
        #expect(node.step(.init(unused: 20), at: start).write != nil)
        node.rename(to: "a2")
        #expect(!node.isWriting && node.owned == 0)
        let write = node.step(.init(waiting: 3), at: start).write
        #expect(write?.owned(by: "a") == 20 && write?.node("a2")?.wants ?? 0 >= 3)
    }

    @Test("a node whose waiters have left says so, and a debt is paid before others are given any")
    func debts() throws {
        var noted = record([("a", 5, 12), ("b", 15, 0)])
        noted.note(settings.lifetime, of: "a")
        var idle = node(after: noted)
        let step = idle.step(.init(unused: 5), at: start)
        #expect(step.write == nil, "more calls often follow")
        let due = try #require(step.due)
        #expect(due <= start.advanced(by: .seconds(1)))
        #expect(idle.step(.init(unused: 5), at: due).write?.node("a")?.wants == 0)
        var owed = record([("a", 20, 0), ("b", 0, 20)])
        (owed.permits, owed.free) = (14, -6)
        var small = LimitNode(id: "a", settings: settings(permits: 14))
        small.see(owed, FleetRevision(5), at: start)
        let write = try written(small.step(.init(unused: 20), at: start))
        #expect(write.isSound && write.free == 0 && write.owned(by: "b") == 14)
    }
}
