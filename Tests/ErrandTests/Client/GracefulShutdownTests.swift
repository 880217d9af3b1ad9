import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A shutdown that lets calls finish", .timeLimit(.minutes(10))) struct GracefulShutdownTests {
    private let clock = TestClock()
    private let network = ScriptedTransport()

    private func call(_ client: APIClient, _ path: EndpointPath = "x") -> Task<Int, any Error> {
        Task(executorPreference: clock.executor) { try await client.run(Endpoint<Int>.get(path)) }
    }

    @Test("running calls finish, new ones are refused at once, and it returns when the last has ended")
    func finishing() async throws {
        network.on(.get, "/x", .status(503), .json("1").after(.seconds(4)))
        let client = testClient(network, clock)
        try await clock.run {
            let running = call(client)
            try await clock.sleep(for: .milliseconds(1))
            let shutdown = Task(executorPreference: clock.executor) {
                await client.shutdown(within: .seconds(10))
                return clock.elapsed
            }
            try await clock.sleep(for: .milliseconds(1))
            let error = await #expect(throws: ServiceError.self) { try await client.run(.get("x")) }
            guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
            #expect(invalid.subject == .clientShutDown)
            #expect(clock.elapsed == .milliseconds(2))
            #expect(try await running.value == 1)
            let end = clock.elapsed
            #expect(await shutdown.value == end)
            #expect(end < .seconds(5))
        }
        #expect(clock.sleepers == 0)
    }

    @Test("what still runs at the limit is cancelled, a stream that nobody reads too")
    func limit() async throws {
        network.on(.get, "/x", .silence)
        network.on(.get, "/log") { ScriptedReply.chunks([Data("a".utf8)], every: .seconds(1)).thenSilence }
        let client = testClient(network, clock)
        try await clock.run {
            let running = call(client)
            let response = try await client.stream(.get("log"))
            try await clock.sleep(for: .seconds(1))
            await client.shutdown(within: .seconds(10))
            #expect(clock.elapsed == .seconds(11))
            await #expect(throws: ServiceError.cancelled) { try await running.value }
            await #expect(throws: ServiceError.cancelled) { for try await _ in response.chunks {} }
        }
    }

    @Test("a running call that waits above the shared requests still begins one, and finishes")
    func sharing() async throws {
        struct Slow: Middleware {
            func intercept(
                _ request: HTTPRequest, _ context: CallContext, next: Next
            ) async throws -> HTTPResponse {
                try await context.time.sleep(for: .seconds(2))
                return try await next(request, context)
            }
        }
        network.on(.get, "/x", .json("1"))
        let client = testClient(network, clock) {
            $0.sharesEqualRequests = true
            $0.callMiddlewares = [Slow()]
        }
        try await clock.run {
            let running = call(client)
            try await clock.sleep(for: .milliseconds(1))
            await client.shutdown(within: .seconds(10))
            #expect(try await running.value == 1)
            #expect(clock.elapsed == .seconds(2))
        }
    }

    @Test("without calls it returns at once, and a second shutdown too")
    func idle() async throws {
        let client = testClient(network, clock)
        await clock.run {
            await client.shutdown(within: .seconds(10))
            await client.shutdown(within: .seconds(10))
            await client.shutdown()
            #expect(clock.elapsed == .zero)
        }
        await #expect(throws: ServiceError.self) { try await client.run(.get("x")) }
    }

    @Test("a shutdown without grace, a shorter one and the end of the waiting task cut it short", arguments: 0..<3)
    func cutShort(how: Int) async throws {
        network.on(.get, "/x", .silence)
        let client = testClient(network, clock)
        try await clock.run {
            let running = call(client)
            try await clock.sleep(for: .seconds(1))
            let shutdown = Task(executorPreference: clock.executor) { await client.shutdown(within: .seconds(60)) }
            try await clock.sleep(for: .seconds(1))
            switch how {
            case 0: await client.shutdown()
            case 1: await client.shutdown(within: .zero)
            default: shutdown.cancel()
            }
            await shutdown.value
            #expect(clock.elapsed == .seconds(2))
            await #expect(throws: ServiceError.cancelled) { try await running.value }
        }
    }

    @Test("a refresh that a running call needs may begin, with the same client")
    func refreshing() async throws {
        network.on(.get, "/x", .status(401).after(.seconds(2)), .json("1"))
        network.on(.post, "/token") { ScriptedReply.json(#"{"access_token": "b", "expires_in": 3600}"#) }
        let (clock, found) = (clock, Noted<APIClient?>(nil))
        let tokens = TokenStore(persistence: .memory, time: clock) { old in
            guard let client = found.value else { throw ServiceError.signInRequired }
            let endpoint = Endpoint<[String: JSONValue]>.post("token").authentication(.none)
            let answer = try await client.run(endpoint)
            return Token(accessToken: answer["access_token"]?.string ?? "", refreshToken: old.refreshToken)
        }
        await tokens.signIn(Token(accessToken: "a", refreshToken: "r"))
        let client = testClient(network, clock) { $0.tokens = tokens }
        found.value = client
        try await clock.run {
            let running = call(client)
            try await clock.sleep(for: .seconds(1))
            await client.shutdown(within: .seconds(30))
            #expect(try await running.value == 1)
            #expect(clock.elapsed == .seconds(2))
        }
        found.value = nil
        try network.verify()
    }
}
