@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

/// Everything known about the waiters, recorded next to the limiter and compared with it.
private final class Ledger: Sendable {
    struct Entry: Sendable {
        var cost: Int
        var isUrgent: Bool
        var deadline: Instant
        var task: Task<Void, Never>?
        var isCancelled = false
        var arrival = (number: 0, at: Instant.zero)
    }

    struct Grant: Sendable {
        var entry: Entry
        var at: Instant
        var cost: Int { entry.cost }

        /// Whether this waiter was served before the other one, although that came first or is urgent.
        func overtook(_ other: Entry, servedAt instant: Instant) -> Bool {
            guard at < instant else { return false }
            if entry.isUrgent == other.isUrgent { return entry.arrival.number > other.arrival.number }
            return other.isUrgent && at > other.arrival.at
        }
    }

    struct State: Sendable {
        var waiting: [Int: Entry] = [:]
        var grants: [Grant] = []
        var problems: [String] = []
        var arrivals = 0
    }

    let state = Lock(State())

    func update<Value: Sendable>(_ body: (inout State) -> Value) -> Value { state.withLock { body(&$0) } }

    /// Called when the task runs, and not when it is created: tasks begin in a shuffled order.
    func arrived(_ id: Int, at now: Instant) {
        update { state in
            state.arrivals += 1
            state.waiting[id]?.arrival = (state.arrivals, now)
        }
    }

    func granted(_ id: Int, at now: Instant) {
        update { state in
            guard let mine = state.waiting.removeValue(forKey: id) else {
                return state.problems.append("\(id) was served twice, or after it had left")
            }
            state.grants.append(Grant(entry: mine, at: now))
        }
    }

    func failed(_ id: Int, _ error: ServiceError, at now: Instant) {
        update { state in
            guard let mine = state.waiting.removeValue(forKey: id) else {
                return state.problems.append("\(id) ended twice")
            }
            switch error {
            case .cancelled where mine.isCancelled: break
            case .rateLimited(let limited) where mine.deadline < .distantFuture && limited.status == nil: break
            default: state.problems.append("\(id) failed with \(error.debugDescription)")
            }
        }
    }
}

// Serialized: each seed is a long piece of work, and hundreds at once would delay the tests that use real time.
@Suite("The limiter's interleavings", .serialized) struct RateLimiterExplorationTests {
    private static let steps = 2500
    /// One for each limit; many more in a long run.
    private static let seeds: ClosedRange<UInt64> = LongRun.isWanted ? 1...200 : 1...4

    @Test("C1–C3, C5, C6: whatever happens in whatever order, the queue keeps its rules", arguments: seeds)
    func explore(seed: UInt64) async throws {
        let clock = TestClock(seed: seed)
        let limits = [
            RateLimit.requests(5, per: .milliseconds(100)), .requests(1, per: .milliseconds(10)),
            .all(.requests(4, per: .milliseconds(50)), .requests(10, per: .milliseconds(300))),
            .smooth(4, per: .milliseconds(80)),
        ]
        let limit = limits[Int(seed) % limits.count]
        let limiter = RateLimiter(limit, time: clock)
        let ledger = Ledger()
        // Another sequence than the clock's own.
        let plan = SeededRandom(seed &* 7919)
        let problem = await clock.run {
            await Self.carryOut(plan, limiter, clock, ledger)
        }
        if let problem { Issue.record("seed \(seed), \(limit): \(problem)") }
        #expect(clock.sleepers == 0)
        #expect(limiter.snapshot.waiters == 0)
    }

    private static func carryOut(
        _ plan: SeededRandom, _ limiter: RateLimiter, _ clock: TestClock, _ ledger: Ledger
    ) async -> String? {
        var random = plan
        var pausedUntil = Instant.zero
        for step in 0..<steps {
            switch random.int(0...99) {
            case 0..<45: ask(step, &random, limiter, clock, ledger)
            case 45..<60: cancelOne(&random, ledger)
            case 60..<62:
                let instant = clock.now.advanced(by: .milliseconds(random.int(0...200)))
                if instant > clock.now { pausedUntil = max(pausedUntil, instant) }
                limiter.pause(until: instant)
            case 62..<75:
                // At the instant of the next permit: cancellation and grant coincide.
                let next = limiter.snapshot.nextGrant
                if next < clock.now.advanced(by: .seconds(1)) { try? await clock.sleep(until: next) }
                cancelOne(&random, ledger)
            default: try? await clock.sleep(for: .milliseconds(random.int(0...30)))
            }
            if random.chance(50) {
                // Time advances only when no task can run: now everything is settled.
                try? await clock.sleep(for: .nanoseconds(1))
                if let problem = check(limiter, clock, ledger, pausedUntil) { return "step \(step): \(problem)" }
            }
        }
        return await finish(limiter, clock, ledger)
    }

