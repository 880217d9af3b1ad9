import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Whether a call is retried") struct RetryDecisionTests {
    private static let safe: [HTTPMethod] = [.get, .head, .put, .delete, .options]
    private static let unsafe: [HTTPMethod] = [.post, .patch]

    /// Returns how many attempts a call makes if every attempt ends in this way.
    private func attempts(
        _ method: HTTPMethod, key: String? = nil, _ reply: ScriptedReply,
        _ configure: (inout Configuration) -> Void = { _ in }
    ) async -> Int {
        let (clock, network) = (TestClock(seed: 7), ScriptedTransport())
        network.onAny { reply.always }
        let client = testClient(network, clock, configure)
        var endpoint = Endpoint<NoContent>(method, "x")
        endpoint.options.idempotencyKey = key.map { .fixed($0) }
        let call = endpoint
        await clock.run {
            await #expect(throws: ServiceError.self) { _ = try await client.run(call) }
        }
        return network.sent.count
    }

    @Test("C13: these statuses are retried, if that is safe", arguments: [408, 429, 500, 502, 503, 504], safe)
    func transient(status: Int, method: HTTPMethod) async {
        #expect(await attempts(method, .status(status)) == 3)
    }

    @Test("C13: these are not", arguments: [400, 401, 403, 404, 409, 410, 422, 425, 451, 501, 505, 507, 599], safe)
    func final(status: Int, method: HTTPMethod) async {
        #expect(await attempts(method, .status(status)) == 1)
    }

    @Test("C10: a status that leaves open what was done is retried with a key only", arguments: unsafe)
    func keys(method: HTTPMethod) async {
        for status in [408, 429, 500, 502, 503, 504] {
            #expect(await attempts(method, .status(status)) == 1)
            #expect(await attempts(method, key: "k", .status(status)) == 3)
        }
    }

    @Test("C10: a failure is retried by its kind, its method and its key", arguments: TransportFailure.Kind.allCases)
    func failures(kind: TransportFailure.Kind) async {
        let isTransient: Bool =
            switch kind {
            case .dns, .refused, .unreachable, .reset, .tls, .proxy, .truncated, .outOfResources, .storage: true
            default: false
            }
        let isBeforeSending: Bool =
            switch kind {
            case .dns, .refused, .unreachable, .tls, .proxy, .outOfResources, .storage: true
            default: false
            }
        for method in Self.safe { #expect(await attempts(method, .failure(kind)) == (isTransient ? 3 : 1)) }
        for method in Self.unsafe {
            #expect(await attempts(method, .failure(kind)) == (isTransient && isBeforeSending ? 3 : 1))
            #expect(await attempts(method, key: "k", .failure(kind)) == (isTransient ? 3 : 1))
        }
    }

    @Test("C10: the failure itself says whether the request may have reached the server")
    func reachedServer() async {
        #expect(await attempts(.post, .failure(.reset, mayHaveReachedServer: false)) == 3)
        #expect(await attempts(.post, .failure(.refused, mayHaveReachedServer: true)) == 1)
    }

    @Test("an attempt that timed out after its request was sent is retried once, if that is safe")
    func timeouts() async {
        #expect(await attempts(.get, .silence) == 2)
        #expect(await attempts(.post, .silence) == 1)
        #expect(await attempts(.post, key: "k", .silence) == 2)
    }

    @Test("the policy says how often a timeout is retried", arguments: [(0, 1), (1, 2), (2, 3), (9, 3)])
    func timeoutRetries(retries: Int, sends: Int) async {
        #expect(
            await attempts(.get, .silence) { $0.retry = RetryPolicy(attempts: 3, timeoutRetries: retries) } == sends)
    }

    @Test("a timeout takes nothing from the retries after other failures, and a timeout while connecting counts as one")
    func otherFailures() async throws {
        let (clock, network) = (TestClock(seed: 7), scripted())
        let connecting = ServiceError.timedOut(Timeout(.attempt, limit: .seconds(1), phase: .connecting))
        network.on(.get, "/x") {
            ScriptedReply.error(connecting).times(2)
            ScriptedReply.silence
            ScriptedReply.status(503)
            ScriptedReply.status(503)
            ScriptedReply.json("1")
        }
        let client = testClient(network, clock) { $0.retry = RetryPolicy(attempts: 6) }
        #expect(try await clock.run { try await client.run(Endpoint<Int>.get("x")) } == 1)
        #expect(network.sent.count == 6)
    }

    @Test("a policy with a negative number of retries after a timeout is refused, and nothing is sent")
    func negativeTimeoutRetries() async {
        #expect(await attempts(.get, .silence) { $0.retry = RetryPolicy(attempts: 3, timeoutRetries: -1) } == 0)
    }

    @Test("errors that a second attempt cannot change are not retried")
    func hopeless() async {
        for error in [ServiceError.cancelled, .noInternetConnection, .signInRequired] {
            #expect(await attempts(.get, .error(error)) == 1)
        }
        #expect(await attempts(.get, .error(CancellationError())) == 1)
        #expect(
            await attempts(
                .get, .error(DecodingError.valueNotFound(Int.self, .init(codingPath: [], debugDescription: "")))) == 1)
    }

    @Test("C18: a call whose response cannot be decoded is not retried")
    func decodingFailed() async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/x") { .json("{") }
        let client = testClient(network, clock)
        let error = await #expect(throws: ServiceError.self) { let _: [Int] = try await client.run(.get("x")) }
        #expect(error?.debugDescription.contains(": decodingFailed(") == true)
        try network.verify()
    }

    @Test("C18: a body that can be streamed once is sent once; one that can be opened again, again")
    func oneShotBodies() async {
        struct Streaming: Middleware {
            let isReplayable: Bool
            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                var request = request
                let open = { @Sendable in
                    HTTPBody.Chunks { continuation in
                        continuation.yield(Data("part".utf8))
                        continuation.finish()
                    }
                }
                request.body = isReplayable ? .stream(opening: open) : .stream(open())
                return try await next(request, context)
            }
        }
        let once = await attempts(.put, .status(503)) { $0.callMiddlewares = [Streaming(isReplayable: false)] }
        let often = await attempts(.put, .status(503)) { $0.callMiddlewares = [Streaming(isReplayable: true)] }
        #expect([once, often] == [1, 3])
    }

    @Test("a policy's number of attempts is respected, and zero attempts are reported", arguments: [1, 2, 5, 0, -3])
    func number(attempts limit: Int) async {
        let sent = await attempts(.get, .status(503)) { $0.retry = RetryPolicy(attempts: limit) }
        #expect(sent == max(limit, 0))
    }
}
