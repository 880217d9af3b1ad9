#if os(Linux)
@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Permits that end", .timeLimit(.minutes(10))) struct PermitEndTests {
    @Test(
        "F4: a request whose permit ended while the connection was opened is not sent, and the next attempt is",
        .enabled(if: InstalledLibrary.announcesRequests, InstalledLibrary.announcesNothing))
    func endsWhileConnecting() async throws {
        let server = try LoopbackServer()
        defer { server.close() }
        server.on(.post, "/a") { _ in .status(204) }
        let permits = EndingPermits(ends: [.zero, .distantFuture])
        let limiter = RateLimiter(.requests(5, per: .seconds(1)), of: permits, time: .system)
        let failures = Noted<[ServiceError]>([])
        let client = APIClient(server.baseURL) {
            $0.transport = CurlTransport()
            $0.limiter = limiter
            $0.retry = RetryPolicy(attempts: 2)
            $0.attemptMiddlewares = [NoteFailures(failures: failures)]
        }
        try await client.run(Endpoint<NoContent>.post("/a"))
        #expect(server.received.count == 1)
        let failure = try #require(failures.value.first)
        #expect("\(failure)".contains("ended before the request was sent"))
        #expect(!failure.mayHaveReachedServer)
        await client.shutdown()
    }
}

private struct NoteFailures: Middleware {
    let failures: Noted<[ServiceError]>

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
        do throws(ServiceError) {
            return try await next(request, context)
        } catch {
            failures.update { $0.append(error) }
            throw error
        }
    }
}
#endif
