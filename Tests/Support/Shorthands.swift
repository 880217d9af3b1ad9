package import Errand
package import ErrandTesting

/// A scripted transport whose mismatches fail the test.
package func scripted() -> ScriptedTransport {
    ScriptedTransport()
}

extension Instant {
    /// Creates an instant from a number of milliseconds.
    package static func ms(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }
}
