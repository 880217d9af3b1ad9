import Errand
import Foundation

/// A machine's clock that runs faster or slower than others, by that factor.
struct SkewedTime: TimeSource {
    private let time: any TimeSource = .system
    private let start: Instant
    private let rate: Double

    init(rate: Double) {
        self.rate = rate
        start = time.now
    }

    var now: Instant { start.advanced(by: start.duration(to: time.now) * rate) }
    var date: Date { time.date }
    var executor: (any TaskExecutor)? { nil }

    func random() -> UInt64 { time.random() }

    func schedule(
        at instant: Instant, for purpose: Alarm.Purpose, _ action: @escaping @Sendable () -> Void
    ) -> Alarm {
        // A nanosecond more, so that the alarm does not fire before the instant.
        let wait = start.duration(to: instant) / rate + .nanoseconds(1)
        return time.schedule(at: start.advanced(by: wait), for: purpose, action)
    }
}