    private static func ask(
        _ id: Int, _ random: inout SeededRandom, _ limiter: RateLimiter, _ clock: TestClock, _ ledger: Ledger
    ) {
        let cost = random.int(1...min(3, limiter.limit.largestCost))
        let isUrgent = random.chance(15)
        let deadline =
            random.chance(30) ? clock.now.advanced(by: .milliseconds(random.int(0...150))) : Instant.distantFuture
        let isCancelledOnGrant = random.chance(10)
        ledger.update { $0.waiting[id] = .init(cost: cost, isUrgent: isUrgent, deadline: deadline) }
        let task = Task(executorPreference: clock.executor) {
            ledger.arrived(id, at: clock.now)
            do throws(ServiceError) {
                try await limiter.acquire(cost: cost, isUrgent: isUrgent, before: deadline)
                ledger.granted(id, at: clock.now)
                // Another task that may have been served at the same instant, and has not continued yet.
                if isCancelledOnGrant { cancel(ledger.update { $0.waiting.keys.min() }, ledger) }
            } catch {
                ledger.failed(id, error, at: clock.now)
            }
        }
        ledger.update { $0.waiting[id]?.task = task }
    }

    private static func cancelOne(_ random: inout SeededRandom, _ ledger: Ledger) {
        let ids = ledger.update { $0.waiting.keys.sorted() }
        cancel(ids.randomElement(using: &random), ledger)
    }

    private static func cancel(_ id: Int?, _ ledger: Ledger) {
        let task = ledger.update { state in
            guard let id else { return nil as Task<Void, Never>? }
            state.waiting[id]?.isCancelled = true
            return state.waiting[id]?.task
        }
        task?.cancel()
    }

    /// Returns what is wrong at a moment at which no task can run.
    private static func check(
        _ limiter: RateLimiter, _ clock: TestClock, _ ledger: Ledger, _ pausedUntil: Instant
    ) -> String? {
        let (snapshot, now) = (limiter.snapshot, clock.now)
        let (waiting, grants, problem) = ledger.update { state in
            // Windows end at most 300 ms after the grant; older grants do not matter any more.
            state.grants.removeAll { $0.at.duration(to: now) > .milliseconds(400) }
            return (state.waiting, state.grants, state.problems.first)
        }
        if let problem { return problem }
        if waiting.values.contains(where: \.isCancelled) { return "one that was cancelled still waits" }
        if waiting.values.contains(where: { $0.deadline < now }) { return "one waits beyond its deadline" }
        if snapshot.waiters != waiting.count { return "\(snapshot.waiters) in line, not \(waiting.count)" }
        if !waiting.isEmpty, snapshot.nextGrant < now { return "one waits that could be served" }
        if pausedUntil > now, snapshot.pausedUntil != pausedUntil { return "the pause was forgotten" }
        if waiting.count != clock.sleepers { return "\(clock.sleepers) sleep, not \(waiting.count)" }
        for grant in grants {
            let isOvertaker =
                waiting.values.contains { grant.overtook($0, servedAt: .distantFuture) }
                || grants.contains { grant.overtook($0.entry, servedAt: $0.at) }
            if isOvertaker { return "the one of \(grant.entry.arrival) overtook another" }
        }
        for window in limiter.limit.windows {
            for end in grants {
                let used = grants.filter { $0.at <= end.at && $0.at.duration(to: end.at) < window.period }
                if used.reduce(0, { $0 + $1.cost }) > window.permits {
                    return "a window of \(window.period) is exceeded"
                }
            }
            // Conservation of permits, unless a pause has drained the bucket.
            let out = grants.filter { $0.at.duration(to: now) < window.period }.reduce(0) { $0 + $1.cost }
            if limiter.limit.windows.count == 1, !window.isSmooth,
                pausedUntil == .zero || pausedUntil.duration(to: now) > window.period,
                snapshot.available != window.permits - out
            {
                return "\(String(describing: snapshot.available)) permits, with \(out) of \(window.permits) out"
            }
        }
        return nil
    }

    /// Checks that no waiter is left, and that the bucket is full in the end.
    private static func finish(_ limiter: RateLimiter, _ clock: TestClock, _ ledger: Ledger) async -> String? {
        let tasks = ledger.update { $0.waiting.values.compactMap(\.task) }
        for task in tasks { await task.value }
        try? await clock.sleep(for: .seconds(2))
        let available = limiter.snapshot.available
        if available != limiter.limit.largestCost { return "\(String(describing: available)) permits at the end" }
        return ledger.update { $0.waiting.isEmpty ? $0.problems.first : "\($0.waiting.count) are left" }
    }
}
