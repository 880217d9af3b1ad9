import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Returns the result that a client gets for a response to a GET.
func outcome<Response: Decodable & Sendable>(
    _ reply: ScriptedReply, as type: Response.Type, below keys: String...
) async throws -> Result<Response, ServiceError> {
    let network = scripted()
    network.onAny { reply }
    var endpoint = Endpoint<Response>.get("x").retry(.never)
    for key in keys { endpoint = endpoint.unwrapping(key) }
    do throws(ServiceError) {
        return .success(try await testClient(network, TestClock()).run(endpoint))
    } catch {
        return .failure(error)
    }
}

/// Returns the error of a call that must not send anything.
func refusal<Response>(
    of endpoint: Endpoint<Response>, _ configure: (inout Configuration) -> Void = { _ in }
) async throws -> InvalidRequest {
    let network = scripted()
    let client = testClient(network, TestClock(), configure)
    let error = try await #require(throws: ServiceError.self) { try await client.run(endpoint) }
    #expect(network.sent.isEmpty)
    guard case .invalidRequest(let invalid) = error else { throw error }
    return invalid
}

/// Returns the request that a client sends for an endpoint, and its body.
func request<Response>(
    for endpoint: Endpoint<Response>, _ configure: (inout Configuration) -> Void = { _ in }
) async throws -> ScriptedTransport.Sent {
    let network = scripted()
    network.onAny { .status(500) }
    let client = testClient(network, TestClock(), configure)
    await #expect(throws: ServiceError.self) { try await client.run(endpoint.retry(.never)) }
    return try #require(network.sent.first)
}

extension ScriptedTransport.Sent {
    /// The body as the members of a JSON object whose values are all strings.
    var members: [String: String] {
        get throws { try JSONDecoder().decode([String: String].self, from: body) }
    }
}

extension Result where Failure == ServiceError {
    /// The decoding failure, if that is the error.
    var decodingFailure: DecodingFailure? {
        if case .failure(.decodingFailed(let failure)) = self { failure } else { nil }
    }
}
