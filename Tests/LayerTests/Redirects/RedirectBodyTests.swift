import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Redirects and the body")
struct RedirectBodyTests {
    @Test("C52: a body that can be sent only once is not sent to the redirect's target", arguments: [307, 308])
    func oneShotBody(status: Int) async throws {
        struct OneShot: Middleware {
            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                var request = request
                request.body = .stream(HTTPBody.bytes(Data("once".utf8)).chunks)
                return try await next(request, context)
            }
        }
        let network = scripted()
        network.on(.post, "/a") { .status(status, headers: ["Location": "/b"]) }
        let client = testClient(network, TestClock()) { $0.callMiddlewares = [OneShot()] }
        let error = try await #require(throws: ServiceError.self) { try await client.run(Endpoint<Int>.post("a")) }
        #expect(error.status == status)
        #expect(error.description.contains("the body can be sent only once)"))
        #expect(network.sent.map(\.body) == [Data("once".utf8)])
    }
}
