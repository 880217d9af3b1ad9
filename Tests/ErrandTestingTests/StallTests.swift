import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Real time passes here, with generous bounds.
@Suite("A clock that is not advanced", .timeLimit(.minutes(10))) struct StallTests {
    private let reports = Noted<[TestFailure]>([])

    private func clock(_ stallTimeout: Duration) -> TestClock {
        TestClock(stallTimeout: stallTimeout) { [reports] failure in reports.update { $0.append(failure) } }
    }

    @Test("it says what waits for it until when, and then advances by itself")
    func report() async throws {
        let clock = clock(.milliseconds(200))
        let network = ScriptedTransport()
        network.on(.get, "/friends", .status(503, headers: ["Retry-After": "2"]), .json("[]"))
        let client = testClient(network, clock)
        let friends = try await client.run(Endpoint<[String]>.get("friends"))
        #expect(friends == [])
        let text = try #require(reports.value.first).description
        #expect(text.contains("A TestClock is at 0 ms."))
        #expect(text.contains("\n    the pause before a retry, until 2 s\n"))
        #expect(text.contains("advance(by:)"))
        #expect(reports.value.count == 1)
    }

    @Test("it explains a wait for the rate limiter, and counts its time")
    func limiter() async throws {
        let clock = clock(.milliseconds(200))
        let network = ScriptedTransport()
        network.on(.get, "/friends", ScriptedReply.json("[]").after(.seconds(3)).times(2))
        let client = testClient(network, clock) { $0.rateLimit = .requests(1, per: .seconds(10)) }
        for _ in 0..<2 { _ = try await client.run(Endpoint<[String]>.get("friends")) }
        let texts = reports.value.map(\.description)
        #expect(texts.count == 1 && !texts.contains { $0.contains("$0.rateLimit") })
        #expect(clock.elapsed == .seconds(13) && clock.elapsedForRateLimit == .seconds(7))
        let second = self.clock(.milliseconds(200))
        let limited = testClient(network, second) { $0.rateLimit = .requests(1, per: .seconds(10)) }
        network.on(.get, "/friends", ScriptedReply.json("[]").times(2))
        for _ in 0..<2 { _ = try await limited.run(Endpoint<[String]>.get("friends")) }
        let text = try #require(reports.value.last).description
        #expect(text.contains("a permit of the rate limiter, ") && text.contains("$0.rateLimit = .unlimited"))
    }

    @Test(
        "virtual time that passes for the default limit is a warning, once; for a limit that was set there is none",
        arguments: [false, true])
    func defaultLimit(isSet: Bool) async throws {
        let clock = clock(.seconds(10))
        let network = ScriptedTransport()
        network.on(.get, "/friends", ScriptedReply.json("[]").always)
        let client = APIClient("https://api.test") {
            $0.transport = network
            $0.time = clock
            // Once in a process, the client would also print that.
            $0.limitNotice = Notice("calls wait") { _ in }
            if isSet { $0.rateLimit = .requests(5, per: .seconds(1)) }
        }
        for _ in 0..<2 {
            try await clock.run {
                for _ in 0..<6 { _ = try await client.run(Endpoint<[String]>.get("friends")) }
            }
        }
        #expect(clock.elapsedForRateLimit == .seconds(2))
        #expect(reports.value.count == (isSet ? 0 : 1))
        for report in reports.value {
            #expect(report.isWarning && report.description.hasPrefix("1 s of the test's virtual time passed while"))
        }
    }

    @Test("a call that would never end, ends")
    func silence() async throws {
        let clock = clock(.milliseconds(100))
        let network = ScriptedTransport()
        network.on(.get, "/friends", .silence)
        let client = testClient(network, clock) { $0.retry = .never }
        await #expect(throws: ServiceError.self) { try await client.run(Endpoint<[String]>.get("friends")) }
        let text = try #require(reports.value.first).description
        #expect(text.contains("the timeout of an attempt, until 30 s\n    a scripted silence, without end"))
        #expect(clock.elapsed == .seconds(30))
        // Without a timeout nothing has an end: the alarm fires where the clock stands.
        await #expect(throws: ServiceError.cancelled) {
            _ = try await network.endless(clock)
        }
        #expect(clock.elapsed == .seconds(30))
        #expect(reports.value.count == 1)
    }

    @Test("a test that waits for more sleepers than there are goes on")
    func sleepers() async throws {
        let clock = clock(.milliseconds(100))
        async let sleep: Void = clock.sleep(for: .seconds(1))
        await clock.sleepers(atLeast: 1)
        await clock.sleepers(atLeast: 2)
        try await sleep
        #expect(reports.value.first?.description.contains("The test waits for 2 sleeping tasks; there are 1.") == true)
    }

    @Test("a test that waits for sleepers goes on if there are none, and fails at its line")
    func noSleepers() async throws {
        let clock = clock(.milliseconds(100))
        let line: UInt = #line + 1
        await clock.sleepers(atLeast: 1)
        let failure = try #require(reports.value.first)
        #expect(failure.location?.line == line)
        #expect(failure.description.hasPrefix("The test waits for 1 sleeping task; there are 0.\n"))
        #expect(failure.description.contains("$0.time = clock"))
        // It is reported once.
        await clock.sleepers(atLeast: 1)
        #expect(reports.value.count == 1)
    }

    @Test("a test that waits for more requests than are sent goes on, and fails at its line")
    func requests() async throws {
        let network = ScriptedTransport(stallTimeout: .milliseconds(100)) { [reports] failure in
            reports.update { $0.append(failure) }
        }
        network.on(.get, "/friends", .json("[]"))
        _ = try await testClient(network).run(Endpoint<[String]>.get("friends"))
        await network.sent(atLeast: 1)
        let line: UInt = #line + 1
        await network.sent(atLeast: 2)
        let failure = try #require(reports.value.first)
        #expect(failure.location?.line == line)
        #expect(
            failure.description == "The test waits for 2 requests, of which 1 came, and none for 100 ms of real time.")
        await network.sent(atLeast: 3)
        #expect(reports.value.count == 1)
    }

    @Test("a wait for requests is not reported while requests come")
    func comingRequests() async throws {
        let network = ScriptedTransport(stallTimeout: .milliseconds(300)) { [reports] failure in
            reports.update { $0.append(failure) }
        }
        network.on(.get, "/friends", .json("[]").times(30))
        let client = testClient(network)
        async let wait: Void = network.sent(atLeast: 30)
        for _ in 0..<30 {
            _ = try await client.run(Endpoint<[String]>.get("friends"))
            try await Task.sleep(for: .milliseconds(20))
        }
        await wait
        #expect(reports.value.isEmpty)
    }

    @Test("no stall is reported while anything happens in the clock's time")
    func busy() async throws {
        let clock = clock(.milliseconds(300))
        async let sleep: Void = clock.sleep(for: .seconds(1))
        await clock.sleepers(atLeast: 1)
        for _ in 0..<50 {
            await clock.advance(by: .milliseconds(1))
            try await Task.sleep(for: .milliseconds(20))
        }
        await clock.advance(by: .seconds(1))
        try await sleep
        #expect(reports.value.isEmpty)
    }

    @Test("no stall is reported for alarms of the library alone, nor on a busy autopilot")
    func harmless() async throws {
        let clock = clock(.milliseconds(50))
        _ = clock.schedule(at: Instant.zero.advanced(by: .seconds(1)), for: .watch) {}
        try await Task.sleep(for: .milliseconds(300))
        await clock.run {
            async let sleep: Void? = try? clock.sleep(for: .seconds(1))
            // Blocks the only thread: no time can pass.
            usleep(300_000)
            await sleep
        }
        #expect(reports.value.isEmpty)
    }

    @Test("tasks that an autopilot leaves behind are no stall, but a new one beside them is")
    func leftBehind() async throws {
        let clock = clock(.milliseconds(100))
        let left = await clock.run {
            let left = Task(executorPreference: clock.executor) {
                try? await clock.sleep(for: .seconds(1))
                try? await clock.sleep(for: .seconds(5))
            }
            try? await clock.sleep(for: .seconds(1))
            return left
        }
        await clock.sleepers(atLeast: 1)
        try await Task.sleep(for: .milliseconds(300))
        #expect(reports.value.isEmpty)
        try await clock.sleep(for: .seconds(1))
        #expect(reports.value.count == 1)
        left.cancel()
    }

    @Test("a clock that is released while a task sleeps is not watched any longer")
    func released() async throws {
        weak var released: TestClock?
        do {
            let clock = clock(.milliseconds(100))
            released = clock
            let alarm = clock.schedule(at: .distantFuture, for: .sleeper) {}
            _ = alarm
        }
        #expect(released == nil)
        try await Task.sleep(for: .milliseconds(300))
        #expect(reports.value.isEmpty)
    }
}

extension ScriptedTransport {
    /// Sends a request that a new script never answers.
    fileprivate func endless(_ clock: TestClock) async throws -> HTTPResponse {
        on(.get, "/endless", .silence)
        let request = HTTPRequest(method: .get, url: try HTTPURL("https://api.test/endless"))
        return try await send(request, context: TransportContext(timeout: .seconds(Int64.max), time: clock))
    }
}
