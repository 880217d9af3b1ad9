// Permits of a limiter that is within another. A send needs one of each. A call waits for its user's permit first, and
// holds it while it waits for the shared one; when it has that, it takes both at the same instant. A call that waits
// for a permit of its own limiter holds no shared one, so a pause of one user stops nobody else. Limiters form no
// circle, so no two calls wait for each other.

extension RateLimiter {
    /// What stops when a server asks for a pause, with a 429 or a used-up quota, for a limiter within a shared one.
    public struct ServerPauses: Sendable, Hashable {
        package enum Kind: Sendable, Hashable { case own, shared }

        package let kind: Kind

        /// What the limiter itself serves: the server counts the requests of each user.
        public static let own = ServerPauses(kind: .own)
        /// Everything that the shared limiter serves: the server counts the requests of all users together.
        public static let shared = ServerPauses(kind: .shared)
    }

    /// When permits were requested and taken.
    struct Grant {
        var asked: Instant
        /// The same instant for the permits of all limiters that are within each other.
        var taken: Instant

        /// How long the permits were waited for.
        var wait: Duration { asked.duration(to: taken) }
    }

    /// Waits for the permits and takes them.
    func take(
        cost: Int, isUrgent: Bool, before deadline: Instant, in scope: CallScope = CallScope()
    ) async throws(ServiceError) -> Grant {
        guard let shared else {
            return try await takeOwn(cost: cost, isUrgent: isUrgent, before: deadline, in: scope)
        }
        try checkWait(cost: cost, isUrgent: isUrgent, before: deadline)
        let asked = time.now
        var isReturning = false
        while true {
            _ = try await takeOwn(
                cost: cost, isUrgent: isUrgent, isReturning: isReturning, before: deadline, in: scope)
            let taken: Instant
            do throws(ServiceError) {
                taken = try await shared.take(cost: cost, isUrgent: isUrgent, before: deadline, in: scope).taken
            } catch {
                releaseOwn(cost: cost, isUrgent: isUrgent)
                throw error
            }
            // Reentrancy: the limiter may have been paused during the wait, or an urgent call has taken the permit.
            if takeOwnHeld(cost: cost, isUrgent: isUrgent, at: taken) { return Grant(asked: asked, taken: taken) }
            shared.giveBack(cost: cost, takenAt: taken)
            isReturning = true
        }
    }

    /// Takes the permits if no wait is necessary. Returns when it took them; otherwise `nil`.
    func takeAtOnce(cost: Int, isUrgent: Bool) throws(ServiceError) -> Instant? {
        guard let own = try takeOwnAtOnce(cost: cost, isUrgent: isUrgent) else { return nil }
        guard let shared else { return own }
        let taken: Instant?
        do throws(ServiceError) {
            taken = try shared.takeAtOnce(cost: cost, isUrgent: isUrgent)
        } catch {
            releaseOwn(cost: cost, isUrgent: isUrgent)
            throw error
        }
        guard let taken else {
            releaseOwn(cost: cost, isUrgent: isUrgent)
            return nil
        }
        if takeOwnHeld(cost: cost, isUrgent: isUrgent, at: taken) { return taken }
        shared.giveBack(cost: cost, takenAt: taken)
        return nil
    }

    /// Counts permits that were taken at `instant` as taken now. Returns until when a request may begin to leave with
    /// them; `nil` if some of them have come back already, or if a pause has begun since. Then the others are given
    /// back.
    func renew(cost: Int, takenAt instant: Instant, at now: Instant) -> Instant? {
        guard let end = renewOwn(cost: cost, takenAt: instant, at: now) else {
            shared?.giveBack(cost: cost, takenAt: instant)
            return nil
        }
        guard let shared else { return end }
        if let other = shared.renew(cost: cost, takenAt: instant, at: now) { return min(end, other) }
        giveBackOwn(cost: cost, takenAt: now)
        return nil
    }

    /// Counts permits that were used at `instant` as used now, because the request leaves only now. If they have come
    /// back in the meantime, others may have them: then these wait longer for the next.
    func delay(cost: Int, usedAt instant: Instant, to now: Instant) {
        delayOwn(cost: cost, takenAt: instant, to: now)
        shared?.delay(cost: cost, usedAt: instant, to: now)
    }

    /// Returns unused permits.
    func giveBack(cost: Int, takenAt instant: Instant) {
        giveBackOwn(cost: cost, takenAt: instant)
        shared?.giveBack(cost: cost, takenAt: instant)
    }

    /// Pauses what a server's answer is to pause.
    ///
    /// - Parameter isRefusal: Whether the server has refused a request because of a rate limit.
    func pauseForServer(until instant: Instant, isRefusal: Bool) {
        guard let shared, serverPauses.kind == .shared else { return pause(until: instant, isRefusal: isRefusal) }
        shared.pauseForServer(until: instant, isRefusal: isRefusal)
    }

    /// The limit, with those that it is within.
    var limits: String {
        shared.map { "\(limit), within \($0.limits)" } ?? "\(limit)"
    }
}
