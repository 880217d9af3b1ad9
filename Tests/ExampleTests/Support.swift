import Errand
import ErrandTestSupport
import ExampleServer

/// Creates a client that sees every response: without a limit of its own, and with one attempt.
func plainClient(_ url: String, _ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
    var configuration = Configuration(ServerEnvironment(name: "example", baseURL: url))
    configuration.rateLimit = .unlimited
    configuration.retry = .never
    // Real time: a busy machine must not fail the test.
    configuration.timeout = .seconds(60)
    configure(&configuration)
    return APIClient(configuration)
}

/// Creates a server without a request limit.
func patientServer(
    _ configure: (inout ExampleServer.Settings) -> Void = { _ in }
) throws -> ExampleServer {
    try ExampleServer {
        $0.requestLimit = nil
        configure(&$0)
    }
}

extension Result where Failure == ServiceError, Success: Sendable {
    var error: ServiceError? {
        if case .failure(let error) = self { error } else { nil }
    }
}

extension APIClient {
    /// Returns the error of a call; `nil` if it succeeds.
    func failure<Response>(of endpoint: Endpoint<Response>) async -> ServiceError? {
        await Result { () async throws(ServiceError) in try await run(endpoint) }.error
    }
}
