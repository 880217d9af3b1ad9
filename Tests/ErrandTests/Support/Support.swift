import Errand
import ErrandTesting

/// A scripted transport whose mismatches fail the test.
func scripted() -> ScriptedTransport {
    ScriptedTransport()
}

extension Instant {
    /// Creates an instant from a number of milliseconds.
    static func ms(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }
}
