package import Errand
package import ErrandTesting

/// Creates a client of `https://api.test` in virtual time, without a limit unless `configure` sets one.
package func testClient(
    _ network: any Transport, _ clock: TestClock = TestClock(), _ configure: (inout Configuration) -> Void = { _ in }
) -> APIClient {
    var configuration = Configuration(ServerEnvironment(name: "test", baseURL: "https://api.test"))
    configuration.transport = network
    configuration.time = clock
    configuration.rateLimit = .unlimited
    configure(&configuration)
    return APIClient(configuration)
}
