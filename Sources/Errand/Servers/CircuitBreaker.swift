/// When a client stops asking a server that fails, for a while.
///
///     $0.breaker = .standard
///
/// While the breaker of a server is open, calls fail at once with `.transport`, of the kind `.circuitOpen`, and take no
/// permit. After a pause, one request checks whether it responds again. It is for programs that have something better
/// to do than wait: a server with a fallback value, or a client with several servers. See <doc:SeveralServers>.
public struct CircuitBreaker: Sendable, Hashable, CustomStringConvertible {
    struct Limits: Sendable, Hashable {
        let share: Double
        let sends: Int
        let window: Duration
        let pause: Duration
    }

    let limits: Limits?

    /// No breaker: each call asks its server.
    public static let none = CircuitBreaker(limits: nil)
    /// Opens for ten seconds when at least half of at least 20 requests within 30 seconds have failed.
    public static let standard = opening(at: 0.5, ofAtLeast: 20, within: .seconds(30), for: .seconds(10))

    /// Opens when that share of the requests has failed, of at least so many within that time.
    ///
    /// The pause is for the first time. It is twice as long for the second in a row, three times for the third, and so
    /// on up to five minutes, or that pause if it is longer.
    public static func opening(
        at share: Double, ofAtLeast requests: Int, within window: Duration, for pause: Duration
    ) -> CircuitBreaker {
        CircuitBreaker(limits: Limits(share: share, sends: requests, window: window, pause: pause))
    }

    /// A description of what is wrong with the breaker; `nil` if it is valid.
    var problem: String? {
        guard let limits else { return nil }
        if !(limits.share > 0 && limits.share <= 1) {
            return "a breaker that opens at a share of \(limits.share); it must be above 0 and at most 1"
        }
        if limits.sends < 1 { return "a breaker that looks at \(limits.sends) requests; it must be 1 or more" }
        if limits.window < .milliseconds(10) || limits.window > .seconds(86400) {
            return "a breaker that looks at \(limits.window.displayText); it must be from 10 ms to a day"
        }
        return limits.pause <= .zero ? "a breaker that opens for \(limits.pause.displayText); it must be more" : nil
    }

    /// The breaker in words.
    public var description: String {
        guard let limits else { return "no breaker" }
        return "opens for \(limits.pause.displayText) when \(limits.share) of at least \(limits.sends) requests within "
            + "\(limits.window.displayText) have failed"
    }
}
