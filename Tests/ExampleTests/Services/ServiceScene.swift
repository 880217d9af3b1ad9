import Errand
import ErrandTesting
import ExampleServer
import ExampleServices
import Testing

/// Returns a scripted network that reports unexpected requests.
func script() -> ScriptedTransport {
    ScriptedTransport()
}

/// Returns the configuration of a client that uses `network` in virtual time.
func scripted(_ network: ScriptedTransport, _ clock: TestClock) -> @Sendable (inout Configuration) -> Void {
    {
        $0.transport = network
        $0.time = clock
        $0.retry = .never
    }
}

/// The configuration of a client for a real server: no rate limit, and generous timeouts because time is real.
let overTheWire: @Sendable (inout Configuration) -> Void = {
    $0.rateLimit = .unlimited
    $0.retry = .never
    $0.timeout = .seconds(60)
}

/// Returns the error with which the operation ends, if it does.
func failure<Value: Sendable>(
    of operation: () async throws(ServiceError) -> Value
) async -> ServiceError? {
    do throws(ServiceError) {
        _ = try await operation()
        return nil
    } catch {
        return error
    }
}

extension ServiceError {
    /// The server's message and its status.
    var refusal: (status: Int, message: String?)? {
        switch self {
        case .rejected(let rejection), .serverFailure(let rejection): (rejection.status, rejection.message)
        default: nil
        }
    }
}
