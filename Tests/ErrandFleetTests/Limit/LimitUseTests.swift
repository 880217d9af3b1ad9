import Errand
import ErrandFleet
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("The uses of a shared limit in one process", .timeLimit(.minutes(10))) struct LimitUseTests {
    private let clock = TestClock()
    private let store = TroubledStore()
    private let limit: RateLimit = .requests(20, per: .seconds(1))

    private func fleet(_ node: String) -> Fleet {
        Fleet(store: store, name: "billing", node: node, lifetime: .seconds(6), time: clock)
    }

    private func largestCount(_ instants: [Instant]) -> Int {
        Stamps.largestCount(instants.map(\.nanoseconds), in: .seconds(1))
    }

    @Test("F1: two uses of one limit share its permits")
    func twice() async {
        let node = fleet("a")
        let (one, other) = (node.limiter("api", limit), node.limiter("api", limit))
        #expect(one === other)
        await clock.run {
            async let some = clock.taken(from: one, for: .seconds(5))
            async let more = clock.taken(from: other, for: .seconds(5))
            let all = await some + more
            #expect(largestCount(all) <= 20)
            #expect(all.count >= 80)
            #expect(node.snapshot.limits.count == 1)
            await node.leave()
        }
    }

    @Test("F1: a limiter that is made again counts what the released one has used")
    func again() async {
        let node = fleet("a")
        await clock.run {
            var all = await clock.taken(from: node.limiter("api", limit), for: .milliseconds(500))
            #expect(!all.isEmpty)
            let again = node.limiter("api", limit)
            all += await clock.taken(from: again, for: .seconds(10))
            #expect(largestCount(all) <= 20)
            #expect(all.count >= 150)
            await node.leave()
            withExtendedLifetime(again) {}
        }
    }

    @Test("F1: a limiter that is made again may have another number of permits")
    func changed() async {
        let node = fleet("a")
        await clock.run {
            var all = await clock.taken(from: node.limiter("api", limit), for: .milliseconds(500))
            let again = node.limiter("api", .requests(10, per: .seconds(1)))
            all += await clock.taken(from: again, for: .seconds(10))
            #expect(largestCount(all) <= 20)
            #expect(largestCount(Array(all.suffix(50))) <= 10)
            #expect(node.snapshot.limits.first?.permits == 10)
            await node.leave()
            withExtendedLifetime(again) {}
        }
    }

    @Test("a second use with other settings fails, and says why")
    func disagreement() async {
        let node = fleet("a")
        let one = node.limiter("api", limit)
        let other = node.limiter("api", .requests(30, per: .seconds(1)))
        await clock.run {
            let error = await thrownError { () async throws(ServiceError) in try await other.acquire() }
            #expect("\(error as Any)".contains("with other settings"))
            await #expect(throws: Never.self) { try await one.acquire() }
            await node.leave()
        }
    }

    @Test("a use with another inner limit is refused alone, and uses with the settings of before go on")
    func innerDisagreement() async {
        let node = fleet("a")
        @Sendable func limiter(inner seconds: Int) -> RateLimiter {
            node.limiter("api", .all(limit, .requests(100, per: .seconds(seconds))))
        }
        await clock.run {
            let used = await clock.taken(from: limiter(inner: 60), for: .milliseconds(500))
            #expect(!used.isEmpty)
            let wrong = limiter(inner: 30)
            let error = await thrownError { () async throws(ServiceError) in try await wrong.acquire() }
            #expect("\(error as Any)".contains("the limit api/2 of the fleet billing with other settings"))
            let right = limiter(inner: 60)
            await #expect(throws: Never.self) { try await right.acquire() }
            await node.leave()
            withExtendedLifetime((wrong, right)) {}
        }
    }

    @Test("different names are different limits")
    func names() async {
        let node = fleet("a")
        let long = String(repeating: "a", count: 100)
        let several: RateLimit = .all(limit, .requests(100, per: .seconds(60)))
        let limiters = [
            node.limiter("ü", limit), node.limiter("ö", limit), node.limiter("_", limit),
            node.limiter(long + "b", limit), node.limiter(long + "c", limit),
            node.limiter("api", several), node.limiter("api.2", limit),
        ]
        #expect(Set(node.snapshot.limits.map(\.key)).count == 8)
        await clock.run { await node.leave() }
        withExtendedLifetime(limiters) {}
    }

    @Test("F3: permits with a long period that were used are not returned before they are back")
    func longPeriod() async {
        let (first, second) = (fleet("a"), fleet("b"))
        let slow: RateLimit = .requests(20, per: .seconds(3600))
        await clock.run {
            let used = await clock.taken(from: first.limiter("slow", slow), for: .seconds(5))
            #expect(used.count == 20)
            await first.leave()
            let other = second.limiter("slow", slow)
            let late = await clock.taken(from: other, for: .seconds(300))
            #expect(late.isEmpty)
            await second.leave()
            withExtendedLifetime(other) {}
        }
    }

    @Test("F4: a node that has left its fleet and works again has another name")
    func worksAgain() async {
        let (first, second) = (fleet("a"), fleet("b"))
        let other = second.limiter("api", limit)
        await clock.run {
            var all = await clock.taken(from: first.limiter("api", limit), for: .seconds(2))
            let name = first.snapshot.node
            await first.leave()
            let again = first.limiter("api", limit)
            async let some = clock.taken(from: again, for: .seconds(20))
            async let more = clock.taken(from: other, for: .seconds(20))
            let (one, two) = await (some, more)
            all += one + two
            #expect(first.snapshot.node != name)
            #expect(one.count >= 100 && two.count >= 100)
            #expect(largestCount(all) <= 20)
            await first.leave()
            await second.leave()
            withExtendedLifetime(again) {}
        }
        withExtendedLifetime(other) {}
    }

    @Test("F5: a damaged record fails calls with the reason until it is removed")
    func damaged() async throws {
        let key = "errand/billing/limits/api"
        _ = try await store.write(Array("?".utf8), to: key, replacing: nil)
        let node = fleet("a")
        let limiter = node.limiter("api", limit)
        try await clock.run {
            for _ in 0..<2 {
                let error = await thrownError { () async throws(ServiceError) in try await limiter.acquire() }
                #expect("\(error as Any)".contains("not the record of a limit"))
                #expect(node.snapshot.limits.first?.problem?.contains("not the record of a limit") == true)
                // Other requests to the store succeed.
                try await clock.sleep(for: .seconds(10))
            }
            try await store.remove(key)
            try await clock.sleep(for: .seconds(1))
            await #expect(throws: Never.self) { try await limiter.acquire() }
            #expect(node.snapshot.limits.first?.problem == nil)
            await node.leave()
        }
    }

    @Test("F5: a store that refuses the user fails calls with the reason, even those that wait for it")
    func refused() async {
        store.failure = FleetStoreError(.refused, "the password of the test is wrong")
        let node = fleet("a")
        let limiter = node.limiter("api", limit)
        await clock.run {
            let error = await thrownError { () async throws(ServiceError) in try await limiter.acquire() }
            #expect("\(error as Any)".contains("the password of the test is wrong"))
            store.failure = nil
            try? await clock.sleep(for: .seconds(5))
            await #expect(throws: Never.self) { try await limiter.acquire() }
            await node.leave()
        }
    }
}
