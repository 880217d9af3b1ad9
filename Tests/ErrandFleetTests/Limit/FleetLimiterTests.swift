import Errand
import ErrandFleet
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Limits that a fleet shares", .timeLimit(.minutes(10))) struct FleetLimiterTests {
    private let clock = TestClock()
    private let store = TroubledStore()

    private func limiter(of fleet: Fleet, permits: Int = 20) -> RateLimiter {
        fleet.limiter("api", .requests(permits, per: .seconds(1)))
    }

    private func fleet(_ node: String, weight: Int = 1) -> Fleet {
        Fleet(store: store, name: "billing", node: node, weight: weight, lifetime: .seconds(6), time: clock)
    }

    private func taken(from limiter: RateLimiter, for duration: Duration) async -> [Instant] {
        await clock.taken(from: limiter, for: duration)
    }

    private func largestCount(_ instants: [Instant]) -> Int {
        Stamps.largestCount(instants.map(\.nanoseconds), in: .seconds(1))
    }

    @Test("F1: two nodes use one limit up, each its share, and never more than the limit together")
    func shared() async throws {
        let (first, second) = (fleet("a"), fleet("b"))
        let limiters = (limiter(of: first), limiter(of: second))
        await clock.run {
            async let one = taken(from: limiters.0, for: .seconds(20))
            async let other = taken(from: limiters.1, for: .seconds(20))
            let (a, b) = await (one, other)
            #expect(largestCount(a + b) == 20)
            #expect(a.count + b.count >= 360, "nine tenths of 400")
            #expect(a.count >= 150 && b.count >= 150)
            await first.leave()
            await second.leave()
        }
        withExtendedLifetime(limiters) {}
    }

    @Test("F2: a node that needs all gets what an idle one owns, without asking for each permit")
    func moves() async throws {
        let (first, second) = (fleet("a"), fleet("b"))
        let (one, other) = (limiter(of: first), limiter(of: second))
        await clock.run {
            let early = await taken(from: one, for: .seconds(5))
            _ = await taken(from: other, for: .seconds(2))
            let late = await taken(from: other, for: .seconds(5))
            #expect(early.count >= 90)
            #expect(late.count >= 90, "of 100")
            let before = store.requests
            _ = await taken(from: other, for: .seconds(30))
            #expect(store.requests - before <= 40, "the renewals and looks of two nodes")
            #expect(second.snapshot.limits.first?.owned == 20)
            await first.leave()
            await second.leave()
        }
        withExtendedLifetime((one, other)) {}
    }

    @Test("F9: a heavier node gets more of a limit that is used up")
    func weights() async throws {
        let (first, second) = (fleet("a", weight: 4), fleet("b"))
        let limiters = (limiter(of: first), limiter(of: second))
        await clock.run {
            async let one = taken(from: limiters.0, for: .seconds(20))
            async let other = taken(from: limiters.1, for: .seconds(20))
            let (a, b) = await (one, other)
            #expect(a.count > 3 * b.count)
            #expect(b.count >= 60)
            await first.leave()
            await second.leave()
        }
        withExtendedLifetime(limiters) {}
    }

    @Test("F5: while the store does not respond, a node uses what it owns until its lifetime is over, and then waits")
    func unreachable() async throws {
        let node = fleet("a")
        let limiter = self.limiter(of: node)
        await clock.run {
            _ = await taken(from: limiter, for: .seconds(3))
            store.failure = TroubledStore.unreachable
            let start = clock.now
            let last = await taken(from: limiter, for: .seconds(20)).map { start.duration(to: $0) }.max()
            #expect(last ?? .zero > .seconds(2) && last ?? .zero < .seconds(6))
            #expect(node.snapshot.limits.first?.problem?.contains("does not respond") == true)
            #expect(node.snapshot.limits.first?.owned == 0)
            store.failure = nil
            let late = await taken(from: limiter, for: .seconds(10))
            #expect(late.count >= 150, "it goes on by itself")
            #expect(node.snapshot.limits.first?.problem == nil)
            await node.leave()
        }
        withExtendedLifetime(limiter) {}
    }

    @Test("F3: a node that is cut off uses its permits to the end of its lifetime, and the next one a period later")
    func cutOff() async throws {
        let path = store.another
        let (first, second) = (
            fleet("a"),
            Fleet(store: path, name: "billing", node: "b", lifetime: .seconds(6), time: clock)
        )
        let (one, other) = (limiter(of: first), limiter(of: second))
        await clock.run {
            async let early = taken(from: one, for: .seconds(4))
            async let beside = taken(from: other, for: .seconds(4))
            let before = await early + beside
            path.failure = TroubledStore.unreachable
            async let rest = taken(from: one, for: .seconds(30))
            async let last = taken(from: other, for: .seconds(30))
            let (kept, lost) = await (rest, last)
            #expect(largestCount(before + kept + lost) <= 20)
            let end = lost.max() ?? .zero
            #expect(lost.count >= 30, "it was used to its end")
            #expect(kept.count { $0 > end.advanced(by: .seconds(8)) } >= 150, "the other has all then")
            await first.leave()
            await second.leave()
        }
        withExtendedLifetime((one, other)) {}
    }

    @Test(
        "F3: permits last for a lifetime from when the renewal was sent, also if its answer is late or lost",
        arguments: [(5, [], 1), (2, [1], 2)] as [(delay: Int, lost: Set<Int>, last: Int)])
    func lateRenewal(delay: Int, lost: Set<Int>, last: Int) async throws {
        let slow = LateStore(
            store, keys: "errand/billing/nodes/", by: .seconds(delay), losing: lost, upTo: last, clock: clock)
        let node = Fleet(store: slow, name: "billing", node: "a", lifetime: .seconds(6), time: clock)
        let limiter = self.limiter(of: node)
        await clock.run {
            let taken = await taken(from: limiter, for: .seconds(20))
            // No renewal after the first one is made.
            let end = slow.writes.first?.advanced(by: .seconds(6)) ?? .zero
            #expect(taken.count >= 20 && taken.allSatisfy { $0 < end })
            await node.leave()
        }
        withExtendedLifetime(limiter) {}
    }

    @Test("F5: calls fail at once while the store cannot be reached, if they are to")
    func failing() async throws {
        store.failure = TroubledStore.unreachable
        let node = fleet("a")
        let limiter = node.limiter("api", .requests(20, per: .seconds(1)), whenUnreachable: .fail)
        await clock.run {
            let error = await thrownError { () async throws(ServiceError) in try await limiter.acquire() }
            guard case .rateLimited(let limited) = error else {
                Issue.record("\(error as Any)")
                return
            }
            #expect(limited.description.contains("the store of the test does not respond"))
            store.failure = nil
            await #expect(throws: Never.self) {
                try await clock.sleep(for: .seconds(5))
                try await limiter.acquire()
            }
            await node.leave()
        }
        withExtendedLifetime(limiter) {}
    }

    @Test("F5: writes whose responses are lost lose no permits and double none")
    func lostResponses() async throws {
        let (first, second) = (fleet("a"), fleet("b"))
        let (one, other) = (limiter(of: first), limiter(of: second))
        await clock.run {
            _ = await taken(from: one, for: .seconds(3))
            async let trouble: Void = {
                for _ in 0..<4 {
                    store.losesResponses = true
                    try? await clock.sleep(for: .milliseconds(700))
                    store.losesResponses = false
                    try? await clock.sleep(for: .milliseconds(300))
                }
            }()
            async let early = taken(from: one, for: .seconds(6))
            async let late = taken(from: other, for: .seconds(6))
            let all = await early + late
            await trouble
            #expect(largestCount(all) <= 20)
            let after = await taken(from: other, for: .seconds(10))
            #expect(after.count >= 160)
            await first.leave()
            await second.leave()
        }
        withExtendedLifetime((one, other)) {}
    }

    @Test("a node that others have removed goes on under another name, when its old permits are free")
    func removed() async throws {
        let node = fleet("a")
        let limiter = self.limiter(of: node)
        await clock.run {
            _ = await taken(from: limiter, for: .seconds(3))
            let name = node.snapshot.node
            try? await store.remove("errand/billing/nodes/\(name)")
            let all = await taken(from: limiter, for: .seconds(40))
            #expect(node.snapshot.node != name)
            #expect(node.snapshot.limits.first?.owners[name] == nil)
            #expect(largestCount(all) <= 20)
            #expect(all.suffix(100).count == 100)
            let last = await taken(from: limiter, for: .seconds(5))
            #expect(last.count >= 90)
            await node.leave()
        }
        withExtendedLifetime(limiter) {}
    }

    @Test("F10: a pause that one node hears of stops all, and so does its end")
    func pauses() async throws {
        let (first, second) = (fleet("a"), fleet("b"))
        let (one, other) = (limiter(of: first), limiter(of: second))
        await clock.run {
            async let warm = taken(from: one, for: .seconds(2))
            _ = await taken(from: other, for: .seconds(2))
            _ = await warm
            let start = clock.now
            one.pause(until: start.advanced(by: .seconds(10)))
            let during = await taken(from: other, for: .seconds(9))
            #expect(during.allSatisfy { start.duration(to: $0) < .milliseconds(100) })
            try? await clock.sleep(until: start.advanced(by: .seconds(11)))
            let after = await taken(from: other, for: .seconds(2))
            #expect(after.count >= 10)
            one.pause(until: clock.now.advanced(by: .seconds(50)))
            try? await clock.sleep(for: .seconds(1))
            #expect(other.snapshot.pausedUntil != nil)
            one.resume()
            try? await clock.sleep(for: .seconds(1))
            #expect(other.snapshot.pausedUntil == nil)
            await first.leave()
            await second.leave()
        }
        withExtendedLifetime((one, other)) {}
    }

    @Test("F10: a limit that a refusal has lowered recovers")
    func lowered() async throws {
        let node = fleet("a")
        let limiter = node.limiter(
            "api", .requests(20, per: .seconds(1)), lowering: .on429(recoveringEvery: .seconds(10)))
        let network = ScriptedTransport()
        network.on(.get, "/full", .status(204, headers: ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1"]))
        network.on(.get, "/refused", .status(429, headers: ["Retry-After": "1"]))
        let client = APIClient("https://api.example.com") { [clock] in
            $0.transport = network
            $0.limiter = limiter
            $0.time = clock
            $0.retry = .never
        }
        await clock.run {
            _ = await taken(from: limiter, for: .seconds(2))
            limiter.pause(until: clock.now.advanced(by: .seconds(1)))
            try? await clock.sleep(for: .seconds(2))
            _ = try? await client.run(Endpoint<NoContent>.get("/full"))
            #expect(limiter.snapshot.pausedUntil != nil)
            try? await clock.sleep(for: .seconds(2))
            #expect(node.snapshot.limits.first?.setAside == 0, "no refusal so far")
            _ = try? await client.run(Endpoint<NoContent>.get("/refused"))
            try? await clock.sleep(for: .seconds(2))
            let lowered = await taken(from: limiter, for: .seconds(5))
            #expect(node.snapshot.limits.first?.setAside == 10)
            #expect((40...55).contains(lowered.count))
            _ = await taken(from: limiter, for: .seconds(60))
            #expect(node.snapshot.limits.first?.setAside == 0)
            #expect(await taken(from: limiter, for: .seconds(5)).count >= 90)
            await node.leave()
        }
        withExtendedLifetime(limiter) {}
    }

    @Test("a node that leaves returns its permits at once, and one whose limiter is released does")
    func leaving() async throws {
        let (first, second) = (fleet("a"), fleet("b"))
        let other = limiter(of: second)
        await clock.run {
            do {
                let one = limiter(of: first)
                _ = await taken(from: one, for: .seconds(2))
                #expect(first.snapshot.limits.first?.owned == 20)
            }
            try? await clock.sleep(for: .seconds(2))
            #expect(first.snapshot.limits.isEmpty)
            _ = await taken(from: other, for: .milliseconds(500))
            #expect(second.snapshot.limits.first?.owned == 20)
            await second.leave()
            let error = await thrownError { () async throws(ServiceError) in
                try await other.acquire(before: clock.now.advanced(by: .seconds(30)))
            }
            #expect("\(error as Any)".contains("has left its fleet"))
            let own = try? await store.read("errand/billing/nodes/\(second.snapshot.node)")
            #expect(own == nil)
        }
        withExtendedLifetime(other) {}
    }

    @Test("nodes that give one limit different periods are told so")
    func conflict() async throws {
        let (first, second) = (fleet("a"), fleet("b"))
        let one = limiter(of: first)
        let other = second.limiter("api", .requests(20, per: .seconds(60)))
        await clock.run {
            await #expect(throws: Never.self) { try await one.acquire() }
            let error = await thrownError { () async throws(ServiceError) in try await other.acquire() }
            #expect("\(error as Any)".contains("another period"))
            await first.leave()
            await second.leave()
        }
        withExtendedLifetime((one, other)) {}
    }

    @Test("the node that joined last decides how large the limit is")
    func resized() async throws {
        let (first, second) = (fleet("a"), fleet("b"))
        let one = limiter(of: first)
        await clock.run {
            _ = await taken(from: one, for: .seconds(3))
            let other = limiter(of: second, permits: 10)
            async let more = taken(from: one, for: .seconds(10))
            let less = await taken(from: other, for: .seconds(10))
            let all = await (more + less).suffix(50)
            #expect(largestCount(Array(all)) <= 10)
            #expect(first.snapshot.limits.first?.permits == 10)
            await first.leave()
            await second.leave()
            withExtendedLifetime(other) {}
        }
        withExtendedLifetime(one) {}
    }

    @Test("F4: a call that is held up between its permit and its send, beyond its node's lifetime, sends nothing")
    func frozen() async throws {
        let node = fleet("a")
        let limiter = self.limiter(of: node)
        let network = ScriptedTransport()
        network.on(.get, "/a", .status(204))
        let client = APIClient("https://api.example.com") { [store, clock] in
            $0.transport = network
            $0.limiter = limiter
            $0.time = clock
            $0.attemptMiddlewares = [HoldUp(store: store, clock: clock)]
        }
        try await clock.run {
            let start = clock.now
            try await client.run(Endpoint<NoContent>.get("/a").timeout(.seconds(120)))
            // The store responds again after 30 seconds, and only then there was a permit to send with.
            #expect(start.duration(to: clock.now) >= .seconds(30))
            await node.leave()
        }
    }
}

/// Waits between the permit and the send, while the store does not respond.
private struct HoldUp: Middleware {
    let store: TroubledStore
    let clock: TestClock

    func intercept(
        _ request: HTTPRequest, _ context: CallContext, next: Next
    ) async throws -> HTTPResponse {
        store.failure = TroubledStore.unreachable
        try await clock.sleep(for: .seconds(10))
        let store = store
        _ = clock.schedule(at: clock.now.advanced(by: .seconds(20)), for: .watch) { store.failure = nil }
        return try await next(request, context)
    }
}
