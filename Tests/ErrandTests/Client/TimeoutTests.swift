@testable import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Timeouts and deadlines", .timeLimit(.minutes(10))) struct TimeoutTests {
    private let clock = TestClock()
    private let network = ScriptedTransport()

    /// Runs the call and returns its error, and when it was thrown.
    private func failure(
        _ endpoint: Endpoint<Int>, of client: APIClient
    ) async -> (error: ServiceError?, at: Duration) {
        await clock.run {
            let error = await #expect(throws: ServiceError.self) { _ = try await client.run(endpoint) }
            return (error, clock.elapsed)
        }
    }

    @Test("C23: a timeout of 300 ms fires at 300 ms, and says what it interrupted")
    func attemptTimeout() async {
        network.onAny { .silence }
        let client = testClient(network, clock) { $0.retry = .never }
        let (error, at) = await failure(.get("x").timeout(.milliseconds(300)), of: client)
        #expect(error == .timedOut(Timeout(.attempt, limit: .milliseconds(300), phase: .waitingForResponse)))
        #expect(at == .milliseconds(300))
        #expect(clock.sleepers == 0)
    }

    @Test("C23: a body that does not end within the timeout fails like a late head")
    func bodyTimeout() async {
        network.onAny { .response(HTTPResponse(status: 200, body: .stream(HTTPBody.Chunks { $0.yield(.init()) }))) }
        let client = testClient(network, clock) { $0.retry = .never }
        let (error, at) = await failure(.get("x").timeout(.milliseconds(300)), of: client)
        #expect(error == .timedOut(Timeout(.attempt, limit: .milliseconds(300), phase: .receiving)))
        #expect(at == .milliseconds(300))
    }

    @Test("C23: a timeout of zero sends nothing; an infinite one never fires")
    func edges() async throws {
        network.onAny { ScriptedReply.json("1").after(.seconds(1_000_000_000)).always }
        let client = testClient(network, clock) { $0.retry = .never }
        let (error, at) = await failure(.get("x").timeout(.zero), of: client)
        #expect(error == .timedOut(Timeout(.attempt, limit: .zero, phase: .preparing)))
        #expect(at == .zero)
        #expect(network.sent.isEmpty)
        for endless in [Duration.seconds(Int64.max), .nanoseconds(Int64.max)] {
            let value = try await clock.run { try await client.run(Endpoint<Int>.get("x").timeout(endless)) }
            #expect(value == 1)
        }
    }

    @Test("C23: without a timeout nothing ends a send, whether the client or the endpoint has none")
    func noTimeout() async throws {
        network.onAny { ScriptedReply.json("1").after(.seconds(1_000_000_000)).always }
        let endless = testClient(network, clock) { $0.timeout = nil }
        let limited = testClient(network, clock) { $0.timeout = .seconds(3) }
        for (client, endpoint) in [(endless, Endpoint<Int>.get("x")), (limited, .get("x").timeout(nil))] {
            #expect(try await clock.run { try await client.run(endpoint) } == 1)
            #expect(client.explain(endpoint).contains("timeout:     none\n"))
        }
        let (error, at) = await failure(.get("x").timeout(.seconds(2)).retry(.never), of: endless)
        #expect(error == .timedOut(Timeout(.attempt, limit: .seconds(2), phase: .waitingForResponse)))
        #expect(at == .seconds(2_000_000_002))
        #expect(endless.description.contains("timeout none,") && limited.description.contains("timeout 3 s,"))
        #expect(clock.sleepers == 0)
    }

    @Test("C17: without a timeout a silent send ends at the deadline, and an endpoint can do without that too")
    func noDeadline() async throws {
        network.onAny { ScriptedReply.json("1").after(.seconds(60)).always }
        let client = testClient(network, clock) { ($0.timeout, $0.deadline) = (nil, .seconds(3)) }
        let (error, at) = await failure(.get("x"), of: client)
        #expect(error == .timedOut(Timeout(.deadline, limit: .seconds(3), phase: .waitingForResponse)))
        #expect(at == .seconds(3))
        #expect(try await clock.run { try await client.run(Endpoint<Int>.get("x").deadline(nil)) } == 1)
    }

    @Test("C23: a pause in the body of a stream may last, if there is no timeout")
    func streamWithoutTimeout() async throws {
        network.onAny { ScriptedReply.chunks([Data("a\n".utf8)], every: .seconds(600)).thenSilence }
        let client = testClient(network, clock) { ($0.timeout, $0.deadline) = (nil, .seconds(1000)) }
        let (lines, error) = await clock.run {
            var lines: [String] = []
            do throws(ServiceError) {
                for try await line in try await client.stream(.get("x")).lines { lines.append(line) }
                return (lines, ServiceError?.none)
            } catch {
                return (lines, error)
            }
        }
        #expect(lines == ["a"])
        #expect(error == .timedOut(Timeout(.deadline, limit: .seconds(1000), phase: .receiving)))
    }

    @Test("negative limits are reported before anything is sent")
    func negative() async {
        let client = testClient(network, clock)
        for endpoint in [Endpoint<Int>.get("x").timeout(.seconds(-1)), .get("x").deadline(.seconds(-1))] {
            let (error, _) = await failure(endpoint, of: client)
            #expect(error?.debugDescription.hasPrefix("GET x: invalidRequest(configuration") == true)
        }
        #expect(network.sent.isEmpty)
    }

    @Test("C17: a deadline of zero sends nothing")
    func zeroDeadline() async {
        let client = testClient(network, clock)
        let (error, _) = await failure(.get("x").deadline(.zero), of: client)
        #expect(error == .timedOut(Timeout(.deadline, limit: .zero, phase: .preparing)))
        #expect(network.sent.isEmpty)
    }

    @Test("C17: the deadline passes while waiting for the response, before the attempt's own timeout")
    func inAttempt() async {
        network.onAny { .silence }
        let client = testClient(network, clock) { $0.deadline = .seconds(3) }
        let (error, at) = await failure(.get("x"), of: client)
        #expect(error == .timedOut(Timeout(.deadline, limit: .seconds(3), phase: .waitingForResponse)))
        #expect(at == .seconds(3))
    }

    @Test("C17: it covers all attempts and the pauses between them")
    func acrossAttempts() async {
        network.onAny { ScriptedReply.silence.always }
        let client = testClient(network, clock) {
            $0.retry = RetryPolicy(
                attempts: 9, base: .milliseconds(1), cap: .milliseconds(1), timeoutRetries: 8)
        }
        let (error, at) = await failure(.get("x").timeout(.seconds(2)).deadline(.seconds(5)), of: client)
        #expect(error == .timedOut(Timeout(.deadline, limit: .seconds(5), phase: .waitingForResponse)))
        #expect(at == .seconds(5))
        #expect(network.sent.count == 3)
    }

    @Test("C17: a permit that cannot come in time is refused at once")
    func inLine() async {
        network.onAny { ScriptedReply.json("1").always }
        let client = testClient(network, clock) { $0.rateLimit = .requests(1, per: .seconds(10)) }
        _ = await Result(of: { () async throws(ServiceError) -> Int in try await client.run(.get("x")) })
        let (error, at) = await failure(.get("x").deadline(.seconds(4)), of: client)
        #expect(error == .rateLimited(RateLimited(retryAfter: .seconds(10))))
        #expect(at == .zero)
    }

    @Test("C17: a call that is overtaken in the queue until it is too late has passed its deadline")
    func overtakenInLine() async {
        network.onAny { ScriptedReply.json("1").always }
        let client = testClient(network, clock) { $0.rateLimit = .requests(1, per: .seconds(10)) }
        let limiter = client.limiter
        await clock.run {
            _ = await Result(of: { () async throws(ServiceError) -> Int in try await client.run(.get("x")) })
            async let late = Result(of: { () async throws(ServiceError) -> Int in
                try await client.run(.get("x").deadline(.seconds(14)))
            })
            try? await clock.sleep(for: .seconds(1))
            async let urgent = Result(of: { () async throws(ServiceError) in try await limiter.acquire(isUrgent: true) }
            )
            let limit = Timeout(.deadline, limit: .seconds(14), phase: .waitingForPermit)
            #expect(await late == .failure(.timedOut(limit)))
            #expect(clock.elapsed == .seconds(14))
            #expect(await urgent == .success(.seconds(9)))
        }
        #expect(limiter.snapshot.waiters == 0)
    }

    @Test("C17: it passes while waiting for a token; the refresh continues for the others")
    func inRefresh() async {
        network.onAny { ScriptedReply.json("1").always }
        let (clock, isRefreshed) = (clock, Noted(false))
        let store = TokenStore(time: clock) { _ in
            try await clock.sleep(for: .seconds(20))
            isRefreshed.value = true
            return Token(accessToken: "new")
        }
        await store.signIn(Token(accessToken: "old", expiry: clock.date.addingTimeInterval(-1)))
        let client = testClient(network, clock) { $0.tokens = store }
        let (error, at) = await failure(.get("x").deadline(.seconds(3)), of: client)
        #expect(error == .timedOut(Timeout(.deadline, limit: .seconds(3), phase: .waitingForToken)))
        #expect(at == .seconds(3))
        #expect(network.sent.isEmpty)
        try? await clock.run { try await clock.sleep(for: .seconds(60)) }
        #expect(isRefreshed.value)
    }

    @Test("C17: it passes while waiting for the network")
    func offline() async {
        let client = testClient(network, clock) {
            $0.connectivity = Connectivity { false }
            $0.offline = .wait(upTo: .seconds(60))
        }
        let (error, at) = await failure(.get("x").deadline(.milliseconds(1700)), of: client)
        #expect(error == .timedOut(Timeout(.deadline, limit: .milliseconds(1700), phase: .waitingForNetwork)))
        #expect(at == .milliseconds(1700))
    }

    @Test("C17: it passes in the user's own middleware")
    func inMiddleware() async {
        let client = testClient(network, clock) { $0.callMiddlewares = [Waiting()] }
        let (error, at) = await failure(.get("x").deadline(.milliseconds(70)), of: client)
        #expect(error == .timedOut(Timeout(.deadline, limit: .milliseconds(70), phase: .preparing)))
        #expect(at == .milliseconds(70))
    }

    @Test("C17: a pause before a retry that would reach the deadline is not begun")
    func inBackoff() async {
        network.onAny { ScriptedReply.failure(.refused).after(.seconds(1)).always }
        let client = testClient(network, clock) {
            $0.retry = RetryPolicy(attempts: 50, base: .seconds(64), cap: .seconds(64))
        }
        let (error, at) = await failure(.get("x").deadline(.milliseconds(1001)), of: client)
        #expect(error?.debugDescription.hasPrefix("GET x: transport(refused") == true)
        #expect(at == .seconds(1))
    }
}

/// A middleware that delays every call for ever.
struct Waiting: Middleware {
    func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
        try await context.time.sleep(until: .distantFuture)
        return try await next(request, context)
    }
}
