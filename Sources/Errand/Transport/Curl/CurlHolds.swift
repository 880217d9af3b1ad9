#if os(Linux)
/// For how long jobs of tasks have held up a thread, and with it all connections.
struct CurlHolds {
    /// A job that takes at least this long is reported.
    static let reported = Duration.milliseconds(100)
    private static let pause = Duration.seconds(60)

    private var longest: Duration?
    private var warned: Instant?

    mutating func note(_ duration: Duration) {
        longest = max(longest ?? .zero, duration)
    }

    /// Returns a warning about what was noted, once a minute.
    mutating func takeWarning(at now: Instant) -> String? {
        guard let duration = longest else { return nil }
        if let warned, warned.duration(to: now) < Self.pause { return nil }
        (longest, warned) = (nil, now)
        return "code that ran on the transport's executor has held up its connections for \(duration.displayText); run "
            + "what blocks or computes for long elsewhere"
    }
}
#endif
