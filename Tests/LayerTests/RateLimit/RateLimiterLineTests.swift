@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

/// Records which waiters were served, and when.
private final class Log: Sendable {
    private let lines = Noted<[String]>([])
    var all: [String] { lines.value }
    func add(_ line: String) { lines.update { $0.append(line) } }
}

@Suite("The limiter's queue", .timeLimit(.minutes(10))) struct RateLimiterLineTests {
    private let clock = TestClock()
    private let log = Log()

    private func join(
        _ limiter: RateLimiter, _ name: String, cost: Int = 1, isUrgent: Bool = false, before: Instant = .distantFuture
    ) async -> Task<Void, Never> {
        let task = Task(executorPreference: clock.executor) { [clock, log] in
            do throws(ServiceError) {
                try await limiter.acquire(cost: cost, isUrgent: isUrgent, before: before)
                log.add("\(name) \(clock.elapsed.displayText)")
            } catch {
                log.add("\(name) \(clock.elapsed.displayText) \(error.debugDescription)")
            }
        }
        // Time advances only when no task can run: after this, the new task waits in the queue.
        try? await clock.sleep(for: .nanoseconds(1))
        return task
    }

    @Test("C2: first come, first served; a costly waiter is not overtaken by cheap ones")
    func order() async {
        let limiter = RateLimiter(.requests(3, per: .milliseconds(100)), time: clock)
        await clock.run {
            var tasks = [await join(limiter, "a", cost: 2)]
            tasks.append(await join(limiter, "b", cost: 3))
            tasks.append(await join(limiter, "c"))
            tasks.append(await join(limiter, "d"))
            #expect(limiter.snapshot.waiters == 3)
            #expect(limiter.snapshot.available == 1)
            for task in tasks { await task.value }
        }
        #expect(log.all == ["a 0 ms", "b 100 ms", "c 200 ms", "d 200 ms"])
    }

    @Test("C2: urgent waiters go to the head, in order among themselves")
    func urgent() async {
        let limiter = RateLimiter(.requests(1, per: .milliseconds(100)), time: clock)
        await clock.run {
            var tasks: [Task<Void, Never>] = []
            for name in ["a", "b", "c"] { tasks.append(await join(limiter, name)) }
            for name in ["u", "v"] { tasks.append(await join(limiter, name, isUrgent: true)) }
            for task in tasks { await task.value }
        }
        #expect(log.all == ["a 0 ms", "u 100 ms", "v 200 ms", "b 300 ms", "c 400 ms"])
    }

    @Test("C3: a waiter that leaves spends nothing, and those behind it move up at that very instant")
    func leave() async {
        let limiter = RateLimiter(.requests(2, per: .milliseconds(100)), time: clock)
        await clock.run {
            let first = await join(limiter, "a")
            let costly = await join(limiter, "b", cost: 2)
            let last = await join(limiter, "c")
            try? await clock.sleep(until: .ms(40))
            costly.cancel()
            for task in [first, costly, last] { await task.value }
        }
        #expect(log.all.contains("b 40 ms cancelled"))
        #expect(log.all.contains("c 40 ms"))
        #expect(limiter.snapshot.waiters == 0)
    }

    @Test("C4: a cost above the bucket's size, a cost of zero, or an invalid limit is an error at once")
    func senselessCosts() async throws {
        let limiter = RateLimiter(.all(.requests(5, per: .seconds(1)), .requests(3, per: .seconds(60))), time: clock)
        for cost in [4, 0, -1, .max] {
            let error = await #expect(throws: ServiceError.self) { try await limiter.acquire(cost: cost) }
            guard case .invalidRequest(let invalid) = error else {
                Issue.record("\(cost): \(String(describing: error))")
                continue
            }
            #expect(invalid.subject == .configuration)
            #expect(invalid.reason.contains("\(cost)"))
        }
        let limits = [
            RateLimit.requests(0, per: .seconds(1)), .requests(5, per: .zero), .smooth(-1, per: .seconds(1)),
            .requests(.max, per: .seconds(1)),
        ]
        for limit in limits {
            let senseless = RateLimiter(limit, time: clock)
            await #expect(throws: ServiceError.self) { try await senseless.acquire() }
            #expect(limit.problem != nil)
        }
        #expect(limiter.snapshot.available == 3)
    }

    @Test("any cost is granted without a limit, also after a pause")
    func unlimited() async throws {
        let limiter = RateLimiter(.unlimited, time: clock)
        try await clock.run {
            try await limiter.acquire(cost: .max)
            limiter.pause(until: .ms(100))
            let tasks = [await join(limiter, "a", cost: .max), await join(limiter, "b", cost: .max)]
            #expect(limiter.snapshot.waiters == 2)
            for task in tasks { await task.value }
        }
        #expect(log.all == ["a 100 ms", "b 100 ms"])
        #expect(limiter.snapshot.available == nil)
    }

    @Test("C5: a wait that would end after the deadline is refused at once, with its length")
    func deadline() async throws {
        let limiter = RateLimiter(.requests(2, per: .seconds(1)), time: clock)
        try await clock.run {
            try await limiter.acquire(cost: 2)
            let tasks = [await join(limiter, "a"), await join(limiter, "b"), await join(limiter, "c")]
            await #expect(throws: ServiceError.rateLimited(RateLimited(retryAfter: .nanoseconds(1_999_999_997)))) {
                try await limiter.acquire(before: .ms(2000))
            }
            #expect(clock.now.nanoseconds == 3)
            let waited = try await limiter.acquire(before: .ms(2001))
            #expect(waited == .nanoseconds(1_999_999_997))
            for task in tasks { await task.value }
        }
        #expect(log.all == ["a 1 s", "b 1 s", "c 2 s"])
    }

    @Test("C5: under a smooth limit each waiter ahead takes a slot, and a hopeless call is refused at once")
    func smoothDeadline() async throws {
        let limiter = RateLimiter(.smooth(10, per: .seconds(1)), time: clock)
        try await clock.run {
            try await limiter.acquire()
            let tasks = [await join(limiter, "a"), await join(limiter, "b")]
            // The next slots are at 100 and 200 ms.
            await #expect(throws: ServiceError.rateLimited(RateLimited(retryAfter: .nanoseconds(299_999_998)))) {
                try await limiter.acquire(before: .ms(300))
            }
            #expect(clock.now.nanoseconds == 2)
            #expect(try await limiter.acquire(before: .ms(301)) == .nanoseconds(299_999_998))
            for task in tasks { await task.value }
        }
        #expect(log.all == ["a 100 ms", "b 200 ms"])
    }

    @Test("C5: a waiter that is overtaken by urgent ones until it is too late leaves at its deadline")
    func overtaken() async {
        let limiter = RateLimiter(.requests(1, per: .milliseconds(100)), time: clock)
        await clock.run {
            var tasks = [await join(limiter, "a"), await join(limiter, "b", before: .ms(150))]
            tasks.append(await join(limiter, "u", isUrgent: true))
            tasks.append(await join(limiter, "c"))
            for task in tasks { await task.value }
        }
        #expect(log.all.first { $0.hasPrefix("b") }?.hasPrefix("b 150 ms rateLimited") == true)
        #expect(log.all.filter { !$0.hasPrefix("b") } == ["a 0 ms", "u 100 ms", "c 200 ms"])
    }

    @Test("a deadline that has passed does not refuse an available permit")
    func permitWithoutWait() async throws {
        let limiter = RateLimiter(.requests(1, per: .seconds(1)), time: clock)
        #expect(try await limiter.acquire(before: .zero) == .zero)
    }

    @Test("C3: a task that was cancelled before takes no permit, even if some are available")
    func cancelledBefore() async {
        let limiter = RateLimiter(.requests(2, per: .seconds(1)), time: clock)
        let outcome = await Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await Result { () async throws(ServiceError) in try await limiter.acquire() }
        }.value
        #expect(outcome == .failure(.cancelled))
        #expect(limiter.snapshot.available == 2)
    }

    @Test("C3: a waiter that leaves a long queue leaves alone, however many have been served before")
    func leavesLongLine() {
        var line = WaitingLine()
        let waiters = (0..<100).map { _ in line.join(cost: 2, isUrgent: false, deadline: .distantFuture) }
        for waiter in waiters.prefix(60) { line.leave(waiter) }
        line.leave(waiters[80])
        line.leave(waiters[80])
        let left = waiters.indices.filter { $0 >= 60 && $0 != 80 }.map { waiters[$0] }
        let isInOrder = line.all.elementsEqual(left, by: ===)
        #expect(isInOrder)
        #expect(line.count == 39)
        #expect(line.costAhead(ofUrgent: false) == 78)
    }
}
