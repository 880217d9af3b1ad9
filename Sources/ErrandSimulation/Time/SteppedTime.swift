import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Virtual time in which calls run on the threads of the pool, because a transport that is tested may block its thread.
struct SteppedTime: TimeSource {
    private let clock = TestClock { _ in }

    var now: Instant { clock.now }
    var date: Date { clock.date }
    var executor: (any TaskExecutor)? { nil }

    func random() -> UInt64 { clock.random() }

    func schedule(
        at instant: Instant, for purpose: Alarm.Purpose, _ action: @escaping @Sendable () -> Void
    ) -> Alarm {
        clock.schedule(at: instant, for: purpose, action)
    }

    /// Advances time, past the alarms on the way.
    func advance(by duration: Duration) async {
        await clock.advance(by: duration)
    }
}
