import Errand
import ErrandFleet
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("What a fleet shows to those who run it", .timeLimit(.minutes(10))) struct FleetSnapshotTests {
    private let clock = TestClock()
    private let store = TroubledStore()

    private func fleet(_ node: String) -> Fleet {
        Fleet(store: store, name: "billing", node: node, lifetime: .seconds(12), time: clock)
    }

    @Test("the time that is left, the last contact and the last report grow old when the store is gone")
    func ages() async throws {
        let node = fleet("a")
        #expect(node.snapshot.timeLeft == nil && node.snapshot.sinceContact == nil && node.snapshot.limits.isEmpty)
        let limiter = node.limiter("api", .requests(20, per: .seconds(1)))
        try await clock.run {
            _ = await clock.taken(from: limiter, for: .seconds(10))
            let before = node.snapshot
            let (left, contact) = (try #require(before.timeLeft), try #require(before.sinceContact))
            // Renewals come every four seconds.
            #expect(left >= .seconds(8) && left <= .seconds(12) && contact <= .seconds(4))
            let limit = try #require(before.limits.first)
            #expect(limit.period == .milliseconds(1010) && limit.sinceReport != nil && !limit.isStarving)
            #expect(limit.writesInLastMinute >= 1 && limit.conflictsInLastMinute == 0)
            store.failure = TroubledStore.unreachable
            try await clock.sleep(for: .seconds(5))
            let after = node.snapshot
            #expect(after.timeLeft == left - .seconds(5) && after.sinceContact == contact + .seconds(5))
            try await clock.sleep(for: .seconds(10))
            #expect(node.snapshot.timeLeft == nil && node.snapshot.limits.first?.owned == 0)
            store.failure = nil
            try await clock.sleep(for: .seconds(10))
            #expect(node.snapshot.timeLeft != nil)
            await node.leave()
            #expect(node.snapshot.timeLeft == nil)
        }
        withExtendedLifetime(limiter) {}
    }

    @Test("writes that others have preceded are counted, and forgotten after a minute")
    func conflicts() async throws {
        let nodes = (0..<5).map { fleet("\($0)") }
        let limiters = nodes.map { $0.limiter("api", .requests(20, per: .seconds(1))) }
        try await clock.run {
            await withTaskGroup { group in
                for limiter in limiters { group.addTask { _ = await clock.taken(from: limiter, for: .seconds(5)) } }
            }
            let limits = nodes.compactMap(\.snapshot.limits.first)
            #expect(limits.reduce(0) { $0 + $1.conflictsInLastMinute } > 0)
            #expect(limits.allSatisfy { $0.writesInLastMinute > 0 })
            try await clock.sleep(for: .seconds(100))
            let later = nodes.compactMap(\.snapshot.limits.first)
            #expect(later.count == 5 && later.allSatisfy { $0.conflictsInLastMinute == 0 && $0.movedInLastMinute == 0 })
            for node in nodes { await node.leave() }
        }
        withExtendedLifetime(limiters) {}
    }
}
