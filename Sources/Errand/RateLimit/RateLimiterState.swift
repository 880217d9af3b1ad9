extension RateLimiter {
    /// The state that a limiter protects with its lock. It neither waits nor reads a clock.
    struct State {
        private var source: any PermitSource
        var line = WaitingLine()
        /// When the first waiter can be served, and the alarm for it.
        var service: (instant: Instant, alarm: Alarm?)?
        /// The end of the pause; no waiter is served before.
        private var pausedUntil: Instant?
        /// The source as it would be without the pause, which has drained it. A pause that ends early restores it.
        private var sourceWithoutPause: (any PermitSource)?

        init(_ source: any PermitSource) {
            self.source = source
        }
    }
}

extension RateLimiter.State {
    enum Admission {
        case granted
        /// The permits cannot be available in time; the value is the wait they would need.
        case refused(Duration)
        case waiting(WaitingLine.Waiter)
    }

    mutating func acquire(cost: Int, isUrgent: Bool, deadline: Instant, at now: Instant) -> Admission {
        if takeAtOnce(cost, isUrgent: isUrgent, at: now) { return .granted }
        let ahead = line.costAhead(ofUrgent: isUrgent)
        let earliest = source.earliest(taking: cost, after: ahead, at: max(now, pausedUntil ?? now))
        let isHopeless = pausedUntil.map { !Self.isWorthWaiting(until: $0, before: deadline, at: now) } ?? false
        guard earliest < deadline || deadline == .distantFuture, !isHopeless else {
            return .refused(now.duration(to: earliest))
        }
        return .waiting(line.join(cost: cost, isUrgent: isUrgent, deadline: deadline))
    }

    mutating func takeAtOnce(_ cost: Int, isUrgent: Bool, at now: Instant) -> Bool {
        endPause(at: now)
        return pausedUntil == nil && line.costAhead(ofUrgent: isUrgent) == 0 && source.take(cost, at: now)
    }

    /// Begins or extends a pause. Returns the waiters that would not wait for its end, and removes them from the queue.
    mutating func pause(until instant: Instant, at now: Instant) -> [WaitingLine.Waiter] {
        endPause(at: now)
        guard instant > max(pausedUntil ?? now, now) else { return [] }
        pausedUntil = instant
        if sourceWithoutPause == nil { sourceWithoutPause = source }
        source.drain(until: instant)
        let unservable = line.all.filter { !Self.isWorthWaiting(until: instant, before: $0.deadline, at: now) }
        for waiter in unservable { line.leave(waiter) }
        return unservable
    }

    /// Ends a pause early.
    mutating func resume(at now: Instant) {
        endPause(at: now)
        guard let before = sourceWithoutPause else { return }
        forgetPause()
        source = before
        source.drain(until: now)
    }

    /// Clears a pause that has run out.
    private mutating func endPause(at now: Instant) {
        if let pausedUntil, pausedUntil <= now { forgetPause() }
    }

    private mutating func forgetPause() {
        (pausedUntil, sourceWithoutPause) = (nil, nil)
    }

    mutating func changeSource(_ change: (inout any PermitSource) -> Void) {
        change(&source)
        if var before = sourceWithoutPause {
            change(&before)
            sourceWithoutPause = before
        }
    }

    mutating func renew(_ cost: Int, takenAt instant: Instant, at now: Instant) -> Bool {
        sourceWithoutPause?.renew(cost, takenAt: instant, at: now)
        return source.renew(cost, takenAt: instant, at: now)
    }

    mutating func giveBack(_ cost: Int, takenAt instant: Instant) {
        source.giveBack(cost, takenAt: instant)
        sourceWithoutPause?.giveBack(cost, takenAt: instant)
    }

    /// Takes the permits of all waiters that can be served, and returns these.
    mutating func serve(at now: Instant) -> [WaitingLine.Waiter] {
        endPause(at: now)
        var served: [WaitingLine.Waiter] = []
        while pausedUntil == nil, let waiter = line.first, source.take(waiter.cost, at: now) {
            line.leave(waiter)
            served.append(waiter)
        }
        return served
    }

    /// Returns when the first waiter can be served; `nil` if the queue is empty.
    func nextService(at now: Instant) -> Instant? {
        guard let waiter = line.first else { return nil }
        return source.earliest(taking: waiter.cost, at: max(now, pausedUntil ?? now))
    }

    func snapshot(at now: Instant) -> RateLimiter.Snapshot {
        let end = pausedUntil.flatMap { $0 > now ? $0 : nil }
        let next = source.earliest(taking: line.first?.cost ?? 1, at: max(now, end ?? now))
        return RateLimiter.Snapshot(
            available: end == nil ? source.available(at: now) : 0, waiters: line.count,
            nextGrant: next ?? .distantFuture, pausedUntil: end)
    }

    private static func isWorthWaiting(until instant: Instant, before deadline: Instant, at now: Instant) -> Bool {
        instant < deadline && now.duration(to: instant) <= RateLimiter.longestPause
    }
}
