@testable import Errand
import ErrandTestSupport
import Testing

/// The rule itself, by brute force: everything that was taken, and whether a window has room for one more.
private struct WindowModel {
    let windows: [RateLimit.Window]
    var taken: [(at: Int64, cost: Int)] = []

    init(_ limit: RateLimit) {
        windows = limit.windows
    }

    func used(in window: RateLimit.Window, endingAt end: Int64) -> Int {
        let start = end - window.span.wholeNanoseconds
        return taken.reduce(0) { $0 + ($1.at > start && $1.at <= end ? $1.cost : 0) }
    }

    func allows(_ cost: Int, at instant: Int64) -> Bool {
        windows.allSatisfy { used(in: $0, endingAt: instant) + cost <= $0.permits && isInSlot(instant, of: $0) }
    }

    private func isInSlot(_ instant: Int64, of window: RateLimit.Window) -> Bool {
        guard window.isSmooth, let last = taken.last else { return true }
        return instant >= last.at + window.period.wholeNanoseconds / Int64(window.permits) * Int64(last.cost)
    }

    /// Returns the first instant at which `cost` can be taken. Only the instants at which a token or a slot comes back
    /// matter.
    func earliest(_ cost: Int, from now: Int64) -> Int64? {
        var candidates = [now]
        for window in windows {
            candidates += taken.map { $0.at + window.period.wholeNanoseconds }
            candidates += taken.map { $0.at + window.period.wholeNanoseconds / Int64(window.permits) * Int64($0.cost) }
        }
        return candidates.filter { $0 >= now }.sorted().first { allows(cost, at: $0) }
    }

    var isKept: Bool {
        windows.allSatisfy { window in
            taken.allSatisfy { used(in: window, endingAt: $0.at) <= window.permits }
        }
    }
}

// Serialized: each seed is a long piece of work, and hundreds at once would delay the tests that use real time.
@Suite("The bucket and a brute-force model", .serialized) struct TokenBucketPropertyTests {
    /// Returns one to three limits with periods so short that instants often coincide.
    private static func limit(_ random: inout SeededRandom, smooth: Bool) -> RateLimit {
        let limits = (0..<random.int(1...3)).map { _ in
            let (permits, period) = (random.int(1...6), Duration.nanoseconds(random.int(4...60)))
            return smooth && random.chance(50)
                ? RateLimit.smooth(permits, per: period) : .requests(permits, per: period)
        }
        return RateLimit(windows: limits.flatMap(\.windows))
    }

