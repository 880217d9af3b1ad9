package import Errand

/// Permits that end, as those do that others can own after a while.
package final class EndingPermits: PermitSource {
    package static let permitsEnd = true

    /// The end of each permit in turn; the last one is that of all others, too.
    package let ends: Lock<[Instant]>

    package init(ends: [Instant]) {
        self.ends = Lock(ends)
    }

    package func end(usedAt instant: Instant) -> Instant {
        ends.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }
    }

    package func available(at now: Instant) -> Int? { 1 }
    package func earliest(taking cost: Int, at now: Instant) -> Instant? { now }
    package func earliest(taking cost: Int, after ahead: Int, at now: Instant) -> Instant { now }
    package func take(_ cost: Int, at now: Instant) -> Bool { true }
    package func renew(_ cost: Int, takenAt instant: Instant, at now: Instant) -> Bool { true }
    package func giveBack(_ cost: Int, takenAt instant: Instant) {}
    package func drain(until instant: Instant) {}
}
