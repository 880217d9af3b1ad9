@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Limiters within a shared one", .timeLimit(.minutes(10)))
struct SharedLimitTests {
    private let clock = TestClock()

    /// Returns when that many sends get their permits, which are asked for at once.
    private func sends(_ count: Int, by limiters: RateLimiter...) async throws -> [[Duration]] {
        try await clock.run {
            let clock = clock
            let tasks = limiters.map { limiter in
                (0..<count).map { _ in
                    Task(executorPreference: clock.executor) { () async throws(ServiceError) -> Duration in
                        try await limiter.acquire()
                        return clock.elapsed
                    }
                }
            }
            var ends: [[Duration]] = []
            for tasks in tasks {
                var own: [Duration] = []
                for task in tasks { own.append(try await task.value) }
                ends.append(own)
            }
            return ends
        }
    }

    @Test("each keeps its own limit, and both together the shared one")
    func both() async throws {
        let shared = RateLimiter(.requests(3, per: .seconds(1)), time: clock)
        let users = (0..<2).map { _ in RateLimiter(.requests(2, per: .seconds(1)), within: shared) }
        let ends = try await sends(4, by: users[0], users[1])
        for own in ends { #expect(isKept(2, per: .seconds(1), by: own), "\(own)") }
        let all = ends.flatMap(\.self).sorted()
        #expect(isKept(3, per: .seconds(1), by: all), "\(all)")
        // No permit is wasted either.
        #expect(all == [.zero, .zero, .zero] + Array(repeating: .seconds(1), count: 3) + [.seconds(2), .seconds(2)])
    }

    @Test("a user with many calls takes no more places in the shared queue than that user has permits")
    func fairness() async throws {
        let shared = RateLimiter(.requests(1, per: .seconds(1)), time: clock)
        let greedy = RateLimiter(.requests(1, per: .seconds(1)), within: shared)
        let modest = RateLimiter(.requests(1, per: .seconds(1)), within: shared)
        try await clock.run {
            let clock = clock
            let many = (0..<10).map { _ in
                Task(executorPreference: clock.executor) { _ = try? await greedy.acquire() }
            }
            try await clock.sleep(for: .milliseconds(500))
            try await modest.acquire()
            #expect(clock.elapsed == .seconds(1))
            for task in many { task.cancel() }
        }
        #expect(clock.sleepers == 0)
    }

    @Test("a long wait in the shared queue costs nobody a permit, and breaks no limit", arguments: UInt64(0)..<5)
    func longWait(seed: UInt64) async throws {
        let clock = TestClock(seed: seed)
        let shared = RateLimiter(.requests(2, per: .seconds(3)), time: clock)
        let users = (0..<4).map { _ in RateLimiter(.requests(2, per: .seconds(1)), within: shared) }
        let ends = Noted<[(user: Int, at: Duration)]>([])
        await clock.run {
            await withTaskGroup(of: Void.self) { group in
                for call in 0..<40 {
                    group.addTask {
                        _ = try? await users[call % 4].acquire()
                        ends.update { $0.append((call % 4, clock.elapsed)) }
                    }
                }
            }
        }
        let all = ends.value.map(\.at).sorted()
        #expect(isKept(2, per: .seconds(3), by: all))
        #expect(all.last == .seconds(57), "40 calls, two every three seconds")
        for user in 0..<4 { #expect(isKept(2, per: .seconds(1), by: ends.value.filter { $0.user == user }.map(\.at))) }
    }

    @Test("calls whose own permits come back while the shared limiter is paused do not leave in a bunch")
    func bunch() async throws {
        let shared = RateLimiter(.requests(100, per: .seconds(1)), time: clock)
        let own = RateLimiter(.requests(1, per: .seconds(4)), within: shared)
        shared.pause(until: clock.now.advanced(by: .seconds(10)))
        let ends = try await sends(4, by: own)[0].sorted()
        #expect(isKept(1, per: .seconds(4), by: ends), "\(ends)")
        #expect(ends.first == .seconds(10))
        #expect(ends.last.map { $0 < .milliseconds(22_100) } == true, "\(ends)")
    }

    @Test("a call that leaves the shared queue gives its own permit back")
    func leaving() async throws {
        let shared = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        let own = RateLimiter(.requests(2, per: .seconds(60)), within: shared)
        try await clock.run {
            try await own.acquire()
            let clock = clock
            let waiting = Task(executorPreference: clock.executor) { try await own.acquire() }
            try await clock.sleep(for: .seconds(1))
            #expect(own.snapshot.available == 0)
            #expect(shared.snapshot.waiters == 1)
            waiting.cancel()
            await #expect(throws: ServiceError.cancelled) { try await waiting.value }
            #expect(own.snapshot.available == 1)
            #expect(shared.snapshot.waiters == 0)
        }
    }

    @Test("a call that cannot get the shared permit before its deadline fails at once, even behind its own queue")
    func deadline() async throws {
        let shared = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        let own = RateLimiter(.requests(1, per: .seconds(1)), within: shared)
        try await clock.run {
            try await own.acquire()
            let end = clock.now.advanced(by: .seconds(5))
            let error = await #expect(throws: ServiceError.self) { try await own.acquire(before: end) }
            #expect(error?.retryAfter == .seconds(10))
            #expect(clock.elapsed == .zero)
        }
    }

    @Test("permits that are given back, renewed or too old are so in both")
    func permits() async throws {
        let shared = RateLimiter(.requests(2, per: .seconds(10)), time: clock)
        let own = RateLimiter(.requests(2, per: .seconds(1)), within: shared)
        try await clock.run {
            func permit() throws -> Permit {
                let taken = try #require(try own.takeAtOnce(cost: 1, isUrgent: false))
                return Permit(of: own, cost: 1, taken: taken, before: .distantFuture)
            }
            let unused = try permit()
            #expect([own.snapshot.available, shared.snapshot.available] == [1, 1])
            unused.giveBack()
            #expect([own.snapshot.available, shared.snapshot.available] == [2, 2])
            let late = try permit()
            try await clock.sleep(for: .milliseconds(500))
            #expect(late.use(at: clock.now) != nil)
            try await clock.sleep(for: .milliseconds(600))
            #expect([own.snapshot.available, shared.snapshot.available] == [1, 1])
            try await clock.sleep(for: .milliseconds(500))
            #expect([own.snapshot.available, shared.snapshot.available] == [2, 1])
            // Its own permit has come back, so the shared one is returned.
            let old = try permit()
            try await clock.sleep(for: .seconds(2))
            #expect(old.use(at: clock.now) == nil)
            #expect([own.snapshot.available, shared.snapshot.available] == [2, 1])
        }
    }

    @Test("a shared limiter that is empty takes no permit of the inner one; three can be within each other")
    func nested() async throws {
        let outer = RateLimiter(.requests(1, per: .seconds(4)), time: clock)
        let middle = RateLimiter(.requests(2, per: .seconds(2)), within: outer)
        let inner = RateLimiter(.requests(3, per: .seconds(1)), within: middle)
        #expect(inner.limits == "\(inner.limit), within \(middle.limit), within \(outer.limit)")
        #expect(try inner.takeAtOnce(cost: 1, isUrgent: false) == clock.now)
        #expect(try inner.takeAtOnce(cost: 1, isUrgent: false) == nil)
        #expect([inner, middle, outer].map(\.snapshot.available) == [2, 1, 0])
        #expect(try await sends(2, by: inner) == [[.seconds(4), .seconds(8)]])
        let error = await #expect(throws: ServiceError.self) { try await inner.acquire(cost: 2) }
        guard case .invalidRequest = error else { throw try #require(error) }
    }

    @Test("a server's pause stops one user or all of them, as chosen", arguments: [false, true])
    func pauses(isShared: Bool) async throws {
        let network = scripted()
        network.on(.get, "/a", .status(429, headers: ["Retry-After": "30"]))
        network.on(.get, "/b", .json("1"))
        let shared = RateLimiter(.requests(50, per: .seconds(1)), time: clock)
        let clients = (0..<2).map { _ in
            testClient(network, clock) {
                $0.limiter = RateLimiter(
                    .requests(5, per: .seconds(1)), within: shared, serverPauses: isShared ? .shared : .own)
                $0.retry = .never
            }
        }
        try await clock.run {
            await #expect(throws: ServiceError.self) { try await clients[0].run(.get("a")) }
            let _: Int = try await clients[1].run(.get("b"))
            #expect(clock.elapsed == (isShared ? .seconds(30) : .zero))
        }
        #expect((clients[0].limiter.snapshot.pausedUntil == nil) == isShared)
        #expect(shared.snapshot.pausedUntil == nil)
    }

    @Test("during the pause of one user, its calls hold no shared permits")
    func pausedUser() async throws {
        let shared = RateLimiter(.requests(1, per: .seconds(1)), time: clock)
        let users = (0..<2).map { _ in RateLimiter(.requests(1, per: .seconds(1)), within: shared) }
        users[0].pause(until: clock.now.advanced(by: .seconds(20)))
        let ends = try await sends(2, by: users[0], users[1])
        #expect(ends[1] == [.zero, .seconds(1)])
        #expect(ends[0].first == .seconds(20))
    }

    /// Returns whether no rolling period has more sends than the limit.
    private func isKept(_ limit: Int, per period: Duration, by sends: [Duration]) -> Bool {
        let sends = sends.sorted()
        return sends.indices.dropFirst(limit).allSatisfy { sends[$0] - sends[$0 - limit] >= period }
    }
}
