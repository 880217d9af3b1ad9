extension RateLimiter {
    /// The state that a limiter protects with its lock. It neither waits nor reads a clock.
    struct State {
        private var source: any PermitSource
        /// What calls hold; `nil` for a limiter that is within no other, whose permits are taken at once.
        private var held: HeldPermits?
        var line = WaitingLine()
        /// When the first waiter can be served, and the alarm for it.
        var service: (instant: Instant, alarm: Alarm?)?
        /// Why no permits are granted now, for a source that has none to expect.
        private var refusal: ServiceError?
        /// What calls wait for besides the limit; `nil` if for nothing.
        var hindrance: String?
        /// The end of the pause; no waiter is served before.
        private var pausedUntil: Instant?
        /// Whether the server has refused a request, for or during the pause.
        private var isRefused = false
        /// The source as it would be without the pause, which has drained it. A pause that ends early restores it.
        private var sourceWithoutPause: (any PermitSource)?

        init(_ source: any PermitSource, holding held: HeldPermits? = nil) {
            self.source = source
            self.held = held
        }
    }
}

extension RateLimiter.State {
    enum Admission {
        case granted
        case failed(ServiceError)
        /// The permits cannot be available in time; the value is the wait they would need.
        case refused(Duration)
        case waiting(WaitingLine.Waiter)
    }

    mutating func acquire(
        cost: Int, isUrgent: Bool, isReturning: Bool = false, deadline: Instant, at now: Instant
    ) -> Admission {
        if takeAtOnce(cost, isUrgent: isUrgent, isReturning: isReturning, at: now) { return .granted }
        if let refusal { return .failed(refusal) }
        let wait = hopelessWait(for: cost, isUrgent: isUrgent || isReturning, deadline: deadline, at: now)
        if let wait { return .refused(wait) }
        return .waiting(line.join(cost: cost, isUrgent: isUrgent, isReturning: isReturning, deadline: deadline))
    }

    /// Returns the wait that permits would need, if a call does not wait that long; `nil` if it does.
    mutating func hopelessWait(for cost: Int, isUrgent: Bool, deadline: Instant, at now: Instant) -> Duration? {
        endPause(at: now)
        let ahead = line.costAhead(ofUrgent: isUrgent)
        let earliest = source.earliest(taking: cost, after: ahead, at: max(now, pausedUntil ?? now))
        let isHopeless = pausedUntil.map { !Self.isWorthWaiting(until: $0, before: deadline, at: now) } ?? false
        return (earliest < deadline || deadline == .distantFuture) && !isHopeless ? nil : now.duration(to: earliest)
    }

    mutating func takeAtOnce(_ cost: Int, isUrgent: Bool, isReturning: Bool = false, at now: Instant) -> Bool {
        endPause(at: now)
        return pausedUntil == nil && line.costAhead(ofUrgent: isUrgent || isReturning) == 0
            && take(cost, isUrgent: isUrgent, at: now)
    }

    /// Takes permits if they are available; holds them if the limiter is within another.
    private mutating func take(_ cost: Int, isUrgent: Bool, at now: Instant) -> Bool {
        guard held != nil else { return source.take(cost, at: now) }
        guard let earliest = earliest(taking: cost, isUrgent: isUrgent, at: now), earliest <= now else { return false }
        held?.hold(cost, isUrgent: isUrgent)
        return true
    }

    /// Returns when `cost` permits can be taken or held; `nil` if that cannot be foreseen.
    private func earliest(taking cost: Int, isUrgent: Bool, at now: Instant) -> Instant? {
        guard let held else { return source.earliest(taking: cost, at: now) }
        return held.needed(for: cost, isUrgent: isUrgent).flatMap { source.earliest(taking: $0, at: now) }
    }

    /// Takes permits that a call holds. Returns `false`, and releases them, if they are gone: an urgent call has taken
    /// them, or the limiter is or was paused.
    mutating func takeHeld(_ cost: Int, isUrgent: Bool, at now: Instant) -> Bool {
        held?.release(cost, isUrgent: isUrgent)
        endPause(at: now)
        return pausedUntil == nil && source.take(cost, at: now)
    }

    /// Returns permits that a waiter has taken or holds, and does not want.
    mutating func release(_ cost: Int, isUrgent: Bool, takenAt instant: Instant) {
        if held == nil { giveBack(cost, takenAt: instant) } else { held?.release(cost, isUrgent: isUrgent) }
    }

