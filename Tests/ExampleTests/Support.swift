import Errand
import ErrandTestSupport
import ExampleServer

/// A client that meets each answer as it comes: without a limit of its own, and with one attempt.
func plainClient(_ url: String, _ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
    var configuration = Configuration(ServerEnvironment("example", url))
    configuration.rateLimit = .unlimited
    configuration.retry = .never
    // Real time: a busy machine is no reason to fail.
    configuration.timeout = .seconds(60)
    configure(&configuration)
    return APIClient(configuration)
}

/// A server that takes any number of requests.
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
    /// How a call fails; `nil` if it does not.
    func failure<Response>(of endpoint: Endpoint<Response>) async -> ServiceError? {
        await Result { () async throws(ServiceError) in try await run(endpoint) }.error
    }
}
