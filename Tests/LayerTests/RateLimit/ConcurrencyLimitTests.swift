import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("A limit on requests at once", .timeLimit(.minutes(10))) struct ConcurrencyLimitTests {
    private let clock = TestClock()
    private let network = scripted()
    private let call = Endpoint<Int>.get("x")

    private func client(
        _ limit: ConcurrencyLimit, _ configure: (inout Configuration) -> Void = { _ in }
    ) -> APIClient {
        testClient(network, clock) {
            $0.concurrency = limit
            $0.rateLimit = .unlimited
            configure(&$0)
        }
    }

    private var slow: ScriptedReply { .json("1").after(.seconds(1)).always }

    private func outcome(of call: Endpoint<Int>, _ client: APIClient) async -> Result<Int, ServiceError> {
        do throws(ServiceError) { return .success(try await client.run(call)) } catch { return .failure(error) }
    }

    @Test("B12: so many are under way, and the others follow in the order they came")
    func order() async throws {
        network.onAny { slow }
        let client = client(.atMost(2))
        try await clock.run {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<5 {
                    group.addTask { _ = try await client.run(Endpoint<Int>.get("x\(number)")) }
                    // The next one comes later.
                    try await clock.sleep(until: .ms(10 * Int64(number) + 10))
                }
                try await group.waitForAll()
            }
        }
        #expect(network.sent.map(\.request.url.path) == (0..<5).map { "/x\($0)" })
        #expect(network.sent.map(\.at) == [.zero, .ms(10), .ms(1000), .ms(1010), .ms(2000)])
    }

    @Test("B12: with a full queue a call fails at once; it is not retried, and nothing is sent")
    func full() async throws {
        network.onAny { slow }
        let client = client(.atMost(1, queue: 1)) { $0.retry = .standard }
        try await clock.run {
            async let first = client.run(call)
            try await clock.sleep(until: .ms(1))
            async let second = client.run(call)
            try await clock.sleep(until: .ms(2))
            let error = await #expect(throws: ServiceError.self) { try await client.run(call) }
            guard case .transport(let failure) = error else { throw try #require(error) }
            #expect(failure.kind == .overloaded && !failure.mayHaveReachedServer)
            #expect(clock.now == .ms(2))
            _ = try await (first, second)
            // There is room again.
            #expect(try await client.run(call) == 1)
        }
        #expect(network.sent.count == 3)
    }

    @Test("B12: a call waits within its deadline, and the next one follows")
    func deadline() async throws {
        network.onAny { slow }
        let client = client(.atMost(1))
        let late = try await clock.run {
            async let first = client.run(call)
            try await clock.sleep(until: .ms(1))
            let late = await outcome(of: call.deadline(.milliseconds(500)), client)
            #expect(clock.now == .ms(501))
            _ = try await (first, client.run(call))
            return late
        }
        guard case .failure(let error) = late, case .timedOut(let timeout) = error else {
            Issue.record("it did not time out")
            return
        }
        #expect(timeout.phase == .waitingForOthers && !timeout.mayHaveReachedServer)
        #expect(network.sent.map(\.at) == [.zero, .ms(1000)])
    }

    @Test("B12: a call that is canceled leaves the queue, and the next one follows")
    func canceled() async throws {
        network.onAny { slow }
        let client = client(.atMost(1))
        try await clock.run {
            async let first = client.run(call)
            try await clock.sleep(until: .ms(1))
            let outcomes = try await withThrowingTaskGroup(of: Result<Int, ServiceError>.self) { group in
                for _ in 0..<3 { group.addTask { await outcome(of: call, client) } }
                try await clock.sleep(until: .ms(2))
                group.cancelAll()
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes == Array(repeating: .failure(.cancelled), count: 3) && clock.now == .ms(2))
            _ = try await (first, client.run(call))
        }
        #expect(network.sent.map(\.at) == [.zero, .ms(1000)])
    }

    @Test("B12: what ends all calls ends those that wait", arguments: [false, true])
    func endOfAll(shutsDown: Bool) async {
        network.onAny { slow }
        let client = client(.atMost(1))
        await clock.run {
            async let first = outcome(of: call, client)
            async let second = outcome(of: call, client)
            try? await clock.sleep(until: .ms(2))
            if shutsDown { await client.shutdown() } else { client.cancelAll() }
            let outcomes = await [first, second]
            #expect(outcomes == [.failure(.cancelled), .failure(.cancelled)] && clock.now == .ms(2))
        }
        #expect(network.sent.count == 1)
    }

    @Test("B12: a call can ignore the limit, and does not count then")
    func ignoring() async throws {
        network.onAny { slow }
        let client = client(.atMost(1))
        try await clock.run {
            async let others = client.runAll(Array(repeating: call.ignoringConcurrency(), count: 5), atMost: 5)
            try await clock.sleep(until: .ms(1))
            _ = try await client.run(call)
            _ = try await others
        }
        #expect(network.sent.map(\.at) == Array(repeating: .zero, count: 5) + [.ms(1)])
    }

    @Test("B12: a pause before a retry has no place, and a failed attempt gives it back")
    func retries() async throws {
        network.on(.get, "/x", .status(503), .json("1"))
        network.on(.get, "/y", .json("2"))
        let client = client(.atMost(1)) { $0.retry = .standard }
        try await clock.run {
            async let first = client.run(call)
            try await clock.sleep(until: .ms(1))
            #expect(try await client.run(Endpoint<Int>.get("y")) == 2)
            #expect(clock.now == .ms(1))
            #expect(try await first == 1)
        }
    }

    @Test("B12: a stream gives its place back when its head has come")
    func stream() async throws {
        network.onAny { ScriptedReply.json("1").always }
        let client = client(.atMost(1))
        try await clock.run {
            let stream = try await client.stream(.get("x"))
            #expect(try await client.run(call) == 1)
            withExtendedLifetime(stream) {}
        }
    }

    @Test("B12: the call that obtains the token for which the only call waits is sent, also by the same client")
    func refresh() async throws {
        struct Answer: Decodable { let access: String }
        network.on(.post, "/token", .json(#"{"access": "b"}"#))
        network.on(.get, "/x", .json("1"))
        let own = Noted<APIClient?>(nil)
        let tokens = TokenStore(time: clock) {
            let client = try #require(own.value)
            let answer = try await client.run(Endpoint<Answer>.post("token").authentication(.none))
            return Token(accessToken: answer.access)
        }
        let client = client(.atMost(1)) { $0.tokens = tokens }
        own.value = client
        let answer = try await clock.run { try await client.run(call) }
        own.value = nil
        #expect(answer == 1)
        #expect(network.sent.map(\.request.url.path) == ["/token", "/x"])
    }

    @Test(
        "a limit that makes no sense sends nothing and is explained",
        arguments: [ConcurrencyLimit.atMost(0), .atMost(3, queue: -1)])
    func senseless(limit: ConcurrencyLimit) async throws {
        let error = await #expect(throws: ServiceError.self) { try await client(limit).run(call) }
        guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
        #expect(invalid.subject == .configuration)
        #expect(network.sent.isEmpty)
    }
}
