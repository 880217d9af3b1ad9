/// A limit on the number of requests in a period.
///
///     let usual: RateLimit = .requests(5, per: .seconds(1))  // the default of every client
///     let several: RateLimit = .all(
///         .requests(5, per: .seconds(1)), .requests(100, per: .seconds(60)))
///
/// A limit that makes no sense (no permits, or no period) is reported by the first call that needs a permit.
public struct RateLimit: Sendable, Hashable {
    package struct Window: Sendable, Hashable {
        package var permits: Int
        package var period: Duration
        /// Whether sends are also spaced evenly within the period.
        package var isSmooth: Bool
        /// What is added to the period, because requests do not arrive as evenly as they leave.
        package var margin = Duration.zero

        package init(permits: Int, period: Duration, isSmooth: Bool) {
            self.permits = permits
            self.period = period
            self.isSmooth = isSmooth
        }

        /// How long a permit is out.
        package var span: Duration { period + margin }
    }

    package let windows: [Window]

    package init(windows: [Window]) {
        self.windows = windows
    }

    /// No limit. A pause that the server asks for still applies; after it, all waiting calls are sent at once.
    public static let unlimited = RateLimit(windows: [])

    /// Returns a limit that allows bursts: `permits` requests at once, but never more than that in any rolling period.
    public static func requests(_ permits: Int, per period: Duration) -> RateLimit {
        RateLimit(windows: [Window(permits: permits, period: period, isSmooth: false)])
    }

    /// Returns a limit that spaces requests evenly over the period.
    public static func smooth(_ permits: Int, per period: Duration) -> RateLimit {
        RateLimit(windows: [Window(permits: permits, period: period, isSmooth: true)])
    }

    /// Combines several limits: all of them apply.
    public static func all(_ limits: RateLimit...) -> RateLimit {
        RateLimit(windows: limits.flatMap(\.windows))
    }

    /// Returns the limit with a margin: each permit comes back that much later.
    ///
    ///     $0.rateLimit = .requests(5, per: .seconds(1)).margin(.milliseconds(50))
    ///
    /// The network delays some requests more than others, so requests that leave a period apart can arrive a little
    /// closer together. Set a margin for a server that refuses these; the difference between the longest delay and the
    /// shortest is enough. Of several limits, each gets the margin, in place of one that it had.
    public func margin(_ duration: Duration) -> RateLimit {
        RateLimit(
            windows: windows.map { window in
                var window = window
                window.margin = duration
                return window
            })
    }

    /// The largest possible cost of one request.
    var largestCost: Int { windows.map(\.permits).min() ?? .max }

    /// A description of what is wrong with the limit; `nil` if it is valid.
    package var problem: String? {
        for window in windows {
            if window.permits <= 0 {
                return "a rate limit of \(window.permits) requests lets nothing through; it must be 1 or more"
            }
            // The costs of all waiters in the queue are added up.
            if window.permits > Int(Int32.max) {
                return "a rate limit of \(window.permits) requests is too large; use `.unlimited`"
            }
            if window.period <= .zero {
                return "a rate limit's period of \(window.period.displayText) must be longer than zero"
            }
            if window.margin < .zero {
                return "a rate limit's margin of \(window.margin.displayText) must not be negative"
            }
        }
        return nil
    }
}

extension RateLimit: CustomStringConvertible {
    /// The limit as readable text: `5 per 1 s and 100 per 60 s`.
    public var description: String {
        windows.isEmpty ? "unlimited" : windows.map(\.description).joined(separator: " and ")
    }
}

extension RateLimit.Window: CustomStringConvertible {
    package var description: String {
        var text = "\(permits) per \(period.displayText)"
        if margin != .zero { text += " with a margin of \(margin.displayText)" }
        return isSmooth ? text + ", evenly spaced" : text
    }
}
