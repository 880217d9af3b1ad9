import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Servers that are set aside, and breakers", .timeLimit(.minutes(10))) struct ServerPauseTests: ServersScene {
    let clock = TestClock()
    let network = scripted()

    @Test("B7: the pauses grow from ten seconds to five minutes, and begin anew after five good minutes")
    func pauses() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused).always }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
        let events = EventLog()
        let client = client {
            $0.servers.choice = .inOrder(returningAfter: .zero)
            $0.observe = events.note
        }
        try await clock.run {
            while events.aside.count < 40 { try await run(1, client, every: .seconds(10)) }
        }
        for (index, pause) in events.aside.enumerated() {
            let longest = Duration.seconds(min(10 * (index + 1), 300))
            #expect(pause <= longest && pause >= longest * 0.9)
        }
        #expect(Set(events.aside.suffix(10)).count > 5)
    }

    @Test("B7: the last server is not set aside, unless it fails twenty times in a row; then calls fail at once")
    func last() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused).always }
        network.on(.get, "https://b.test/*") { ScriptedReply.status(503).always }
        let client = client()
        let once = call.retry(.never)
        try await clock.run {
            // What can be sent once may still try the first.
            for _ in 0..<21 { _ = try await failure(of: once, client) }
            #expect(hosts == ["a"] + Array(repeating: "b", count: 20))
            let error = try await failure(of: once, client)
            guard case .transport(let failure) = error else { throw error }
            #expect(failure.kind == .circuitOpen && !failure.mayHaveReachedServer)
            #expect(network.sent.count == 21)
            // In the end the first is tried again.
            let wait = try #require(error.retryAfter)
            #expect(wait > .seconds(8) && wait <= .seconds(10))
            try await clock.sleep(until: clock.now.advanced(by: wait))
            network.on(.get, "https://a.test/*") { ScriptedReply.json("1").always }
            _ = try? await client.run(once)
            #expect(network.sent.count == 22)
        }
    }

    @Test("B8: an open breaker fails calls at once and without a permit; then one tries, and the others follow")
    func breaker() async throws {
        network.onAny { ScriptedReply.status(503).times(20) }
        let client = client(ServerEnvironment(name: "one", baseURL: a)) {
            $0.breaker = .standard
            $0.retry = .never
            $0.rateLimit = .requests(20, per: .seconds(1))
        }
        try await clock.run {
            for _ in 0..<20 { _ = try await failure(of: call, client) }
            for _ in 0..<100 {
                let error = try await failure(of: call.retry(.standard), client)
                guard case .transport(let failure) = error else { throw error }
                #expect(failure.kind == .circuitOpen && !error.mayHaveReachedServer && error.isTransient)
                #expect(error.retryAfter == failure.retryAfter && failure.retryAfter != nil)
            }
            #expect(clock.now == .zero && network.sent.count == 20)
            let sentence = try await failure(of: call, client).localizedDescription(in: "en")
            #expect(sentence.hasPrefix("The service is not available at the moment."))
            network.onAny { ScriptedReply.json("1").after(.seconds(1)).always }
            try await clock.sleep(until: .ms(10_000))
            async let trial = client.run(call)
            try await clock.sleep(until: .ms(10_001))
            _ = try await failure(of: call, client)
            #expect(try await trial == 1)
            try await run(3, client)
        }
        #expect(network.sent.count == 24)
    }

    @Test("B8: a stored response that may be used after an error, and another server, are used while a breaker is open")
    func standIns() async throws {
        let stored: HTTPHeaders = ["Cache-Control": "max-age=1, stale-if-error=600"]
        network.on(.get, "https://a.test/*") {
            ScriptedReply.json("1", headers: stored)
            ScriptedReply.status(502).times(3)
        }
        let breaker = CircuitBreaker.opening(at: 0.5, ofAtLeast: 4, within: .seconds(60), for: .seconds(10))
        let single = client(ServerEnvironment(name: "one", baseURL: a)) {
            $0.breaker = breaker
            $0.retry = .never
            $0.cache = .memory(megabytes: 1)
        }
        try await clock.run {
            try await run(1, single)
            try await clock.sleep(until: .ms(5000))
            for _ in 0..<3 { _ = try? await single.run(Endpoint<Int>.get("y")) }
            let isOpen = if case .open = single.servers.snapshot[0].state { true } else { false }
            #expect(isOpen)
            try await run(1, single)
            #expect(network.sent.count == 4)
            network.on(.get, "https://a.test/*") { ScriptedReply.status(502).always }
            network.on(.get, "https://b.test/*") { ScriptedReply.json("1").always }
            let pair = client {
                $0.breaker = breaker
                $0.servers.choice = .roundRobin
            }
            try await run(12, pair)
            #expect(pair.servers.snapshot[1].state == .inUse && pair.servers.snapshot[0].state != .inUse)
        }
    }
}
