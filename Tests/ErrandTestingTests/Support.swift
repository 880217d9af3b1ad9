import Errand
import ErrandTesting
import Synchronization

/// A value that several tasks of a test write to and read.
final class Noted<Value: Sendable>: Sendable {
    private let storage: Mutex<Value>

    init(_ value: Value) { storage = Mutex(value) }

    var value: Value { storage.withLock { $0 } }

    func update(_ change: (inout Value) -> Void) { storage.withLock { change(&$0) } }
}

extension ScriptedTransport {
    /// Sends a request as a client would.
    func answer(
        _ method: HTTPMethod, _ url: String, clock: TestClock = TestClock()
    ) async throws -> (status: Int, text: String) {
        let response = try await send(
            HTTPRequest(method: method, url: HTTPURL(url)), context: TransportContext(time: clock))
        return (response.status, String(decoding: try await response.body.collect(upTo: 1000), as: UTF8.self))
    }
}
