import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Whether a redirected call is retried") struct RedirectedRetryTests {
    static let failures: [ServiceError] = [
        .transport(TransportFailure(.refused)), .transport(TransportFailure(.dns)),
        .timedOut(Timeout(.attempt, limit: .seconds(10), phase: .connecting)),
    ]

    /// Returns what is sent if the request after the redirect from `/a` fails in this way.
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
            // 307 and 308 leave the request to another server.
            #expect(thrown?.mayHaveReachedServer == (status < 307))
        }
        return network.sent.map { "\($0.request.method) \($0.request.url.path)" }
    }

    @Test(
        "C10: a POST that was redirected to a GET is not retried if that GET fails",
        arguments: [301, 302, 303], failures)
    func posted(status: Int, error: ServiceError) async {
        #expect(await sent(.post, status, error) == ["POST /a", "GET /b"])
        #expect(await sent(.post, status, key: "k", error).count == 6)
        #expect(await sent(.put, status, error).count == 6)
    }

    @Test("C10: a POST that was only passed on, by 307 or 308, is retried", arguments: [307, 308], failures)
    func sentOn(status: Int, error: ServiceError) async {
        #expect(await sent(.post, status, error).count == 6)
    }
}
