/// When a client sends a request a second time because the response is late, and takes the response that comes first.
///
///     $0.hedging = .after(.percentile(95))
///
/// It is for services of which a few responses take much longer than most. Only requests that read are sent twice, and
/// those with an idempotency key if ``ServerRules/shareKeys`` is set. See <doc:SeveralServers#Hedging>.
public struct HedgingPolicy: Sendable, Hashable, CustomStringConvertible {
    /// How long a response may take before the request is sent a second time.
    public struct Delay: Sendable, Hashable, CustomStringConvertible {
        enum Kind: Sendable, Hashable {
            case percentile(Double)
            case fixed(Duration)
        }

        let kind: Kind

        /// The time within which that percentage of the recent responses to this endpoint arrived. Endpoints are told
        /// apart by their methods and paths, in which all interpolated values count as equal. Until 20 responses are
        /// known, nothing is sent twice.
        public static func percentile(_ percent: Double) -> Delay { Delay(kind: .percentile(percent)) }
        /// That long.
        public static func fixed(_ duration: Duration) -> Delay { Delay(kind: .fixed(duration)) }

        /// The delay in words.
        public var description: String {
            switch kind {
            case .percentile(let percent): "the time that \(percent) % of the responses take"
            case .fixed(let duration): duration.displayText
            }
        }
    }

    struct Limits: Sendable, Hashable {
        let delay: Delay
        let budget: Double
    }

    let limits: Limits?

    /// Nothing is sent a second time before the first attempt has ended.
    public static let none = HedgingPolicy(limits: nil)

    /// A request is sent a second time after that delay.
    ///
    /// - Parameters:
    ///   - delay: How long to wait for the response to the first.
    ///   - budget: How many repetitions each success pays for, a twentieth by default. The first ten are free, so that
    ///     a program that has just begun has some.
    public static func after(_ delay: Delay, budget: Double = 0.05) -> HedgingPolicy {
        HedgingPolicy(limits: Limits(delay: delay, budget: budget))
    }

    /// A description of what is wrong with the policy; `nil` if it is valid.
    var problem: String? {
        guard let limits else { return nil }
        if !(limits.budget >= 0 && limits.budget <= 1) {
            return "a budget of \(limits.budget) repetitions for each success; it must be from 0 to 1"
        }
        switch limits.delay.kind {
        case .percentile(let percent):
            return percent > 0 && percent < 100 ? nil : "the percentile \(percent); it must be between 0 and 100"
        case .fixed(let duration):
            return duration < .zero ? "a negative delay of \(duration.displayText) before a repetition" : nil
        }
    }

    /// The policy in words.
    public var description: String {
        limits.map { "after \($0.delay), and \($0.budget) times for each success" } ?? "no hedging"
    }
}
