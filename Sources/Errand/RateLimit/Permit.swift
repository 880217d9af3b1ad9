import Synchronization

/// Permission for one send. It returns itself to the limiter if nothing is sent with it.
///
/// Dropping an unused permit gives it back: after a cancellation, when a middleware responds by itself, during a wait
/// for a token. A send uses the permit once; a middleware that sends twice needs another permit for the second send.
final class Permit: Sendable {
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

    /// Uses the permit for a send. Returns `false` if it has been used or given back.
    func use() -> Bool {
        isUnused.exchange(false, ordering: .relaxed)
    }

    /// Gives the permit back now. Does nothing if it has been used.
    func giveBack() {
        if use() { limiter.giveBack(cost: cost, takenAt: taken) }
    }

    deinit { giveBack() }
}
