import Errand
import ErrandFleet
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Nodes that end", .timeLimit(.minutes(10))) struct NodeDeathTests {
    private static let lifetime = Duration.seconds(12)
    private let clock = TestClock()
    private let store = TroubledStore()

    /// A node, and the way on which it reaches the store.
    private struct Node {
        let fleet: Fleet
        let path: TroubledStore
        let limiter: RateLimiter
    }

    private func node(_ name: String) -> Node {
        let path = store.another
        let fleet = Fleet(store: path, name: "billing", node: name, lifetime: Self.lifetime, time: clock)
        return Node(fleet: fleet, path: path, limiter: fleet.limiter("api", .requests(100, per: .seconds(1))))
    }

    /// Has nodes use all they can for a while. Returns when permits were taken.
    private func use(_ nodes: [Node], for duration: Duration) async -> [Instant] {
        await withTaskGroup { group in
            for node in nodes { group.addTask { await clock.taken(from: node.limiter, for: duration) } }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }

    /// Returns after how long the permits that were taken in a second were nearly the whole limit.
    private func recovery(from start: Instant, _ taken: [Instant]) -> Duration? {
        let seconds = taken.map { Int(start.duration(to: $0) / .seconds(1)) }
        let counts = Dictionary(seconds.map { ($0, 1) }) { $0 + $1 }
        return (0..<200).first { counts[$0, default: 0] >= 90 }.map { .seconds($0) }
    }

    @Test("F3: after nine of ten nodes have died, the last has the whole limit in two lifetimes and a period")
    func together() async throws {
        let nodes = (0..<10).map { node("node-\($0)") }
        try await clock.run {
            let early = await use(nodes, for: .seconds(10))
            #expect(early.count >= 850, "of 1,000")
            let start = clock.now
            for node in nodes.dropFirst() { node.path.failure = TroubledStore.unreachable }
            let late = await use(Array(nodes.prefix(1)), for: .seconds(60))
            let needed = try #require(recovery(from: start, late))
            #expect(needed >= Self.lifetime, "not before they can no longer use them")
            #expect(needed <= Self.lifetime * 2 + .seconds(2), "\(needed)")
            await nodes[0].fleet.leave()
        }
        withExtendedLifetime(nodes) {}
    }

    @Test("F3: rare calls with short deadlines get the permits of a node that has died, too")
    func rareCalls() async throws {
        let (dead, living) = (node("a"), node("b"))
        await clock.run {
            _ = await use([dead], for: .seconds(5))
            dead.path.failure = TroubledStore.unreachable
            var attempts = 0
            repeat {
                attempts += 1
                let deadline = clock.now.advanced(by: .seconds(10))
                if (try? await living.limiter.acquire(before: deadline)) != nil { break }
                try? await clock.sleep(for: .seconds(20))
            } while attempts < 20
            #expect(attempts <= 4, "\(attempts)")
            await living.fleet.leave()
        }
        withExtendedLifetime(dead) {}
    }

    @Test("F3: after all nodes have died, others have the whole limit in a lifetime and a few periods")
    func anew() async throws {
        let dead = (0..<10).map { node("1.\($0)") }
        try await clock.run {
            _ = await use(dead, for: .seconds(10))
            for node in dead { node.path.failure = TroubledStore.unreachable }
            let nodes = (0..<10).map { node("2.\($0)") }
            let events = nodes[0].fleet.events
            let starving = Task { await events.contains(.starving(limit: "api")) }
            let start = clock.now
            async let later = use(nodes, for: .seconds(60))
            try await clock.sleep(for: .seconds(4))
            #expect(nodes.allSatisfy { $0.fleet.snapshot.limits.first?.isStarving == true })
            #expect(await starving.value)
            let taken = await later
            #expect(nodes.allSatisfy { $0.fleet.snapshot.limits.first?.isStarving == false })
            let needed = try #require(recovery(from: start, taken))
            #expect(needed >= Self.lifetime && needed <= Self.lifetime + .seconds(5), "\(needed)")
            await withTaskGroup { group in
                for node in nodes { group.addTask { await node.fleet.leave() } }
            }
        }
        withExtendedLifetime(dead) {}
    }

    @Test("F11: a fleet whose nodes all have calls that wait looks at each node as often as one that is idle")
    func busy() async throws {
        let nodes = (0..<10).map { node("node-\($0)") }
        await clock.run {
            _ = await use(nodes, for: .seconds(20))
            let looks = nodes.reduce(0) { $0 + $1.path.looks }
            _ = await use(nodes, for: .seconds(60))
            // One look at one node in six seconds, by each of ten.
            #expect(nodes.reduce(0) { $0 + $1.path.looks } - looks <= 110)
            await withTaskGroup { group in
                for node in nodes { group.addTask { await node.fleet.leave() } }
            }
        }
        withExtendedLifetime(nodes) {}
    }

    @Test("F5: a node whose renewals are repeated on the way keeps its name and its permits")
    func repeated() async throws {
        let node = node("a")
        node.path.repeatsWrites = true
        await clock.run {
            let taken = await use([node], for: .seconds(40))
            #expect(taken.count >= 3900, "of 4,000")
            let name = node.fleet.snapshot.node
            _ = await use([node], for: .seconds(20))
            #expect(node.fleet.snapshot.node == name)
            await node.fleet.leave()
        }
        withExtendedLifetime(node) {}
    }

    @Test("F5: a node whose names are all taken tries some a minute, not thousands")
    func takenNames() async throws {
        let node = node("a")
        node.path.takesNames = true
        await clock.run {
            let (events, names) = (node.fleet.events, Noted(0))
            let counting = Task(executorPreference: clock.executor) {
                for await _ in events { names.update { $0 += 1 } }
            }
            #expect(await use([node], for: .seconds(60)).isEmpty)
            counting.cancel()
            #expect(names.value > 20 && names.value < 100, "\(names.value)")
            node.path.takesNames = false
            #expect(await use([node], for: .seconds(10)).count > 500)
            await node.fleet.leave()
        }
        withExtendedLifetime(node) {}
    }
}
