import Errand
import ErrandFleet
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Nodes that need nothing", .timeLimit(.minutes(10))) struct NodeRestTests {
    private let clock = TestClock()
    private let store = TroubledStore()

    private func fleet(_ node: String) -> Fleet {
        Fleet(store: store, name: "billing", node: node, lifetime: .seconds(6), time: clock)
    }

    private func limiter(of fleet: Fleet) -> RateLimiter { fleet.limiter("api", .requests(20, per: .seconds(1))) }

    private var nodeKeys: [String] { store.keys.filter { $0.contains("/nodes/") }.sorted() }

    @Test("F15: nodes without calls have no records, ask the store for nothing, and begin with their first call")
    func idle() async throws {
        let fleets = (0..<20).map { fleet("\($0)") }
        let limiters = fleets.map(limiter)
        let (events, seen) = (fleets[0].events, Noted<[Fleet.Event]>([]))
        let listening = Task(executorPreference: clock.executor) {
            for await event in events { seen.update { $0.append(event) } }
        }
        try await clock.run {
            try await clock.sleep(for: .seconds(25))
            #expect(store.requests == 0)
            try await clock.sleep(for: .seconds(75))
            #expect(store.requests <= 20 * 4, "the reads beside watches that are silent")
            #expect(seen.value == [])
            #expect(nodeKeys == [])
            #expect(fleets[0].snapshot.timeLeft == nil)
            let taken = await clock.taken(from: limiters[0], for: .seconds(5))
            #expect(taken.count >= 90, "of 100")
            #expect(nodeKeys == ["errand/billing/nodes/\(fleets[0].snapshot.node)"])
            for fleet in fleets { await fleet.leave() }
            #expect(nodeKeys == [])
        }
        listening.cancel()
        withExtendedLifetime(limiters) {}
    }

    @Test("F15: a node whose permits were all taken removes its record after a lifetime, and goes on when it is called")
    func robbed() async {
        let (one, other) = (fleet("a"), fleet("b"))
        let limiters = (limiter(of: one), limiter(of: other))
        await clock.run {
            let early = await clock.taken(from: limiters.0, for: .seconds(5))
            #expect(early.count >= 90)
            #expect(nodeKeys.count == 1)
            _ = await clock.taken(from: limiters.1, for: .seconds(20))
            #expect(nodeKeys == ["errand/billing/nodes/\(other.snapshot.node)"])
            #expect(other.snapshot.limits.first?.owned == 20)
            let late = await clock.taken(from: limiters.0, for: .seconds(10))
            #expect(late.count >= 150, "of 200")
            await one.leave()
            await other.leave()
        }
        withExtendedLifetime(limiters) {}
    }

    @Test("F15: a call that comes while a node removes its record gets permits under the next name, and no other")
    func raced() async {
        let gate = Gate(at: 1)
        let path = HeldRemovals(store: store, gate: gate)
        let one = Fleet(store: path, name: "billing", node: "a", lifetime: .seconds(6), time: clock)
        let other = fleet("b")
        let limiters = (limiter(of: one), limiter(of: other))
        await clock.run {
            _ = await clock.taken(from: limiters.0, for: .seconds(3))
            var seconds = 0
            while !gate.isHolding, seconds < 60 {
                _ = await clock.taken(from: limiters.1, for: .seconds(1))
                seconds += 1
            }
            #expect(gate.isHolding)
            let old = one.snapshot.node
            async let taken = clock.taken(from: limiters.0, for: .seconds(10), tasks: 1)
            // Long enough for a look at the other nodes, which tells what this one may use.
            _ = await clock.taken(from: limiters.1, for: .seconds(4))
            #expect(other.snapshot.limits.first?.owners[old] == nil)
            #expect(other.snapshot.limits.first?.waitingNodes.contains(old) == false)
            gate.open()
            #expect(await !taken.isEmpty)
            #expect(one.snapshot.node != old)
            await one.leave()
            await other.leave()
        }
        withExtendedLifetime(limiters) {}
    }

    @Test("F15: while the store does not respond, the record of a node that needs nothing is removed later")
    func unreachable() async throws {
        let (one, other) = (fleet("a"), fleet("b"))
        let limiters = (limiter(of: one), limiter(of: other))
        try await clock.run {
            _ = await clock.taken(from: limiters.0, for: .seconds(3))
            _ = await clock.taken(from: limiters.1, for: .seconds(3))
            store.failure = TroubledStore.unreachable
            try await clock.sleep(for: .seconds(3))
            store.failure = nil
            _ = await clock.taken(from: limiters.1, for: .seconds(20))
            #expect(nodeKeys == ["errand/billing/nodes/\(other.snapshot.node)"])
            await one.leave()
            await other.leave()
        }
        withExtendedLifetime(limiters) {}
    }
}

/// A store that takes a while to remove the records of nodes.
private struct HeldRemovals: FleetStore {
    let store: TroubledStore
    let gate: Gate

    func read(_ key: String) async throws(FleetStoreError) -> FleetRecord? { try await store.read(key) }

    func write(
        _ bytes: [UInt8]?, to key: String, replacing revision: FleetRevision?
    ) async throws(FleetStoreError) -> FleetWrite {
        if bytes == nil, key.contains("/nodes/") { await gate.pass() }
        return try await store.write(bytes, to: key, replacing: revision)
    }

    func changes(of key: String) -> AsyncThrowingStream<FleetRecord?, any Error> { store.changes(of: key) }
}
