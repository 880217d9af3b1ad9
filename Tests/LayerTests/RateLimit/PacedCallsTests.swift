@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Calls at the limit's pace", .timeLimit(.minutes(10))) struct PacedCallsTests {
    @Test(
        "C8: twenty calls at five per second take three seconds; no rolling second has six", arguments: UInt64(0)..<10)
    func twenty(seed: UInt64) async throws {
        let (clock, network) = (TestClock(seed: seed), scripted())
        network.on(.get, "/x") { ScriptedReply.json("1").after(.milliseconds(30)).times(20) }
        let client = testClient(network, clock) { $0.rateLimit = .requests(5, per: .seconds(1)) }
        try await clock.run {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 { group.addTask { try await client.run(.get("x")) } }
                for try await _ in group {}
            }
        }
        #expect(clock.elapsed == .milliseconds(3030))
        let instants = network.sent.map(\.at)
        #expect(instants == (0..<20).map { Instant.ms(Int64($0 / 5) * 1000) })
        for end in instants {
            #expect(instants.count { $0 <= end && $0.duration(to: end) < .seconds(1) } <= 5)
        }
        try network.verify()
    }

    @Test("a client keeps to five per second by default")
    func usualLimit() {
        #expect(APIClient("https://api.test").limiter.limit == .requests(5, per: .seconds(1)))
    }

    @Test("C2: each attempt of a call takes the call's cost")
    func cost() async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/x") { ScriptedReply.json("1").times(3) }
        let client = testClient(network, clock) { $0.rateLimit = .requests(5, per: .seconds(1)) }
        try await clock.run {
            for _ in 0..<3 { let _: Int = try await client.run(.get("x").permits(3)) }
        }
        #expect(network.sent.map(\.at) == [.zero, .ms(1000), .ms(2000)])
    }

    /// Delays each send by as many milliseconds as its path says.
    private struct Delaying: Middleware {
        func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
            try await context.time.sleep(for: .milliseconds(Int(request.url.path.dropFirst()) ?? 0))
            return try await next(request, context)
        }
    }

    /// Returns when calls with those delays were sent, by a client with two permits per second.
    private func sends(
        after delays: [Int], first reply: ScriptedReply = .json("1")
    ) async throws -> [Instant] {
        let (clock, network) = (TestClock(), scripted())
        network.onAny {
            reply
            ScriptedReply.json("1").times(delays.count - 1)
        }
        let client = testClient(network, clock) {
            $0.rateLimit = .requests(2, per: .seconds(1))
            $0.retry = .never
            $0.attemptMiddlewares = [Delaying()]
        }
        await clock.run {
            await withTaskGroup { group in
                for delay in delays {
                    group.addTask {
                        _ = await Result { () async throws(ServiceError) in
                            try await client.run(Endpoint<Int>.get("\(delay)"))
                        }
                    }
                }
            }
        }
        return network.sent.map(\.at)
    }

    @Test("C1: a permit counts from the send, so sends that a middleware has delayed are not bunched")
    func delayed() async throws {
        #expect(try await sends(after: [900, 900, 0, 0]) == [.ms(900), .ms(900), .ms(1900), .ms(1900)])
    }

    @Test("C1: a delay that is longer than the period takes another permit")
    func delayedForLonger() async throws {
        let sends = try await sends(after: [1500, 1500, 0, 0])
        #expect(sends == [.ms(1000), .ms(1000), .ms(2000), .ms(2000)])
    }

    @Test("C6: a send that a middleware has delayed into a pause waits for its end")
    func delayedIntoPause() async throws {
        let sends = try await sends(after: [0, 500], first: .status(429, headers: ["Retry-After": "10"]))
        #expect(sends.first == .zero)
        #expect(try #require(sends.last) >= .ms(10_000))
    }

    @Test("the default limit explains itself when it first makes a call wait, once in a process")
    func explanation() async throws {
        #expect(Configuration(ServerEnvironment(name: "test", baseURL: "https://api.test")).limitNotice != nil)
        let printed = Noted<[String]>([])
        let notice = Notice("why") { line in printed.update { $0.append(line) } }
        for expected in [1, 0] {
            let (clock, network, reported) = (TestClock { _ in }, scripted(), Noted<[ClientEvent.Kind]>([]))
            network.onAny { ScriptedReply.json("1").times(4) }
            let client = testClient(network, clock) {
                $0.rateLimit = .requests(1, per: .seconds(1))
                #expect($0.limitNotice == nil)
                $0.limitNotice = notice
                $0.observe = { event in reported.update { $0.append(event.kind) } }
            }
            try await clock.run { for _ in 0..<4 { _ = try await client.run(Endpoint<Int>.get("x")) } }
            #expect(reported.value.count { $0 == .warned("why") } == expected)
            #expect(reported.value.count { if case .waitedForPermit = $0 { true } else { false } } == 3)
            #expect(printed.value == ["Errand: why"])
        }
    }

    @Test("the explanation is printed without a listener too, but not before a call waits", arguments: [1, 2])
    func printing(calls: Int) async throws {
        let printed = Noted<[String]>([])
        let (clock, network) = (TestClock { _ in }, scripted())
        network.onAny { ScriptedReply.json("1").times(calls) }
        let client = testClient(network, clock) {
            $0.rateLimit = .requests(1, per: .seconds(1))
            $0.limitNotice = Notice("why") { line in printed.update { $0.append(line) } }
        }
        try await clock.run { for _ in 0..<calls { _ = try await client.run(Endpoint<Int>.get("x")) } }
        #expect(printed.value.count == calls - 1)
    }

    @Test("nothing is explained to a client whose limit or limiter was set", arguments: [false, true])
    func silenced(byLimiter: Bool) async throws {
        let printed = Noted<[String]>([])
        let (clock, network) = (TestClock(), scripted())
        network.onAny { ScriptedReply.json("1").times(2) }
        let limit = RateLimit.requests(1, per: .seconds(1))
        let client = testClient(network, clock) {
            $0.limitNotice = Notice("why") { line in printed.update { $0.append(line) } }
            if byLimiter { $0.limiter = RateLimiter(limit, time: clock) } else { $0.rateLimit = limit }
        }
        try await clock.run { for _ in 0..<2 { _ = try await client.run(Endpoint<Int>.get("x")) } }
        #expect(clock.elapsed == .seconds(1) && printed.value == [])
    }

    @Test("C3: a permit that a call did not use goes to the next waiter at that very instant")
    func unusedPermit() async throws {
        /// Responds by itself, after a delay.
        struct Answering: Middleware {
            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                guard request.url.path == "/own" else { return try await next(request, context) }
                try await context.time.sleep(for: .milliseconds(100))
                return HTTPResponse(status: 204)
            }
        }
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/x") { .status(204) }
        let client = testClient(network, clock) {
            $0.rateLimit = .requests(1, per: .seconds(10))
            $0.attemptMiddlewares = [Answering()]
        }
        try await clock.run {
            async let own = client.run(Endpoint<NoContent>.get("own"))
            try await clock.sleep(for: .milliseconds(50))
            async let waiting = client.run(Endpoint<NoContent>.get("x"))
            _ = try await (own, waiting)
        }
        #expect(network.sent.map(\.at) == [.ms(100)])
    }

    @Test("C3: cancelled calls free their places; the others are served as if alone", arguments: UInt64(0)..<20)
    func cancelledPlaces(seed: UInt64) async throws {
        let (clock, network) = (TestClock(seed: seed), scripted())
        network.on(.get, "/x") { ScriptedReply.json("1").times(15) }
        let client = testClient(network, clock) { $0.rateLimit = .requests(5, per: .seconds(1)) }
        await clock.run {
            let tasks = (0..<30).map { _ in
                Task(executorPreference: clock.executor) { () async throws(ServiceError) -> Int in
                    try await client.run(.get("x"))
                }
            }
            // Five have been sent; fifteen waiters leave at the very instant at which permits come back.
            try? await clock.sleep(until: .ms(1000))
            var gone = 0
            for task in tasks where gone < 15 {
                task.cancel()
                if case .failure(let error) = await task.result {
                    #expect(error as? ServiceError == .cancelled)
                    gone += 1
                }
            }
            for task in tasks { _ = await task.result }
        }
        #expect(network.sent.count == 15)
        #expect(client.limiter.snapshot.waiters == 0)
        for end in network.sent {
            #expect(network.sent.count { $0.at <= end.at && $0.at.duration(to: end.at) < .seconds(1) } <= 5)
        }
        #expect(clock.elapsed == .seconds(2))
    }
}
