import ErrandTesting
import Testing

/// A scripted transport whose mismatches fail the test.
func scripted() -> ScriptedTransport {
    ScriptedTransport()
}
