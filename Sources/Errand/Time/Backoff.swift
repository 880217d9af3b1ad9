/// The delay before a retry: a random fraction of a duration that doubles with each retry, so that calls that failed
/// together do not retry together.
struct Backoff: Sendable, Hashable {
    var base = Duration.milliseconds(200)
    var cap = Duration.seconds(20)

    /// Returns the longest pause before a retry; the first retry is number 1.
    func longest(beforeRetry retry: Int) -> Duration {
        // Beyond 2^40 the cap has been reached, whatever the base.
        let factor = 1 << min(max(retry - 1, 0), 40)
        let (nanoseconds, overflow) = base.wholeNanoseconds.multipliedReportingOverflow(by: Int64(factor))
        return overflow ? cap : min(cap, .nanoseconds(nanoseconds))
    }

    /// Returns the pause before a retry; `random` is at least 0 and less than 1.
    func pause(beforeRetry retry: Int, random: Double) -> Duration {
        .nanoseconds(Int64(Double(longest(beforeRetry: retry).wholeNanoseconds) * random))
    }
}
