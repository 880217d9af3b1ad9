import Errand

/// What a node knows of a shared limit from its program.
struct SharedLimitSettings: Hashable, Sendable {
    /// The parts of a limit that a node can have, relative to others: their sum over all nodes is far from overflowing.
    static let weights = 1...1_000_000

    let permits: Int
    /// The period of a permit: somewhat longer than the limit's, because clocks run at different rates.
    let period: Duration
    let isSmooth: Bool
    /// The node's part, relative to others.
    let weight: Int
    let lowering: LimitLowering?
    /// How long this node may use what it owns after its last renewal.
    let lifetime: Duration

    init(_ window: RateLimit.Window, weight: Int = 1, lowering: LimitLowering? = nil, lifetime: Duration) {
        permits = window.permits
        // One hundredth more, for a clock that is fast by so much.
        period = .nanoseconds(Int64((Double(window.span.wholeNanoseconds) * 1.01).rounded(.up)))
        isSmooth = window.isSmooth
        self.weight = min(max(weight, Self.weights.lowerBound), Self.weights.upperBound)
        self.lowering = lowering
        self.lifetime = lifetime
    }

    /// How long calls wait for permits of the node's own to come back before it asks others.
    var grace: Duration { min(period / 2, .milliseconds(500)) }

    /// How long a node waits for each one with more permits to give what others ask for.
    var rankDelay: Duration { min(period / 50, .milliseconds(20)) }

    /// Returns how long another node waits from when it saw that a node's record no longer changes, until that node's
    /// permits are free: a lifetime, and a period. The longest lifetime of all nodes counts.
    func takeover(after lifetime: Duration, within period: Duration? = nil) -> Duration {
        Self.lengthened(lifetime) + Self.lengthened(period ?? self.period)
    }

    /// What clocks may differ by, twice: the owner's may be slow while the other's is fast.
    static func lengthened(_ duration: Duration) -> Duration {
        let longer = (Double(duration.wholeNanoseconds) * 1.021).rounded(.up)
        // A hundred years; a record that somebody else has written can contain anything.
        return longer < 3e18 ? .nanoseconds(Int64(longer)) : .nanoseconds(3_000_000_000_000_000_000)
    }
}

/// How a shared limit is lowered when a server refuses calls although the fleet keeps the limit.
public struct LimitLowering: Sendable, Hashable {
    let factor: Double
    let recovery: Duration

    /// Multiplies the limit by `factor` when a server responds with 429 and asks for a pause, and restores a tenth of
    /// the limit each time that `recovery` has passed. A 403 that means a rate limit counts too. A quota that is used
    /// up and a pause by the program do not.
    ///
    /// - Parameters:
    ///   - factor: The part of the limit that remains, at least one permit: from 0.1 to 0.9.
    ///   - recovery: At least one second.
    public static func on429(
        multiplyingBy factor: Double = 0.5, recoveringEvery recovery: Duration = .seconds(30)
    ) -> LimitLowering {
        LimitLowering(factor: min(0.9, max(0.1, factor)), recovery: max(.seconds(1), recovery))
    }
}
