/// How many requests may be sent in how long a time.
///
///     let usual: RateLimit = .requests(5, per: .seconds(1))  // the default of every client
///     let several: RateLimit = .all(
///         .requests(5, per: .seconds(1)), .requests(100, per: .seconds(60)))
///
/// A limit that makes no sense (none or fewer permits, no time) is reported by the first call that would have to keep
/// to it.
public struct RateLimit: Sendable, Hashable {
    struct Window: Sendable, Hashable {
        var permits: Int
        var period: Duration
        /// Whether the sends are also spaced evenly within the period.
        var isSmooth: Bool
    }

    let windows: [Window]

    /// No limit. A pause that the server asks for is kept all the same.
    public static let unlimited = RateLimit(windows: [])

    /// So many requests at once, and never more than that in any period, wherever it begins.
    public static func requests(_ permits: Int, per period: Duration) -> RateLimit {
        RateLimit(windows: [Window(permits: permits, period: period, isSmooth: false)])
    }

    /// So many requests in a period, spaced evenly.
    public static func smooth(_ permits: Int, per period: Duration) -> RateLimit {
        RateLimit(windows: [Window(permits: permits, period: period, isSmooth: true)])
    }

    /// Several limits that hold together.
    public static func all(_ limits: RateLimit...) -> RateLimit {
        RateLimit(windows: limits.flatMap(\.windows))
    }

    /// The largest cost that one request can have.
    var largestCost: Int { windows.map(\.permits).min() ?? .max }

    /// What is wrong with the limit, if anything is.
    var problem: String? {
        for window in windows {
            if window.permits <= 0 {
                return "a rate limit of \(window.permits) requests lets nothing through; it must be 1 or more"
            }
            // The costs of all who wait in line are added up.
            if window.permits > Int(Int32.max) {
                return "a rate limit of \(window.permits) requests is none; use `.unlimited`"
            }
            if window.period <= .zero {
                return "a rate limit's period of \(window.period.displayText) is not a length of time"
            }
        }
        return nil
    }
}

extension RateLimit: CustomStringConvertible {
    /// The limit as a person would say it: `5 per 1 s and 100 per 60 s`.
    public var description: String {
        guard !windows.isEmpty else { return "unlimited" }
        return windows.map { "\($0.permits) per \($0.period.displayText)\($0.isSmooth ? ", evenly spaced" : "")" }
            .joined(separator: " and ")
    }
}
