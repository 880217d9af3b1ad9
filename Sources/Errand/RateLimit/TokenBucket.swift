/// The permits of a rate limit, as a value over explicit instants: it neither waits nor reads a clock.
///
/// A permit comes back exactly one period after it was taken. So a full bucket can be emptied at once, and still no
/// rolling period contains more than the limit. That is stricter than a bucket that refills continuously, which allows
/// nearly twice the limit in a period that begins with a burst.
package struct TokenBucket: PermitSource {
    private var windows: [RollingWindow]

    /// Creates a full bucket. A bucket for a limit of zero or fewer permits stays empty.
    package init(_ limit: RateLimit) {
        windows = limit.windows.map(RollingWindow.init)
    }

    /// Returns the number of available permits; `nil` if it is unlimited.
    package func available(at now: Instant) -> Int? {
        windows.map { $0.available(at: now) }.min()
    }

    /// Returns when `cost` permits can be taken together, if no others are taken before; `nil` if they never can.
    package func earliest(taking cost: Int, at now: Instant) -> Instant? {
        var earliest = now
        for window in windows {
            guard let instant = window.earliest(taking: cost, at: now) else { return nil }
            earliest = max(earliest, instant)
        }
        return earliest
    }

    /// Returns a lower bound for the instant of the last of `total` permits, taken one after the other as soon as each
    /// is available. For a single limit that is not smooth, the bound is exact.
    package func earliest(ofLast total: Int, at now: Instant) -> Instant {
        earliest(taking: 1, after: max(total, 1) - 1, at: now)
    }

    /// Returns a lower bound for the instant at which `cost` permits can be taken together, after `ahead` others.
    package func earliest(taking cost: Int, after ahead: Int, at now: Instant) -> Instant {
        windows.map { $0.earliest(taking: cost, after: ahead, at: now) }.max() ?? now
    }

    /// Takes `cost` permits if they are available, and returns whether it did. Taking none changes nothing.
    package mutating func take(_ cost: Int, at now: Instant) -> Bool {
        guard cost > 0 else { return cost == 0 }
        guard let earliest = earliest(taking: cost, at: now), earliest <= now else { return false }
        for index in windows.indices { windows[index].take(cost, at: now) }
        return true
    }

    /// Counts permits that were taken at `instant` as taken now. Returns whether all of them were still out.
    @discardableResult
    package mutating func renew(_ cost: Int, takenAt instant: Instant, at now: Instant) -> Bool {
        guard windows.allSatisfy({ $0.holds(cost, takenAt: instant, at: now) }) else { return false }
        for index in windows.indices { windows[index].renew(cost, takenAt: instant, at: now) }
        return true
    }

    /// Counts permits that were taken at `instant` as taken now, also if they have come back since.
    package mutating func delay(_ cost: Int, takenAt instant: Instant, to now: Instant) {
        for index in windows.indices { windows[index].delay(cost, takenAt: instant, to: now) }
    }

    /// Returns unused permits that were taken at `instant`.
    package mutating func giveBack(_ cost: Int, takenAt instant: Instant) {
        guard cost > 0 else { return }
        for index in windows.indices { windows[index].giveBack(cost, takenAt: instant) }
    }

    /// Empties the bucket, so that its permits come back one by one from `instant` on, at the pace of the limit.
    package mutating func drain(until instant: Instant) {
        for index in windows.indices { windows[index].drain(until: instant) }
    }
}
