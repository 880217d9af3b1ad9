/// Where a limiter takes its permits from, as a value over explicit instants: it neither waits nor reads a clock.
///
/// The limiter keeps the queue, the pauses and the alarms. ``TokenBucket`` is the source of a limiter by itself. One
/// whose permits come from elsewhere may have more of them or fewer at any time: ``RateLimiter/changeSource(_:)`` tells
/// the limiter, which then serves whoever can be served.
package protocol PermitSource: Sendable {
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
    /// Returns unused permits that were taken at `instant`.
    mutating func giveBack(_ cost: Int, takenAt instant: Instant)
    /// Empties the source, so that its permits come back one by one from `instant` on.
    mutating func drain(until instant: Instant)
}
