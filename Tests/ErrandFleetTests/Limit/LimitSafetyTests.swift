@testable import Errand
@testable import ErrandFleet
import ErrandTesting
import Testing

/// What keeps a limit when writes conflict, names change and stores go back.
@Suite("The safety of a shared limit, in single steps") struct LimitSafetyTests {
    private let start = Instant.zero.advanced(by: .seconds(100))
    private let lowering = LimitLowering.on429()

    private func at(_ seconds: Double) -> Instant { start.advanced(by: .seconds(seconds)) }

    private func settings(lifetime: Int = 6, weight: Int = 1) -> SharedLimitSettings {
        SharedLimitSettings(
            RateLimit.Window(permits: 20, period: .seconds(1), isSmooth: false), weight: weight, lowering: lowering,
            lifetime: .seconds(lifetime))
    }

    private func record(_ owned: [String: Int]) -> LimitRecord {
        var record = LimitRecord(permits: 20, period: settings().period)
        for (id, count) in owned.sorted(by: { $0.key < $1.key }) {
            record.update(id) { $0.owned = count }
            record.note(.seconds(6), of: id)
            record.free -= count
        }
        return record
    }

    private func node(after record: LimitRecord, _ settings: SharedLimitSettings? = nil) -> LimitNode {
        var node = LimitNode(id: "a", settings: settings ?? self.settings())
        node.see(record, FleetRevision(5), at: start)
        return node
    }

