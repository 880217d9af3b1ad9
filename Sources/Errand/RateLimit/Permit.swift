import Synchronization

/// Permission for one send. It returns itself to the limiter if nothing is sent with it.
///
/// Admission takes it, and the send uses it as its last act before the first byte: what counts for the limit is that
/// instant. If a middleware or a queue for connections has delayed the send, the permit comes back that much later;
/// otherwise sends that were delayed could leave in a bunch. If it has come back in the meantime, the send takes
/// another, ahead of the queue. So does the second send of a middleware that sends twice. A transport that has to open
/// a connection first says when that is done, and the permit counts from there.
///
/// Dropping an unused permit gives it back: after a cancellation, when a middleware responds by itself, during a wait
/// for a token.
final class Permit: SendPermit {
    /// A delay up to which the instants of taking and sending are the same: a tenth of a millisecond.
    private static let tolerance = Duration.microseconds(100)

    private let limiter: RateLimiter
    private let cost: Int
    private let taken: Instant
    private let deadline: Instant
    private let isUnused: Atomic<Bool>
    /// Until when the request may begin to leave, in nanoseconds. It is set with the use, because what the limiter owns
    /// later belongs to other permits.
    private let usableUntil = Atomic(Int64.min)

    /// Creates a permit for `cost` permits that were taken at that instant; a used one if none were. Another one is
    /// taken before the deadline.
    init(of limiter: RateLimiter, cost: Int, taken: Instant?, before deadline: Instant) {
        self.limiter = limiter
        self.cost = cost
        self.taken = taken ?? .zero
        self.deadline = deadline
        isUnused = Atomic(taken != nil)
    }

    var hasEnd: Bool { limiter.permitsEnd }

    var end: Instant { Instant(nanoseconds: usableUntil.load(ordering: .relaxed)) }

    /// Uses the permit for a send at that instant. Returns from when it counts; `nil` if it has been used or given
    /// back, or has come back to the limiter in the meantime.
    func use(at instant: Instant) -> Instant? {
        guard claim() else { return nil }
        guard hasEnd || instant > taken.advanced(by: Self.tolerance) else { return taken }
        return renew(takenAt: taken, at: instant) ? instant : nil
    }

    /// Takes and uses another permit, ahead of the queue. Returns how long it waited, and from when it counts.
    func takeAnother(in scope: CallScope) async throws(ServiceError) -> (wait: Duration, use: Instant) {
        var wait = Duration.zero
        while true {
            let grant = try await limiter.take(cost: cost, isUrgent: true, before: deadline, in: scope)
            wait += grant.wait
            guard hasEnd else { return (wait, grant.taken) }
            // A permit that can end may have done so before its task continued.
            let now = limiter.time.now
            if renew(takenAt: grant.taken, at: now) { return (wait, now) }
        }
    }

    func delay(from use: Instant, to instant: Instant) {
        limiter.delay(cost: cost, usedAt: use, to: instant)
    }

    private func renew(takenAt instant: Instant, at now: Instant) -> Bool {
        guard let end = limiter.renew(cost: cost, takenAt: instant, at: now) else { return false }
        usableUntil.store(end.nanoseconds, ordering: .relaxed)
        return true
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

/// Where a limiter takes its permits from, as a value over explicit instants: it neither waits nor reads a clock.
///
/// The limiter keeps the queue, the pauses and the alarms. ``TokenBucket`` is the source of a limiter by itself. One
/// whose permits come from elsewhere may have more of them or fewer at any time: ``RateLimiter/changeSource(_:)``
/// notifies the limiter, which then serves the waiters it can.
package protocol PermitSource: Sendable {
    /// Whether its permits can end before they are used.
    static var permitsEnd: Bool { get }
    /// Returns until when a request whose permits are used at `instant` may begin to leave.
    func end(usedAt instant: Instant) -> Instant
    /// Returns the number of available permits; `nil` if it is unlimited.
    func available(at now: Instant) -> Int?
    /// Returns when `cost` permits can be taken together, if no others are taken before; `nil` if that cannot be
    /// foreseen, because the source has to change first.
    func earliest(taking cost: Int, at now: Instant) -> Instant?
    /// Returns a lower bound for the instant at which `cost` permits can be taken together, after `ahead` others. A
    /// call whose deadline comes before that fails at once.
    func earliest(taking cost: Int, after ahead: Int, at now: Instant) -> Instant
    /// Takes `cost` permits if they are available, and returns whether it did.
    mutating func take(_ cost: Int, at now: Instant) -> Bool
    /// Counts permits that were taken at `instant` as taken now. Returns whether all of them were still out.
    @discardableResult
    mutating func renew(_ cost: Int, takenAt instant: Instant, at now: Instant) -> Bool
    /// Counts permits that were taken at `instant` as taken now, also if they have come back since. Is not called if
    /// the permits can end.
    mutating func delay(_ cost: Int, takenAt instant: Instant, to now: Instant)
    /// Returns unused permits that were taken at `instant`.
    mutating func giveBack(_ cost: Int, takenAt instant: Instant)
    /// Empties the source, so that its permits come back one by one from `instant` on.
    mutating func drain(until instant: Instant)
}

extension PermitSource {
    package static var permitsEnd: Bool { false }
    package func end(usedAt instant: Instant) -> Instant { .distantFuture }
    package mutating func delay(_ cost: Int, takenAt instant: Instant, to now: Instant) {}
}
