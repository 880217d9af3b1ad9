import Errand
import ErrandFleet
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Shared limits that change", .timeLimit(.minutes(10))) struct LimitChangeTests {
    private let clock = TestClock()
    private let store = TroubledStore()

    private func fleet(_ node: String, on path: TroubledStore? = nil) -> Fleet {
        Fleet(store: path ?? store, name: "billing", node: node, lifetime: .seconds(6), time: clock)
    }

    private func limit(per period: Duration) -> RateLimit { .requests(20, per: period) }

    @Test("F1: another period counts when no node has the old one, and the longer one is over", arguments: [1, 4])
    func period(seconds: Int) async throws {
        let old = fleet("old")
        let first = old.limiter("api", limit(per: .seconds(2)))
        try await clock.run {
            var all = await clock.taken(from: first, for: .seconds(5))
            let new = fleet("new")
            let second = new.limiter("api", limit(per: .seconds(seconds)))
            let error = await thrownError { () async throws(ServiceError) in try await second.acquire() }
            #expect("\(error as Any)".contains("another period"))
            await old.leave()
            let start = clock.now
            async let permit = second.acquire()
            try await clock.sleep(for: .seconds(1))
            #expect(new.snapshot.limits.first?.problem?.contains("wait until the longer one is over") == true)
            _ = try await permit
            #expect(new.snapshot.limits.first?.problem == nil)
            let waited = start.duration(to: clock.now)
            #expect(waited >= .seconds(max(2, seconds)) && waited < .seconds(max(2, seconds) + 1), "\(waited)")
            let late = [clock.now] + (await clock.taken(from: second, for: .seconds(12)))
            #expect(Stamps.largestCount(late.map(\.nanoseconds), in: .seconds(seconds)) <= 20)
            #expect(late.count >= 20 * 12 / seconds * 9 / 10)
            all += late
            #expect(Stamps.largestCount(all.map(\.nanoseconds), in: .seconds(min(2, seconds))) <= 20)
            await new.leave()
            withExtendedLifetime(second) {}
        }
        withExtendedLifetime(first) {}
    }

    @Test("F3: another period counts after the nodes with the old one have died")
    func periodOfTheDead() async throws {
        let path = store.another
        let old = fleet("old", on: path)
        let first = old.limiter("api", limit(per: .seconds(1)))
        try await clock.run {
            _ = await clock.taken(from: first, for: .seconds(5))
            path.failure = TroubledStore.unreachable
            let new = fleet("new")
            let second = new.limiter("api", limit(per: .seconds(2)))
            let start = clock.now
            var isFirst = true
            while await thrownError({ () async throws(ServiceError) in try await second.acquire() }) != nil {
                isFirst = false
                try await clock.sleep(for: .milliseconds(500))
            }
            #expect(!isFirst)
            let waited = start.duration(to: clock.now)
            #expect(waited >= .seconds(6) && waited <= .seconds(18), "\(waited)")
            await new.leave()
            withExtendedLifetime(second) {}
        }
        withExtendedLifetime(first) {}
    }

    @Test("F5: a damaged record is discarded, and the nodes that have seen it wait for a lifetime and a period")
    func discarded() async throws {
        let (first, second) = (fleet("a"), fleet("b"))
        let limiters = [first, second].map { $0.limiter("api", limit(per: .seconds(1))) }
        try await clock.run {
            _ = await clock.taken(from: limiters[0], for: .seconds(3))
            let record = try #require(try await store.read("errand/billing/limits/api"))
            _ = try await store.write(Array("?".utf8), to: "errand/billing/limits/api", replacing: record.revision)
            try await clock.sleep(for: .seconds(1))
            #expect(first.snapshot.limits.first?.problem != nil)
            let start = clock.now
            try await first.discard("api")
            // Until they have heard of it, they may use what they own.
            try await clock.sleep(for: .milliseconds(100))
            for limiter in limiters {
                try await limiter.acquire()
                #expect(start.duration(to: clock.now) >= .seconds(7))
            }
            #expect(start.duration(to: clock.now) <= .seconds(9))
            #expect(first.snapshot.limits.first?.problem == nil)
            // There is nothing any more.
            try await first.discard("other")
            for fleet in [first, second] { await fleet.leave() }
        }
        withExtendedLifetime(limiters) {}
    }

    @Test("F5: all records of a limit that was combined with others are discarded, also after an error")
    func discardedParts() async throws {
        let keys = ["", "/2", "/3"].map { "errand/billing/limits/api\($0)" }
        let fleet = fleet("a")
        for key in keys { _ = try await store.write(Array("?".utf8), to: key, replacing: nil) }
        store.failure = TroubledStore.unreachable
        await #expect(throws: FleetStoreError.self) { try await fleet.discard("api") }
        store.failure = nil
        _ = try await store.write(nil, to: keys[2], replacing: store.read(keys[2])?.revision)
        try await fleet.discard("api")
        for key in keys { #expect(try await store.read(key) == nil) }
    }

    @Test("F3: a node that leaves does not wait for permits that come back later than it may wait")
    func leave() async throws {
        let node = fleet("a")
        let limiter = node.limiter("api", limit(per: .seconds(60)))
        try await clock.run {
            try await limiter.acquire()
            let start = clock.now
            await node.leave()
            #expect(start.duration(to: clock.now) < .seconds(1))
        }
        withExtendedLifetime(limiter) {}
    }
}