    @Test("C1: tokens are taken exactly when every rolling window allows it", arguments: UInt64(1)...300)
    func takesWhatTheWindowsAllow(seed: UInt64) {
        var random = SeededRandom(seed)
        let limit = Self.limit(&random, smooth: seed % 2 == 0)
        var (bucket, model) = (TokenBucket(limit), WindowModel(limit))
        var now: Int64 = 0
        for step in 0..<150 {
            now += Int64(random.chance(40) ? 0 : random.int(1...20))
            let (cost, instant) = (random.int(1...4), Instant(nanoseconds: now))
            #expect(
                bucket.earliest(taking: cost, at: instant)?.nanoseconds
                    == (cost > limit.largestCost ? nil : model.earliest(cost, from: now)), "step \(step) of \(limit)")
            let isAllowed = model.allows(cost, at: now)
            let isTaken = bucket.take(cost, at: instant)
            #expect(isTaken == isAllowed, "step \(step) of \(limit)")
            guard isAllowed else { continue }
            model.taken.append((now, cost))
            // Tokens are returned at the instant at which they were taken, as the limiter does.
            if random.chance(15) {
                bucket.giveBack(cost, takenAt: instant)
                model.taken.removeLast()
            }
        }
        #expect(model.isKept)
    }

    @Test("C1: with drains and returns at any time, no window is ever exceeded", arguments: UInt64(1)...300)
    func keepsWindowsThroughDrains(seed: UInt64) {
        var random = SeededRandom(seed)
        let limit = Self.limit(&random, smooth: seed % 2 == 0)
        var (bucket, model) = (TokenBucket(limit), WindowModel(limit))
        var now: Int64 = 0
        for step in 0..<150 {
            now += Int64(random.chance(40) ? 0 : random.int(1...20))
            if random.chance(5) { bucket.drain(until: Instant(nanoseconds: now + Int64(random.int(0...30)))) }
            if random.chance(15), let index = model.taken.indices.randomElement(using: &random) {
                let entry = model.taken.remove(at: index)
                bucket.giveBack(entry.cost, takenAt: Instant(nanoseconds: entry.at))
            }
            let cost = random.int(1...4)
            guard bucket.take(cost, at: Instant(nanoseconds: now)) else { continue }
            model.taken.append((now, cost))
            for window in model.windows {
                #expect(model.used(in: window, endingAt: now) <= window.permits, "step \(step) of \(limit)")
            }
        }
        // Nothing is lost permanently: when all tokens have come back, the bucket is full.
        let isFull = bucket.take(limit.largestCost, at: Instant(nanoseconds: now + 1000))
        #expect(isFull)
        #expect(bucket.available(at: Instant(nanoseconds: now + 2000)) == limit.largestCost)
    }

    @Test(
        "C1: where requests leave later than they took their permits, no window of those instants is exceeded",
        arguments: UInt64(1)...300)
    func keepsWindowsOfDelayed(seed: UInt64) {
        var random = SeededRandom(seed)
        let limit = Self.limit(&random, smooth: false).margin(.nanoseconds(seed % 3))
        // A permit that has come back before the request leaves is another matter.
        let shortest = limit.windows.map(\.period.wholeNanoseconds).min() ?? 0
        var (bucket, model, delayed) = (TokenBucket(limit), WindowModel(limit), [(taken: Int64, left: Int64)]())
        for now in 0..<Int64(600) {
            for request in delayed where request.left == now {
                bucket.delay(1, takenAt: Instant(nanoseconds: request.taken), to: Instant(nanoseconds: now))
                model.taken.append((now, 1))
            }
            delayed.removeAll { $0.left == now }
            guard random.chance(50), bucket.take(1, at: Instant(nanoseconds: now)) else { continue }
            if random.chance(50) {
                model.taken.append((now, 1))
            } else {
                delayed.append((now, now + Int64(random.int(1...Int(shortest) - 1))))
            }
        }
        #expect(model.isKept, "\(limit)")
        #expect(bucket.available(at: Instant(nanoseconds: 2000)) == limit.largestCost)
    }

    @Test("C5: the estimate for the last waiter is never too late", arguments: UInt64(1)...300)
    func momentOfTheLast(seed: UInt64) {
        var random = SeededRandom(seed)
        let limit = Self.limit(&random, smooth: seed % 2 == 0)
        let isSimple = limit.windows.count == 1 && !limit.windows[0].isSmooth && seed % 3 == 0
        var (bucket, now) = (TokenBucket(limit), Instant.zero)
        for _ in 0..<random.int(0...8) {
            now = now.advanced(by: .nanoseconds(random.int(0...20)))
            _ = bucket.take(1, at: now)
        }
        let start = now
        var line: [Int] = []
        for _ in 0..<30 {
            let cost = isSimple ? 1 : random.int(1...limit.largestCost)
            let reported = TokenBucketPropertyTests.reported(bucket, cost: cost, behind: line.reduce(0, +), at: start)
            line.append(cost)
            let truth = Self.momentOfTheLast(in: line, bucket, from: start)
            #expect(reported <= truth, "the line \(line) of \(limit)")
            if isSimple { #expect(reported == truth, "\(line.count) in the line of \(limit)") }
        }
    }

    private static func reported(_ bucket: TokenBucket, cost: Int, behind ahead: Int, at now: Instant) -> Instant {
        cost == 1 ? bucket.earliest(ofLast: ahead + 1, at: now) : bucket.earliest(taking: cost, after: ahead, at: now)
    }

    private static func momentOfTheLast(in line: [Int], _ bucket: TokenBucket, from start: Instant) -> Instant {
        var (bucket, now) = (bucket, start)
        for cost in line {
            now = bucket.earliest(taking: cost, at: now) ?? .distantFuture
            _ = bucket.take(cost, at: now)
        }
        return now
    }

    @Test("C6: from the end of a pause on, the tokens come at the limit's pace", arguments: UInt64(1)...50)
    func paceAfterDrain(seed: UInt64) {
        var random = SeededRandom(seed)
        let (permits, period) = (random.int(1...3000), Int64(random.int(3000...90_000)))
        var bucket = TokenBucket(.requests(permits, per: .nanoseconds(period)))
        _ = bucket.take(random.int(1...permits), at: .zero)
        bucket.drain(until: Instant(nanoseconds: period))
        let step = max(1, permits / 1000)
        for _ in 0..<20 {
            let elapsed = Int64(random.int(0...Int(period)))
            let available = bucket.available(at: Instant(nanoseconds: period + elapsed)) ?? 0
            #expect(available <= Int(elapsed / (period / Int64(permits))) + step)
        }
        #expect(bucket.available(at: Instant(nanoseconds: 2 * period)) == permits)
    }
}
