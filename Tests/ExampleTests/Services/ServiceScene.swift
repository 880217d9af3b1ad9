import Errand
import ErrandTesting
import ExampleServer
import ExampleServices
import Testing

/// A scripted network that reports what it did not expect.
func script() -> ScriptedTransport {
    ScriptedTransport { Issue.record("\($0)") }
}

/// The rules of a client that speaks to `network` in virtual time.
func scripted(_ network: ScriptedTransport, _ clock: TestClock) -> @Sendable (inout Configuration) -> Void {
    {
        $0.transport = network
        $0.time = clock
        $0.retry = .never
    }
}

/// The rules of a client that speaks to a real server: as many calls as a test has, and real time is no reason to fail.
let overTheWire: @Sendable (inout Configuration) -> Void = {
    $0.rateLimit = .unlimited
    $0.retry = .never
    $0.timeout = .seconds(60)
}

/// The error with which the operation ends, if it does.
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
    /// What the server said, and with which status.
    var refusal: (status: Int, message: String?)? {
        switch self {
        case .rejected(let rejection), .serverFailure(let rejection): (rejection.status, rejection.message)
        default: nil
        }
    }
}
