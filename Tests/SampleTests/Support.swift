import ErrandTesting
import Testing

/// A scripted transport whose mismatches fail the test.
func scripted() -> ScriptedTransport {
    ScriptedTransport()
}

/// Takes the place of Swift's function in the samples: what they print is for their readers, not for the log of a test.
func print(_ items: Any..., separator: String = " ", terminator: String = "\n") {}
