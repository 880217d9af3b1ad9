import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("A deadline for several calls", .timeLimit(.minutes(10))) struct DeadlineTests {
    private let clock = TestClock()
    private let network = scripted()
    private let slow = Endpoint<Int>.get("slow")
    private let quick = Endpoint<Int>.get("quick")

    init() {
        network.on(.get, "/slow", ScriptedReply.json("1").after(.seconds(5)).always)
        network.on(.get, "/quick", ScriptedReply.json("2").after(.milliseconds(300)).always)
    }

    private func end(
        _ operation: () async throws -> Int
    ) async -> (limit: Duration?, at: Duration) {
        do {
            _ = try await operation()
            return (nil, clock.elapsed)
        } catch {
            guard case ServiceError.timedOut(let timeout) = error, timeout.bound == .deadline else {
                Issue.record(error)
                return (nil, clock.elapsed)
            }
            return (timeout.limit, clock.elapsed)
        }
    }

    @Test("C17: calls of several clients, of child tasks too, end together, with the limit of all")
    func together() async throws {
        let (one, two) = (testClient(network, clock), testClient(network, clock))
        await clock.run {
            let ends = await Deadline(after: .milliseconds(800), time: clock).run {
                // One after the other, and both at once.
                async let first = end { try await one.run(quick) }
                async let second = end {
                    _ = try await two.run(quick)
                    return try await two.run(slow)
                }
                return await [first, second]
            }
            #expect(ends.map(\.limit) == [nil, .milliseconds(800)])
            #expect(ends.map(\.at) == [.milliseconds(300), .milliseconds(800)])
        }
    }

    @Test(
        "C17: of it and the call's own, the earlier holds; within another, the earlier of the two", arguments: [1, 3])
    func earlier(inner: Int) async throws {
        let client = testClient(network, clock)
        await clock.run {
            let (outside, inside) = (
                Deadline(after: .seconds(2), time: clock), Deadline(after: .seconds(inner), time: clock)
            )
            #expect(outside.remaining == .seconds(2))
            let nested = await outside.run {
                await inside.run { await end { try await client.run(slow) } }
            }
            #expect(nested.at == .seconds(min(2, inner)) && nested.limit == .seconds(min(2, inner)))
            #expect(outside.remaining == max(.zero, .seconds(2) - nested.at))
            let own = await Deadline(after: .seconds(2), time: clock).run {
                await end { try await client.run(slow.deadline(.milliseconds(700))) }
            }
            #expect(own.limit == .milliseconds(700))
        }
    }

    @Test("C17: a call that begins too late sends nothing; one outside has no limit")
    func late() async throws {
        let client = testClient(network, clock)
        try await clock.run {
            let late = await Deadline(after: .seconds(1), time: clock).run {
                try? await clock.sleep(for: .seconds(1))
                return await end { try await client.run(quick) }
            }
            #expect(late.limit == .seconds(1) && late.at == .seconds(1))
            #expect(network.sent.isEmpty)
            let value = try await client.run(slow)
            #expect(value == 1)
        }
    }

    @Test("C17: a stream ends with it as well")
    func streams() async throws {
        network.on(.get, "/feed", .events([ServerSentEvent("a"), ServerSentEvent("b")], every: .seconds(1)).always)
        let client = testClient(network, clock)
        let error = await clock.run {
            await #expect(throws: ServiceError.self) {
                try await Deadline(after: .seconds(30), time: clock).run {
                    for try await _ in client.events(.get("feed")) {}
                }
            }
        }
        guard case .timedOut(let timeout) = error else { throw try #require(error) }
        #expect(timeout.bound == .deadline && timeout.limit == .seconds(30) && clock.elapsed == .seconds(30))
    }

    @Test("T4: a token refresh has no such limit, because other calls wait for it")
    func refresh() async throws {
        network.on(.post, "/token", ScriptedReply.json(#""new""#).after(.seconds(5)))
        let server = testClient(network, clock)
        let tokens = TokenStore(time: clock) { [clock] _ in
            let text = try await server.run(Endpoint<String>.post("token"))
            return Token(accessToken: text, expiry: clock.date.addingTimeInterval(1000))
        }
        await tokens.signIn(Token(accessToken: "old", expiry: clock.date.addingTimeInterval(-1)))
        let client = testClient(network, clock) { $0.tokens = tokens }
        try await clock.run {
            let first = await Deadline(after: .seconds(1), time: clock).run {
                await end { try await client.run(quick) }
            }
            #expect(first.at == .seconds(1))
            let value = try await client.run(quick)
            #expect(value == 2)
        }
        #expect(network.sent.count { $0.request.url.path == "/token" } == 1)
        #expect(network.sent.last?.request.headers["Authorization"] == "Bearer new")
    }

    @Test("C17: a task that begins in the operation has the limit until the operation is over")
    func unstructured() async throws {
        let client = testClient(network, clock)
        let (limited, late) = await clock.run {
            let (begun, go) = AsyncStream<Void>.makeStream()
            let (limited, late) = await Deadline(after: .seconds(1), time: clock).run {
                let limited = Task(executorPreference: clock.executor) { await end { try await client.run(slow) } }
                let late = Task(executorPreference: clock.executor) {
                    for await _ in begun { break }
                    return await end { try await client.run(slow) }
                }
                _ = await limited.value
                return (limited, late)
            }
            go.yield()
            return (await limited.value, await late.value)
        }
        #expect(limited.limit == .seconds(1) && late.limit == nil)
    }

    @Test("C17: a refresh of the cache beside the call has no such limit, and still its timeout")
    func background() async throws {
        network.on(.get, "/x", .json("1", headers: ["Cache-Control": "max-age=1"]), .silence, .json("2"))
        let client = testClient(network, clock) {
            $0.cache = .memory(megabytes: 1)
            $0.timeout = .seconds(3)
            $0.retry = .never
        }
        let stale = Endpoint<Int>.get("x").cache(.staleUpTo(.seconds(100)))
        try await clock.run {
            _ = try await client.run(stale)
            try await clock.sleep(for: .seconds(2))
            let value = try await Deadline(after: .milliseconds(200), time: clock).run { try await client.run(stale) }
            #expect(value == 1)
            // The refresh ends at its timeout, and another one can begin.
            try await clock.sleep(for: .seconds(4))
            _ = try await client.run(stale)
            try await clock.sleep(for: .milliseconds(10))
        }
        #expect(network.sent.count == 3)
        await client.shutdown()
    }

    @Test("T4: a deadline inside of the closure that refreshes a token holds")
    func insideRefresh() async throws {
        network.on(.post, "/token", ScriptedReply.json(#""new""#).after(.seconds(5)))
        let server = testClient(network, clock)
        let tokens = TokenStore(time: clock) { [clock] _ in
            try await Deadline(after: .seconds(1), time: clock).run {
                Token(accessToken: try await server.run(Endpoint<String>.post("token")))
            }
        }
        await tokens.signIn(Token(accessToken: "old", expiry: clock.date.addingTimeInterval(-1)))
        let client = testClient(network, clock) {
            $0.tokens = tokens
            $0.retry = .never
        }
        await clock.run {
            await #expect(throws: ServiceError.self) { try await client.run(quick) }
            #expect(clock.elapsed == .seconds(1))
        }
    }

    @Test("an error of the operation is thrown as it is")
    func foreign() async {
        struct Odd: Error {}
        await #expect(throws: Odd.self) { try await Deadline(after: .seconds(1), time: clock).run { throw Odd() } }
    }
}