    /// Begins or extends a pause. Returns the waiters that would not wait for its end, and removes them from the queue.
    mutating func pause(until instant: Instant, isRefusal: Bool = false, at now: Instant) -> [WaitingLine.Waiter] {
        endPause(at: now)
        if isRefusal, instant > now { isRefused = true }
        guard instant > max(pausedUntil ?? now, now) else { return [] }
        pausedUntil = instant
        if sourceWithoutPause == nil { sourceWithoutPause = source }
        source.drain(until: instant)
        let unservable = line.all.filter { !Self.isWorthWaiting(until: instant, before: $0.deadline, at: now) }
        for waiter in unservable { line.leave(waiter) }
        return unservable
    }

    /// Ends a pause early; with an instant, only the one that ends then.
    mutating func resume(from end: Instant? = nil, at now: Instant) {
        endPause(at: now)
        guard let before = sourceWithoutPause, end == nil || end == pausedUntil else { return }
        forgetPause()
        source = before
        source.drain(until: now)
    }

    /// Clears a pause that has run out.
    private mutating func endPause(at now: Instant) {
        if let pausedUntil, pausedUntil <= now { forgetPause() }
    }

    private mutating func forgetPause() {
        (pausedUntil, isRefused, sourceWithoutPause) = (nil, false, nil)
    }

    mutating func changeSource(_ change: (inout any PermitSource) -> Void) {
        change(&source)
        if var before = sourceWithoutPause {
            change(&before)
            sourceWithoutPause = before
        }
    }

    /// Counts permits as taken now. Returns until when a request may begin to leave with them; `nil` if they are gone,
    /// or if a pause has begun since they were taken.
    mutating func renew(_ cost: Int, takenAt instant: Instant, at now: Instant) -> Instant? {
        endPause(at: now)
        guard pausedUntil == nil else { return nil }
        return source.renew(cost, takenAt: instant, at: now) ? source.end(usedAt: now) : nil
    }

    mutating func delay(_ cost: Int, takenAt instant: Instant, to now: Instant) {
        source.delay(cost, takenAt: instant, to: now)
        sourceWithoutPause?.delay(cost, takenAt: instant, to: now)
    }

    mutating func giveBack(_ cost: Int, takenAt instant: Instant) {
        source.giveBack(cost, takenAt: instant)
        sourceWithoutPause?.giveBack(cost, takenAt: instant)
    }

    /// Takes the permits of all waiters that can be served, and returns these.
    mutating func serve(at now: Instant) -> [WaitingLine.Waiter] {
        endPause(at: now)
        var served: [WaitingLine.Waiter] = []
        while pausedUntil == nil, let waiter = line.first, take(waiter.cost, isUrgent: waiter.isUrgent, at: now) {
            line.leave(waiter)
            served.append(waiter)
        }
        return served
    }

    /// Returns when the first waiter can be served; `nil` if the queue is empty, or if that cannot be foreseen.
    func nextService(at now: Instant) -> Instant? {
        guard let waiter = line.first else { return nil }
        return earliest(taking: waiter.cost, isUrgent: waiter.isUrgent, at: max(now, pausedUntil ?? now))
    }

    func snapshot(at now: Instant) -> RateLimiter.Snapshot {
        let end = pausedUntil.flatMap { $0 > now ? $0 : nil }
        let next = earliest(
            taking: line.first?.cost ?? 1, isUrgent: line.first?.isUrgent ?? false, at: max(now, end ?? now))
        return RateLimiter.Snapshot(
            available: end == nil ? available(at: now) : 0, waiters: line.count,
            nextGrant: next ?? .distantFuture, pausedUntil: end)
    }

    /// What remains of the limiter: its source as it is without a pause, and the end of the pause.
    var rest: (any PermitSource, Instant?) { (sourceWithoutPause ?? source, pausedUntil) }

    /// Begins or ends to refuse calls that would have to wait. Returns the waiters that are refused, and removes them.
    mutating func refuse(_ reason: ServiceError?) -> [WaitingLine.Waiter] {
        refusal = reason
        guard reason != nil else { return [] }
        let waiters = line.all
        for waiter in waiters { line.leave(waiter) }
        return waiters
    }

    /// What the limiter needs of a source that can get more permits.
    func demand(at now: Instant) -> RateLimiter.Demand {
        RateLimiter.Demand(
            waiting: line.costAhead(ofUrgent: false), next: line.first?.cost ?? 0,
            pausedUntil: pausedUntil.flatMap { $0 > now ? $0 : nil },
            isRefused: isRefused && pausedUntil.map { $0 > now } == true)
    }

    private func available(at now: Instant) -> Int? {
        guard let all = source.available(at: now) else { return nil }
        // More may be out than there are, where requests have left late.
        guard let held else { return max(0, all) }
        return held.needed(for: 0, isUrgent: false).map { max(0, all - $0) } ?? 0
    }

    private static func isWorthWaiting(until instant: Instant, before deadline: Instant, at now: Instant) -> Bool {
        instant < deadline && now.duration(to: instant) <= RateLimiter.longestPause
    }
}
