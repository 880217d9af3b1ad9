import Synchronization

/// Permission for one send. It returns itself to the limiter if nothing is sent with it.
///
/// Dropping an unused permit gives it back: after a cancellation, when a middleware responds by itself, during a wait
/// for a token. A send uses the permit once; a middleware that sends twice needs another permit for the second send.
///
/// What counts for the limit is the instant of the send: if a middleware has waited since the permit was taken, the
/// permit comes back that much later. Otherwise calls whose middleware waits could be sent in a bunch. The same holds
/// for a request that waits for a connection.
final class Permit: SendPermit {
    /// A delay up to which the instants of taking and sending are the same: a tenth of a millisecond.
    private static let tolerance = Duration.microseconds(100)

    private let limiter: RateLimiter
    private let cost: Int
    private let taken: Instant
    private let isUnused = Atomic(true)

    /// Creates a permit for `cost` permits that were taken at that instant.
    init(of limiter: RateLimiter, cost: Int, taken: Instant) {
        self.limiter = limiter
        self.cost = cost
        self.taken = taken
    }

    /// Uses the permit for a send at that instant. Returns `false` if it has been used or given back, or has come back
    /// to the limiter in the meantime.
    func use(at instant: Instant) -> Bool {
        guard claim() else { return false }
        guard isLate(instant) else { return true }
        return limiter.renew(cost: cost, takenAt: taken, at: instant)
    }

    /// Has the permit, which was used at `start`, count from now on. Waits for another, ahead of the queue, if it has
    /// come back since.
    func renew(usedAt start: Instant, before deadline: Instant, in scope: CallScope) async throws(ServiceError) {
        guard !limiter.renew(cost: cost, takenAt: isLate(start) ? start : taken) else { return }
        _ = try await limiter.take(cost: cost, isUrgent: true, before: deadline, in: scope)
    }

    private func isLate(_ instant: Instant) -> Bool {
        instant > taken.advanced(by: Self.tolerance)
    }

    /// Gives the permit back now. Does nothing if it has been used.
    func giveBack() {
        if claim() { limiter.giveBack(cost: cost, takenAt: taken) }
    }

    private func claim() -> Bool {
        isUnused.exchange(false, ordering: .relaxed)
    }

    deinit { giveBack() }
}
