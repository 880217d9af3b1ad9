/// Lets progress through at most ten times a second, which is as often as a person can read it.
///
/// The end of a transfer is told whether or not the throttle would allow it.
struct ProgressThrottle: Sendable {
    private static let interval = Duration.milliseconds(100)

    private var last: Instant?

    init() {}

    /// Returns whether progress may be told now. The first time it may.
    mutating func allows(at now: Instant) -> Bool {
        if let last, last.duration(to: now) < Self.interval { return false }
        last = now
        return true
    }
}
