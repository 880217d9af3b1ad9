/// A moment on a monotonic clock, which never goes back, whatever happens to the wall clock.
///
/// Arithmetic saturates instead of trapping, so a timeout of three hundred years is simply "never".
public struct Instant: InstantProtocol {
    /// The nanoseconds since the clock's origin.
    public let nanoseconds: Int64

    /// The origin of the clock.
    public static let zero = Instant(nanoseconds: 0)
    /// A moment that never comes.
    public static let distantFuture = Instant(nanoseconds: .max)

    /// Creates an instant from the number of nanoseconds since the clock's origin.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Returns the instant that is `duration` later; `distantFuture` if it cannot be represented.
    public func advanced(by duration: Duration) -> Instant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        guard overflow else { return Instant(nanoseconds: sum) }
        return duration < .zero ? Instant(nanoseconds: .min) : .distantFuture
    }

    /// Returns the duration from this instant to `other`; negative if `other` is earlier.
    public func duration(to other: Instant) -> Duration {
        let (difference, overflow) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
        guard overflow else { return .nanoseconds(difference) }
        return .nanoseconds(other > self ? Int64.max : Int64.min)
    }

    /// Whether `left` comes before `right`.
    public static func < (left: Instant, right: Instant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }
}

extension Duration {
    /// The duration in nanoseconds, clamped to the range of `Int64`.
    package var wholeNanoseconds: Int64 {
        Int64(clamping: attoseconds / 1_000_000_000)
    }

    /// The duration in seconds, for arithmetic with wall-clock dates and random fractions.
    package var inSeconds: Double {
        let (seconds, attoseconds) = heldComponents
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    /// The components, clamped: a duration whose seconds do not fit into an `Int64` has none, and counts as the longest
    /// that has.
    private var heldComponents: (seconds: Int64, attoseconds: Int64) {
        guard self < .seconds(Int64.max) else { return (.max, 0) }
        guard self > .seconds(Int64.min) else { return (.min, 0) }
        return components
    }

    /// The duration as readable text: `250 ms`, `1.5 s`.
    package var displayText: String {
        let milliseconds = wholeNanoseconds / 1_000_000
        if milliseconds == 0, self > .zero {
            return wholeNanoseconds < 1000 ? "\(wholeNanoseconds) ns" : "\(wholeNanoseconds / 1000) µs"
        }
        if abs(milliseconds) < 1000 { return "\(milliseconds) ms" }
        let (whole, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        guard rest != 0 else { return "\(whole) s" }
        let digits = String(1000 + abs(rest)).dropFirst()
        return "\(whole).\(digits.trimmingZeros) s"
    }
}

extension Substring {
    fileprivate var trimmingZeros: Substring {
        var text = self
        while text.last == "0" { text.removeLast() }
        return text
    }
}
