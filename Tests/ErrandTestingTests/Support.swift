import Errand
import ErrandTesting

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
