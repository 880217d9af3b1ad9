package import Errand
package import ErrandTesting
import Foundation

/// A test could not see what it is about.
private struct Unexpected: Error {
    let reason: String
}

/// Returns the result that a client gets for a response to a GET.
package func outcome<Response: Decodable & Sendable>(
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
package func refusal<Response>(
    of endpoint: Endpoint<Response>, _ configure: (inout Configuration) -> Void = { _ in }
) async throws -> InvalidRequest {
    let network = scripted()
    let client = testClient(network, TestClock(), configure)
    do throws(ServiceError) {
        _ = try await client.run(endpoint)
    } catch {
        guard network.sent.isEmpty else { throw Unexpected(reason: "the call sent something") }
        guard case .invalidRequest(let invalid) = error else { throw error }
        return invalid
    }
    throw Unexpected(reason: "the call succeeded")
}

/// Returns the request that a client sends for an endpoint, and its body.
package func request<Response>(
    for endpoint: Endpoint<Response>, _ configure: (inout Configuration) -> Void = { _ in }
) async throws -> ScriptedTransport.Sent {
    let network = scripted()
    network.onAny { .status(500) }
    let client = testClient(network, TestClock(), configure)
    let error = await failure { () async throws(ServiceError) in _ = try await client.run(endpoint.retry(.never)) }
    guard let error else { throw Unexpected(reason: "the call succeeded") }
    guard let sent = network.sent.first else { throw error }
    return sent
}

extension ScriptedTransport.Sent {
    /// The body as the members of a JSON object whose values are all strings.
    package var members: [String: String] {
        get throws { try JSONDecoder().decode([String: String].self, from: body) }
    }
}

extension Result where Failure == ServiceError {
    /// The decoding failure, if that is the error.
    package var decodingFailure: DecodingFailure? {
        if case .failure(.decodingFailed(let failure)) = self { failure } else { nil }
    }
}
