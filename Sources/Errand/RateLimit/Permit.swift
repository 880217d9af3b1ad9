import Synchronization

/// Permission for one send, which gives itself back if nothing is sent with it.
///
/// Whoever drops it has settled the account: a call that was cancelled just then, a middleware that answers by itself,
/// a wait for a token. A send uses it up once; a middleware that sends twice needs another for the second.
final class Permit: Sendable {
    private let limiter: RateLimiter
    private let cost: Int
    private let taken: Instant
    private let isUnused = Atomic(true)

    /// Permits of that number, which were taken at that instant.
    init(of limiter: RateLimiter, cost: Int, taken: Instant) {
        self.limiter = limiter
        self.cost = cost
        self.taken = taken
    }

    /// Uses the permit for a send; `false` if it has been used or given back.
    func use() -> Bool {
        isUnused.exchange(false, ordering: .relaxed)
    }

    /// Gives the permit back now. Does nothing if it has been used.
    func giveBack() {
        if use() { limiter.giveBack(cost: cost, takenAt: taken) }
    }

    deinit { giveBack() }
}