    private func written(_ step: LimitNode.Step) throws -> LimitRecord { try #require(step.write) }

    private func conflict(_ revision: UInt64) -> FleetWrite {
        .changed(FleetRecord(bytes: [], revision: FleetRevision(revision)))
    }

    @Test("F10: a pause whose write was refused is written again, with its lowering, and is not ended")
    func refusedPause() throws {
        var node = node(after: record(["a": 10, "b": 10]))
        let need = LimitNode.Need(unused: 10, pausedUntil: at(30), isRefused: true)
        let first = try written(node.step(need, at: start, random: 1))
        #expect(first.pause != nil && first.aside == 10)
        node.wrote(conflict(6), record(["a": 10, "b": 9]), at: at(0.1))
        let second = node.step(need, at: at(0.1), random: 2)
        #expect(second.pause == nil, "the limiter's own pause goes on")
        let write = try #require(second.write)
        #expect(write.pause != nil && write.aside == 10)
        // Only when it was in the record has another node ended it.
        node.wrote(.written(FleetRevision(7)), nil, at: at(0.2))
        var ended = write
        ended.pause = nil
        node.see(ended, FleetRevision(8), at: at(1))
        #expect(node.step(need, at: at(1), random: 3).pause == .resume(from: at(30)))
    }

    @Test("F10: only a refusal lowers the limit, also one during another pause, and each pause once")
    func lowersOnce() throws {
        var node = node(after: record(["a": 20]))
        var need = LimitNode.Need(unused: 20, pausedUntil: at(30))
        let paused = try written(node.step(need, at: start, random: 1))
        #expect(paused.aside == 0)
        node.wrote(.written(FleetRevision(6)), nil, at: start)
        need.isRefused = true
        let lowered = try written(node.step(need, at: at(1), random: 2))
        #expect(lowered.aside == 10)
        node.wrote(.written(FleetRevision(7)), nil, at: at(1))
        #expect(node.step(need, at: at(2), random: 3).write?.aside ?? 10 == 10)
    }

    @Test("F5: a store that has lost writes is used when all permits of the lost records are back")
    func olderRecord() throws {
        var node = node(after: record(["a": 10, "b": 10]))
        #expect(node.step(.init(out: 10, waiting: 5), at: start).write != nil)
        node.wrote(conflict(3), record(["a": 20]), at: at(1))
        #expect(node.owned == 0)
        let end = at(1).advanced(by: settings().takeover(after: .seconds(6)))
        let early = node.step(.init(waiting: 5), at: end.advanced(by: .nanoseconds(-1)))
        #expect(early == LimitNode.Step(share: 0, due: end), "nothing is written until then")
        node.see(record(["a": 15, "b": 5]), FleetRevision(4), at: at(2))
        #expect(node.owned == 0)
        _ = node.step(.init(waiting: 5), at: end)
        #expect(node.owned == 15)
    }

    @Test("F7: the longest lifetime in the record counts, and goes with its node")
    func lifetimes() throws {
        var found = record(["b": 20])
        found.note(.seconds(60), of: "b")
        var node = node(after: found)
        #expect(node.takeover == settings().takeover(after: .seconds(60)))
        let write = try written(node.step(.init(waiting: 5), at: start))
        #expect(write.lifetime == 60_000_000_000)
        node.wrote(.written(FleetRevision(6)), nil, at: start)
        let alone = try written(node.step(.init(waiting: 5), gone: ["b"], at: at(70)))
        #expect(alone.lifetime == 6_000_000_000)

        var life = NodeLife(lifetime: .seconds(6))
        life.keep(["b"], longest: .seconds(60))
        let revision = FleetRevision(1)
        #expect(life.inspected("b", revision, at: start) == .none)
        #expect(life.inspected("b", revision, at: at(61)) == .none)
        #expect(life.inspected("b", revision, at: at(62)) == .remove(revision))
    }

    @Test("F9: weights of any size are bounded, also those of other nodes")
    func weights() throws {
        #expect(settings(weight: .max).weight == 1_000_000)
        var found = record(["a": 10, "b": 10])
        for id in ["a", "b"] { found.update(id) { ($0.wants, $0.weight) = (20, .max) } }
        let read = try LimitRecord(found.encoded(), key: "key")
        #expect(read.targets() == [10, 10])
    }

    @Test("F9: parts are as the weights, whoever is first, and each node gets what its next call takes")
    func targets() {
        func targets(_ permits: Int, _ nodes: (weight: Int, cost: Int, wants: Int)...) -> [Int] {
            var record = LimitRecord(permits: permits, period: .seconds(1))
            for (index, node) in nodes.enumerated() {
                record.update("\(index)") { ($0.weight, $0.cost, $0.wants) = node }
            }
            return record.targets()
        }
        #expect(targets(20, (4, 1, 40), (1, 1, 40)) == [16, 4])
        #expect(targets(20, (1, 1, 40), (4, 1, 40)) == [4, 16])
        #expect(targets(20, (1, 1, 40), (1, 1, 40), (1, 1, 40)) == [7, 7, 6], "the rest goes to the first")
        #expect(targets(20, (1, 1, 2), (1, 1, 40), (1, 1, 40)) == [2, 9, 9], "none gets more than it wants")
        #expect(targets(20, (1, 15, 40), (1, 1, 40)) == [15, 5], "a call takes what it takes")
        #expect(targets(20, (1, 5, 40), (1, 1, 40)) == [10, 10], "and no larger part for that")
        #expect(targets(20, (1, 15, 40), (1, 15, 40)) == [15, 0], "it waits for those before it")
        #expect(targets(2, (1, 1, 9), (1, 1, 9), (1_000_000, 1, 9)) == [1, 1, 0], "nor does weight come before that")
        #expect(targets(30, (1_000_000, 1, 99), (500_000, 1, 99)) == [20, 10])
        #expect(targets(.max, (1_000_000, 1, .max), (1, 1, 7)) == [.max - 7, 7])
        #expect(targets(20, (1, 1, 3), (9, 1, 4)) == [3, 4], "what nobody wants stays free")
    }

    @Test("F9: parts add up, and differ from the weights by less than a permit", arguments: 0..<500 as Range<UInt64>)
    func proportions(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var record = LimitRecord(permits: .random(in: 1...300, using: &random), period: .seconds(1))
        for index in 0..<Int.random(in: 1...12, using: &random) {
            record.update("\(index)") { node in
                node.weight = .random(in: 1...9, using: &random)
                node.wants = .random(in: 1...100, using: &random)
            }
        }
        let (targets, nodes) = (record.targets(), record.nodes)
        #expect(targets.reduce(0, +) == min(record.permits, nodes.reduce(0) { $0 + $1.wants }))
        guard nodes.count <= record.permits else { return }
        for (node, target) in zip(nodes, targets) {
            #expect((1...node.wants).contains(target))
            // Another node has more only for its weight, or because each has at least one.
            guard target < node.wants else { continue }
            for (other, part) in zip(nodes, targets) where part > 1 {
                #expect((part - 1) * node.weight < (target + 1) * other.weight)
            }
        }
    }

    @Test("F5: a node that leaves gives up what an older record says when all that came later is back, and not before")
    func leavesOutdated() throws {
        var node = node(after: record(["a": 10, "b": 10]))
        _ = node.step(.init(out: 10, waiting: 5), at: start)
        node.wrote(conflict(3), record(["a": 20]), at: at(1))
        let end = at(1).advanced(by: settings().takeover(after: .seconds(6)))
        let early = node.leave(.init(unused: 20), at: end.advanced(by: .nanoseconds(-1)))
        #expect(early == nil && node.isOutdated)
        let write = node.leave(.init(unused: 20), at: end)
        let left = try #require(write)
        #expect(left.owned(by: "a") == 0 && left.free == 20)
    }

    @Test("F1: what a limiter that is being released has out counts as all that its node owns, for one period")
    func unknown() {
        for isSmooth in [false, true] {
            let limit: RateLimit = isSmooth ? .smooth(20, per: .seconds(1)) : .requests(20, per: .seconds(1))
            let settings = SharedLimitSettings(limit.windows[0], lifetime: .seconds(6))
            var permits = OwnedPermits(settings, owner: "a")
            permits.takeAll(at: start)
            permits.belong(to: "a", until: at(100))
            // A node may own more than the limit while that is lowered.
            permits.owned = 30
            let end = start.advanced(by: settings.period)
            #expect(permits.available(at: end.advanced(by: .nanoseconds(-1))) == 0)
            #expect(permits.out(at: start) == 30 && permits.nextReturn(after: start) == end)
            #expect(permits.available(at: end) ?? 0 >= 1)
        }
    }

    @Test("F4: permits that were taken under another name are not used")
    func renamed() {
        var permits = OwnedPermits(settings(), owner: "a")
        permits.belong(to: "a", until: at(10))
        permits.owned = 5
        let isTaken = permits.take(2, at: start)
        #expect(isTaken)
        permits.belong(to: "a2", until: at(20))
        permits.owned = 5
        let isUsable = permits.renew(2, takenAt: start, at: start)
        #expect(!isUsable)
        #expect(permits.available(at: start) == 5)
    }

    @Test("F4: a permit ends one period after its use, or with the lifetime that its node had then")
    func ends() throws {
        let clock = TestClock()
        let (now, period) = (clock.now, settings().period)
        for lifetime in [Duration.seconds(10), .milliseconds(500)] {
            var permits = OwnedPermits(settings(), owner: "a")
            permits.belong(to: "a", until: now.advanced(by: lifetime))
            permits.owned = 5
            let limiter = RateLimiter(.requests(20, per: .seconds(1)), of: permits, time: clock)
            let taken = try #require(try limiter.takeAtOnce(cost: 1, isUrgent: false))
            let permit = Permit(of: limiter, cost: 1, taken: taken, before: .distantFuture)
            #expect(permit.use(at: now) != nil)
            limiter.changeSource { source in
                guard var owned = source as? OwnedPermits else { return }
                owned.belong(to: "a2", until: now.advanced(by: .seconds(100)))
                source = owned
            }
            #expect(permit.end == now.advanced(by: min(lifetime, period)))
        }
    }
}
