import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("An observer beside the stream of events")
struct ObserverTests {
    @TaskLocal static var trace = "none"

    private struct Tracing: Middleware {
        let seen: Noted<[String]>

        func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
            seen.update { $0.append("middleware \(ObserverTests.trace)") }
            return try await next(request, context)
        }
    }

    @Test("it has got every event in order when the call returns, and sees the caller's task-local values")
    func order() async throws {
        let (network, seen) = (scripted(), Noted<[String]>([]))
        network.onAny { .json("1") }
        let client = testClient(network) {
            $0.attemptMiddlewares = [Tracing(seen: seen)]
            $0.observe = { event in
                let name = "\(event.kind)".prefix { $0 != "(" }
                seen.update { $0.append("\(name) \(Self.trace)") }
            }
        }
        let _: Int = try await Self.$trace.withValue("t7") { try await client.run(.get("x")) }
        #expect(seen.value == ["began t7", "middleware t7", "sent t7", "answered t7", "succeeded t7"])
    }
}
