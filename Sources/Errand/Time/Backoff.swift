/// How long to wait before trying again: a random part of a time that doubles, so that those who failed together do
/// not come back together.
struct Backoff: Sendable, Hashable {
    var base = Duration.milliseconds(200)
    var cap = Duration.seconds(20)

    /// The longest pause before that retry (the first is 1).
    func longest(beforeRetry retry: Int) -> Duration {
        // Beyond 2^40 the cap has long been reached, whatever the base.
        let factor = 1 << min(max(retry - 1, 0), 40)
        let (nanoseconds, overflow) = base.wholeNanoseconds.multipliedReportingOverflow(by: Int64(factor))
        return overflow ? cap : min(cap, .nanoseconds(nanoseconds))
    }

    /// The pause before that retry; `random` is from 0 up to 1.
    func pause(beforeRetry retry: Int, random: Double) -> Duration {
        .nanoseconds(Int64(Double(longest(beforeRetry: retry).wholeNanoseconds) * random))
    }
}
