import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Whether a call that was redirected is tried again") struct RedirectedRetryTests {
    static let failures: [ServiceError] = [
        .transport(TransportFailure(.refused)), .transport(TransportFailure(.dns)),
        .timedOut(Timeout(.attempt, limit: .seconds(10), phase: .connecting)),
    ]

    /// What is sent when the way on from `/a` fails so.
    private func sent(_ method: HTTPMethod, _ status: Int, key: String? = nil, _ error: ServiceError) async -> [String]
    {
        let (clock, network) = (TestClock(), ScriptedTransport())
        network.on(method, "/a") { ScriptedReply.status(status, headers: ["Location": "/b"]).always }
        network.on(.get, "/b") { ScriptedReply.error(error).always }
        network.on(method, "/b") { ScriptedReply.error(error).always }
        let client = testClient(network, clock)
        var endpoint = Endpoint<NoContent>(method, "a", body: .json([1]))
        endpoint.options.idempotencyKey = key.map { .fixed($0) }
        let call = endpoint
        await clock.run {
            let thrown = await #expect(throws: ServiceError.self) { _ = try await client.run(call) }
            // 307 and 308 leave the request to another.
            #expect(thrown?.mayHaveReachedServer == (status < 307))
        }
        return network.sent.map { "\($0.request.method) \($0.request.url.path)" }
    }

    @Test(
        "C10: a POST that was answered by a redirect is not sent again because the way on failed",
        arguments: [301, 302, 303], failures)
    func posted(status: Int, error: ServiceError) async {
        #expect(await sent(.post, status, error) == ["POST /a", "GET /b"])
        #expect(await sent(.post, status, key: "k", error).count == 6)
        #expect(await sent(.put, status, error).count == 6)
    }

    @Test("C10: one that was only sent on, by 307 or 308, is", arguments: [307, 308], failures)
    func sentOn(status: Int, error: ServiceError) async {
        #expect(await sent(.post, status, error).count == 6)
    }
}
