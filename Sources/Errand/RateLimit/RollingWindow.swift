/// The permits of one limit in a rolling period: each comes back exactly one period after it was taken.
package struct RollingWindow: Sendable {
    /// The number of permits, with those that are out.
    package private(set) var permits: Int
    private let period: Int64
    /// The least time between two permits; 0 if bursts are allowed.
    private var spacing: Int64
    /// When permits come back, the soonest first; permits of the same instant share an entry.
    private var returns: [(at: Instant, count: Int)] = []
    /// The entries before this index have all come back. Moving the index is cheaper than removing them one by one.
    private var head = 0
    /// The number of permits in `returns`, from `head` on.
    private var outstanding = 0
    private var nextSlot = Instant(nanoseconds: .min)
    private let isSmooth: Bool

    init(_ window: RateLimit.Window) {
        self.init(permits: window.permits, period: window.span, isSmooth: window.isSmooth)
    }

    /// Creates a window with all its permits available.
    package init(permits: Int, period: Duration, isSmooth: Bool = false) {
        self.permits = max(0, permits)
        self.period = period.wholeNanoseconds
        self.isSmooth = isSmooth
        spacing = 0
        setSpacing()
    }

    /// Changes the number of permits. With fewer of them than are out, none is available until enough have come back.
    package mutating func setPermits(_ count: Int) {
        permits = max(0, count)
        setSpacing()
    }

    private mutating func setSpacing() {
        spacing = isSmooth ? period / Int64(max(1, permits)) : 0
    }

    /// Returns how many permits are out: taken, and not back yet; at a later instant, of those that are out now.
    package func out(at now: Instant) -> Int {
        outstanding - entries.prefix { $0.at <= now }.reduce(0) { $0 + $1.count }
    }

    /// Returns when the next permits come back; `nil` if none are out.
    package func nextReturn(after now: Instant) -> Instant? {
        entries.first { $0.at > now }?.at
    }

    /// What has not been removed yet, the soonest first.
    private var entries: ArraySlice<(at: Instant, count: Int)> { returns[head...] }

    /// Returns the number of available permits; negative if more are out than there are permits now.
    package func available(at now: Instant) -> Int {
        guard now >= nextSlot else { return 0 }
        return permits - out(at: now)
    }

    /// Returns when `cost` permits can be taken together, if no others are taken before; `nil` if they never can.
    package func earliest(taking cost: Int, at now: Instant) -> Instant? {
        guard cost > 0 else { return now }
        guard cost <= permits else { return nil }
        return max(now, nextSlot, instant(ofToken: cost - 1, at: now))
    }

    /// Returns a lower bound for the instant at which `cost` permits can be taken together, after `ahead` others.
    package func earliest(taking cost: Int, after ahead: Int, at now: Instant) -> Instant {
        guard permits > 0 else { return .distantFuture }
        let (last, overflow) = ahead.addingReportingOverflow(cost - 1)
        let (cycles, rest) = (overflow ? .max : last).quotientAndRemainder(dividingBy: permits)
        let first = instant(ofToken: rest, at: now)
        // The permits ahead take a slot each; the last ones are taken together, in one slot.
        let slot = max(now, nextSlot).advanced(by: spacing, times: ahead)
        return max(first.advanced(by: period, times: cycles), slot)
    }

    /// Returns when the permit of that index (from 0, below `permits`) is available, if others take the permits that
    /// come back sooner.
    private func instant(ofToken index: Int, at now: Instant) -> Instant {
        var left = index - (permits - outstanding)
        guard left >= 0 else { return now }
        for entry in entries {
            left -= entry.count
            if left < 0 { return max(now, entry.at) }
        }
        return now
    }

    /// Takes permits that are available.
    package mutating func take(_ cost: Int, at now: Instant) {
        while head < returns.count, returns[head].at <= now {
            outstanding -= returns[head].count
            head += 1
        }
        // Entries are removed when they fill half of the array: each entry then moves once on average.
        if head > 32, head * 2 > returns.count {
            returns.removeFirst(head)
            head = 0
        }
        insert(cost, at: now.advanced(by: period, times: 1))
        if spacing > 0 { nextSlot = now.advanced(by: spacing, times: cost) }
    }

    /// Returns whether permits that were taken at `instant` have not come back yet.
    package func holds(_ cost: Int, takenAt instant: Instant, at now: Instant) -> Bool {
        let due = instant.advanced(by: period, times: 1)
        // What was taken last is at the end.
        return due > now && entries.last { $0.at <= due }.map { $0.at == due && $0.count >= cost } == true
    }

    /// Counts permits that were taken at `instant`, and are held, as taken now.
    package mutating func renew(_ cost: Int, takenAt instant: Instant, at now: Instant) {
        let slot = nextSlot
        giveBack(cost, takenAt: instant)
        insert(cost, at: now.advanced(by: period, times: 1))
        if spacing > 0 { nextSlot = max(slot, now.advanced(by: spacing, times: cost)) }
    }

    /// Counts permits that were taken at `instant` as taken now, also if they have come back since: then, for a
    /// period, more may be out than there are.
    package mutating func delay(_ cost: Int, takenAt instant: Instant, to now: Instant) {
        if holds(cost, takenAt: instant, at: now) { return renew(cost, takenAt: instant, at: now) }
        insert(cost, at: now.advanced(by: period, times: 1))
        if spacing > 0 { nextSlot = max(nextSlot, now.advanced(by: spacing, times: cost)) }
    }

    /// Returns unused permits that were taken at `instant`.
    package mutating func giveBack(_ cost: Int, takenAt instant: Instant) {
        let due = instant.advanced(by: period, times: 1)
        guard let index = entries.lastIndex(where: { $0.at == due }) else { return }
        // A drain may have spread the permits since: then fewer are due at that instant, and only those can be
        // returned.
        let count = min(cost, returns[index].count)
        returns[index].count -= count
        outstanding -= count
        if returns[index].count <= 0 { returns.remove(at: index) }
        if spacing > 0, nextSlot == instant.advanced(by: spacing, times: cost) { nextSlot = instant }
    }

    /// Empties the window, so that its permits come back one by one from `instant` on.
    package mutating func drain(until instant: Instant) {
        guard permits > 0 else { return }
        // A thousand steps are fine enough for any limit, and bound the memory of a large one.
        let step = max(1, permits / 1000)
        let pace = period / Int64(permits)
        var before = entries
        var there = permits - outstanding
        // When the last permit so far would have come back without the drain; one pass finds it for all steps.
        var own = instant
        returns = []
        head = 0
        outstanding = 0
        for index in stride(from: 0, to: permits, by: step) {
            let count = min(step, permits - index)
            while there < index + count, let entry = before.popFirst() {
                there += entry.count
                own = max(instant, entry.at)
            }
            insert(count, at: max(own, instant.advanced(by: pace, times: index)))
        }
        nextSlot = max(nextSlot, instant)
    }

    private mutating func insert(_ count: Int, at instant: Instant) {
        outstanding += count
        var index = returns.count
        while index > head, returns[index - 1].at > instant { index -= 1 }
        if index > head, returns[index - 1].at == instant {
            returns[index - 1].count += count
        } else {
            returns.insert((instant, count), at: index)
        }
    }
}

extension Instant {
    fileprivate func advanced(by nanoseconds: Int64, times: Int) -> Instant {
        let (product, overflow) = nanoseconds.multipliedReportingOverflow(by: Int64(times))
        return overflow ? .distantFuture : advanced(by: .nanoseconds(product))
    }
}
