import Errand
import ErrandTesting
import Testing

/// A scripted transport whose mismatches fail the test.
func scripted() -> ScriptedTransport {
    ScriptedTransport { Issue.record("\($0)") }
}

/// A client of `https://api.test` in virtual time, without a limit, unless `configure` says otherwise.
func testClient(
    _ network: any Transport, _ clock: TestClock, _ configure: (inout Configuration) -> Void = { _ in }
) -> APIClient {
    var configuration = Configuration(ServerEnvironment("test", "https://api.test"))
    configuration.transport = network
    configuration.time = clock
    configuration.rateLimit = .unlimited
    configure(&configuration)
    return APIClient(configuration)
}
