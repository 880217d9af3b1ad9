import Errand

/// What a node knows of a shared limit from its program.
struct SharedLimitSettings: Hashable, Sendable {
    var permits: Int
    /// The period of a permit: somewhat longer than the limit's, because clocks run at different rates.
    var period: Duration
    var isSmooth = false
    /// The node's part, relative to others.
    var weight = 1
    var lowering: LimitLowering?
    /// How long another node waits from when it saw that a node's record no longer changes, until that node's permits
    /// are free: a lifetime, and a period.
    var takeover: Duration

    /// What clocks may differ by, twice: the owner's may be slow while the other's is fast.
    static func lengthened(_ duration: Duration) -> Duration {
        .nanoseconds(Int64((Double(duration.wholeNanoseconds) * 1.021).rounded(.up)))
    }
}

/// How a shared limit is lowered when a server refuses calls although the fleet keeps the limit.
public struct LimitLowering: Sendable, Hashable {
    let factor: Double
    let recovery: Duration

    /// Multiplies the limit by `factor` when a server asks for a pause, and restores a tenth of the limit each time that
    /// `recovery` has passed.
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
