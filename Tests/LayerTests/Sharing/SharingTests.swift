@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Equal requests that share a transmission", .timeLimit(.minutes(10))) struct SharingTests {
    private let clock = TestClock()
    private let network = scripted()
    private let endpoint = Endpoint<Int>.get("x")

    private func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        testClient(network, clock) {
            $0.sharesEqualRequests = true
            configure(&$0)
        }
    }

    private func run(_ endpoint: Endpoint<Int>, _ client: APIClient) async -> Result<Int, ServiceError> {
        await Result { () async throws(ServiceError) in try await client.run(endpoint) }
    }

    private func outcomes(
        of count: Int, _ endpoint: Endpoint<Int>, _ client: APIClient
    ) async -> [Result<Int, ServiceError>] {
        await withTaskGroup(of: Result<Int, ServiceError>.self) { group in
            for _ in 0..<count { group.addTask { await run(endpoint, client) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private struct Counting: Middleware {
        let seen: Noted<Int>

        func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
            let response = try await next(request, context)
            seen.update { $0 += 1 }
            return response
        }
    }

    // MARK: What is shared

    @Test("K8: ten equal calls at once are one send, with one permit; each has the value and its own events")
    func ten() async throws {
        network.on(.get, "/x") { ScriptedReply.json("1").after(.seconds(5)) }
        let events = Noted<[ClientEvent]>([])
        let client = client {
            $0.rateLimit = .requests(1, per: .seconds(100))
            $0.observe = { event in events.update { $0.append(event) } }
        }
        await clock.run {
            #expect(await outcomes(of: 10, endpoint, client) == Array(repeating: .success(1), count: 10))
            #expect(clock.elapsed == .seconds(5))
        }
        try network.verify()
        let sent = events.value.filter { if case .sent = $0.kind { true } else { false } }
        #expect(sent.map(\.call) == [1])
        #expect(events.value.count { $0.kind == .joined(call: 1) } == 9)
        #expect(events.value.count { if case .succeeded(attempts: 1, _) = $0.kind { true } else { false } } == 10)
    }

    @Test("K8: each caller decodes by its own type, and its call middleware sees the response")
    func types() async throws {
        network.on(.get, "/x") { ScriptedReply.json("1").after(.seconds(5)) }
        let seen = Noted(0)
        let client = client {
            $0.callMiddlewares = [Counting(seen: seen)]
        }
        try await clock.run {
            async let number = client.run(endpoint)
            async let optional = client.run(Endpoint<Int?>.get("x"))
            let values = try await [number, optional]
            #expect(values == [1, 1])
        }
        #expect(seen.value == 2)
        try network.verify()
    }

    @Test("K8: a retry is shared too, and an error reaches all who wait")
    func retries() async throws {
        network.on(.get, "/x") {
            ScriptedReply.status(503).after(.seconds(1))
            ScriptedReply.json("1")
        }
        network.on(.get, "/y") { ScriptedReply.failure(.reset).times(3) }
        let client = client()
        await clock.run {
            async let replies = withTaskGroup(of: Int?.self) { group in
                for _ in 0..<5 { group.addTask { try? await client.reply(to: endpoint).attempts } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(await replies == [2, 2, 2, 2, 2])
            for outcome in await outcomes(of: 5, .get("y"), client) {
                #expect("\(outcome)".contains("after 3 attempts"), "\(outcome)")
            }
        }
        try network.verify()
    }

    @Test("a response that has come is not shared with later calls")
    func later() async throws {
        network.on(.get, "/x") {
            ScriptedReply.json("1")
            ScriptedReply.json("2")
        }
        let client = client()
        try await clock.run {
            let values = [try await client.run(endpoint), try await client.run(endpoint)]
            #expect(values == [1, 2])
        }
    }

    @Test("without the setting, each call is a send of its own")
    func off() async throws {
        network.on(.get, "/x") { ScriptedReply.json("1").after(.seconds(5)).times(3) }
        let client = client { $0.sharesEqualRequests = false }
        await clock.run {
            #expect(await outcomes(of: 3, endpoint, client) == Array(repeating: .success(1), count: 3))
        }
        try network.verify()
    }

    // MARK: What is not

    private static let x = Endpoint<Int>.get("x")
    private static let others: [(String, Endpoint<Int>)] = [
        ("another query", .get("x", query: ["a": 1])),
        ("another header", x.header("Accept-Language", "de")),
        ("another method", .head("x")),
        ("a method that acts", .post("x")),
        ("another timeout", x.timeout(.seconds(7))),
        ("another retry policy", x.retry(.never)),
        ("a retry policy with a condition", x.retry(RetryPolicy.standard.retrying { _ in true })),
        ("other redirects", x.redirects(.never)),
        ("redirects with a condition", x.redirects(.following { _ in true })),
        ("more permits", x.permits(2)),
        ("a limiter of its own", x.limiter(RateLimiter(.unlimited))),
        ("no place among the requests at once", x.ignoringConcurrency()),
        ("a server of its own", x.server("https://api.test")),
        ("other statuses", x.accepting(404)),
        ("no-store", x.header("Cache-Control", "max-age=0, No-Store")),
    ]

    @Test("K8: what differs in anything that matters is sent by itself", arguments: 0..<others.count)
    func different(number: Int) async throws {
        let (name, other) = Self.others[number]
        network.onAny(times: 2) { _ in
            try await clock.sleep(for: .seconds(5))
            return .status(200, headers: ["Content-Type": "application/json"])
        }
        let client = client()
        try await clock.run {
            async let one = run(endpoint, client)
            try await clock.sleep(for: .seconds(1))
            async let two = run(other, client)
            _ = await (one, two)
        }
        #expect(network.sent.count == 2, "\(name)")
    }

    @Test("K8: a request with no-store is shared with none of its kind")
    func noStore() async throws {
        network.on(.get, "/x") { ScriptedReply.json("1").after(.seconds(5)).times(3) }
        let client = client()
        await clock.run {
            _ = await outcomes(of: 3, endpoint.header("Cache-Control", "no-store"), client)
        }
        try network.verify()
    }

    @Test("K8: a closure of the client's own configuration decides for all of its calls, so they are shared")
    func conditions() async throws {
        network.on(.get, "/x") { ScriptedReply.json("1").after(.seconds(5)) }
        let client = client {
            $0.retry = .standard.retrying { _ in true }
            $0.redirects = .following { _ in true }
        }
        await clock.run {
            #expect(await outcomes(of: 3, endpoint, client) == Array(repeating: .success(1), count: 3))
        }
        try network.verify()
    }

    @Test("K7, K8: the next user's call is not given what the last user's call is waiting for")
    func sessions() async throws {
        let tokens = TokenStore(time: clock) { $0 }
        network.on(.get, "/x") { request in
            let user = request.headers["Authorization"] == "Bearer one" ? 1 : 2
            try await clock.sleep(for: .seconds(5))
            return .status(200, headers: ["Content-Type": "application/json"], body: "\(user)")
        }
        let client = client { $0.tokens = tokens }
        try await clock.run {
            await tokens.signIn(Token(accessToken: "one"))
            async let first = run(endpoint, client)
            try await clock.sleep(for: .seconds(1))
            await tokens.signIn(Token(accessToken: "two"))
            async let second = run(endpoint, client)
            async let third = run(endpoint, client)
            #expect(await [second, third] == [.success(2), .success(2)])
            #expect(await first != .success(2))
        }
        #expect(network.sent.count == 2)
    }

    @Test("a stream is never shared")
    func streams() async throws {
        network.on(.get, "/x") { ScriptedReply.json("1").after(.seconds(5)).times(2) }
        let client = client()
        try await clock.run {
            async let one = client.stream(endpoint).status
            async let other = client.stream(endpoint).status
            let statuses = try await [one, other]
            #expect(statuses == [200, 200])
        }
        try network.verify()
    }

    // MARK: Leaving

    @Test("K12: the call that began it leaves, and the others are not held up")
    func leaderLeaves() async throws {
        network.on(.get, "/x") { ScriptedReply.json("1").after(.seconds(5)) }
        let client = client()
        try await clock.run {
            let leader = Task(executorPreference: clock.executor) { await run(endpoint, client) }
            try await clock.sleep(for: .seconds(1))
            async let others = outcomes(of: 3, endpoint, client)
            try await clock.sleep(for: .seconds(1))
            leader.cancel()
            #expect(await leader.value == .failure(.cancelled))
            #expect(clock.elapsed == .seconds(2))
            #expect(await others == Array(repeating: .success(1), count: 3))
            #expect(clock.elapsed == .seconds(5))
        }
        try network.verify()
    }

    @Test("K8: each call has its own deadline, which also the one that began it has alone")
    func deadlines() async throws {
        network.on(.get, "/x") { ScriptedReply.json("1").after(.seconds(5)) }
        let client = client()
        await clock.run {
            async let one = run(endpoint.deadline(.seconds(2)), client)
            async let two = run(endpoint.deadline(.seconds(3)), client)
            async let three = run(endpoint, client)
            let outcomes = await [one, two, three]
            #expect(outcomes[2] == .success(1))
            for (outcome, limit) in zip(outcomes, [2, 3]) {
                guard case .failure(.timedOut(let timeout)) = outcome else {
                    Issue.record("\(outcome)")
                    continue
                }
                #expect(timeout.bound == .deadline && timeout.limit == .seconds(limit))
            }
        }
        try network.verify()
    }

    @Test("K8: a call whose deadline comes before the permit waits until then; the others have their response")
    func permitAfterDeadline() async throws {
        network.on(.get, "/x") { ScriptedReply.json("1") }
        let limiter = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        let client = client { $0.limiter = limiter }
        try await limiter.acquire()
        try await clock.run {
            async let patient = run(endpoint, client)
            try await clock.sleep(for: .seconds(1))
            let hurried = await run(endpoint.deadline(.seconds(3)), client)
            #expect(clock.elapsed == .seconds(4))
            let failure = try #require(throws: ServiceError.self) { try hurried.get() }
            guard case .timedOut(let timeout) = failure else { throw failure }
            #expect(timeout.bound == .deadline && !failure.mayHaveReachedServer)
            #expect(await patient == .success(1))
            #expect(clock.elapsed == .seconds(10))
        }
        try network.verify()
    }

    @Test("K8: when the last has left, the send is cancelled, and the next call sends anew")
    func allLeave() async throws {
        let isCancelled = Noted(false)
        network.on(.get, "/x", times: 1) { _ in
            do { try await clock.sleep(for: .seconds(5)) } catch { isCancelled.value = true }
            throw CancellationError()
        }
        let client = client()
        try await clock.run {
            let calls = (0..<3).map { _ in
                Task(executorPreference: clock.executor) { await run(endpoint, client) }
            }
            try await clock.sleep(for: .seconds(1))
            for call in calls { call.cancel() }
            for call in calls {
                let outcome = await call.value
                #expect(outcome == .failure(.cancelled))
            }
            #expect(clock.elapsed == .seconds(1))
            network.on(.get, "/x", .json("2"))
            #expect(try await client.run(endpoint) == 2)
            #expect(isCancelled.value)
        }
    }

    @Test("the shutdown ends it, and waits for its end")
    func shutdown() async throws {
        network.on(.get, "/x") { ScriptedReply.json("1").after(.seconds(5)) }
        let client = client()
        try await clock.run {
            async let calls = outcomes(of: 3, endpoint, client)
            try await clock.sleep(for: .seconds(1))
            await client.shutdown()
            #expect(await calls == Array(repeating: .failure(.cancelled), count: 3))
            #expect(clock.elapsed == .seconds(1) && clock.alarmCount == 0)
        }
    }

    // MARK: Reading one's writes

    @Test("K11: after a write, a call does not join what began before; who has joined keeps the response")
    func write() async throws {
        network.on(.get, "/x") {
            ScriptedReply.json("1").after(.seconds(10))
            ScriptedReply.json("2").after(.seconds(10))
        }
        network.on(.post, "/y", .status(204))
        let client = client()
        try await clock.run {
            async let before = outcomes(of: 2, endpoint, client)
            try await clock.sleep(for: .seconds(1))
            try await client.run(.post("y"))
            async let after = outcomes(of: 2, endpoint, client)
            #expect(await before == [.success(1), .success(1)])
            #expect(await after == [.success(2), .success(2)])
        }
        try network.verify()
    }

    @Test("K11: the same after a write that has failed: the server may have acted", arguments: [true, false])
    func failedWrite(isTimeout: Bool) async throws {
        network.on(.get, "/x") {
            ScriptedReply.json("1").after(.seconds(10))
            ScriptedReply.json("2").after(.seconds(10))
        }
        network.on(.post, "/y", isTimeout ? .json("1").after(.seconds(60)) : .status(500))
        let client = client()
        try await clock.run {
            async let before = run(endpoint, client)
            try await clock.sleep(for: .seconds(1))
            _ = try? await client.run(Endpoint<NoContent>.post("y").timeout(.seconds(2)))
            async let after = run(endpoint, client)
            #expect(await [before, after] == [.success(1), .success(2)])
        }
        try network.verify()
    }
}
