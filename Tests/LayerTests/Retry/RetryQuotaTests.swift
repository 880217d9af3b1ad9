@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("The quota for retries") struct RetryQuotaTests {
    @Test("C16: a traced sequence of failures, throttles and successes gives exactly these levels")
    func trace() {
        let quota = RetryQuota()
        #expect(quota.level == 500)
        #expect(quota.withdraw(afterThrottle: false) == 14)
        #expect(quota.level == 486)
        #expect(quota.withdraw(afterThrottle: true) == 5)
        #expect(quota.level == 481)
        quota.deposit(5)
        #expect(quota.level == 486)
        quota.deposit(nil)
        #expect(quota.level == 487)
        quota.deposit(14)
        #expect(quota.level == 500)
        quota.deposit(nil)
        #expect(quota.level == 500)
    }

    @Test("C16: it pays for 35 retries after failures, or a hundred after throttles, and no more")
    func runsDry() {
        let quota = RetryQuota()
        for _ in 0..<35 { #expect(quota.withdraw(afterThrottle: false) == 14) }
        #expect(quota.level == 10)
        #expect(quota.withdraw(afterThrottle: false) == nil)
        #expect(quota.withdraw(afterThrottle: true) == 5)
        #expect(quota.withdraw(afterThrottle: true) == 5)
        #expect(quota.withdraw(afterThrottle: true) == nil)
        #expect(quota.level == 0)
    }

    @Test("C16: through a client: what each call takes and gives back")
    func calls() async throws {
        let (clock, network, quota) = (TestClock(seed: 5), scripted(), RetryQuota())
        let retry = Retry(quota: quota, tokens: nil)
        let replies: [(String, [Int], Int)] = [
            ("fails for good", [500, 500, 500], 472), ("succeeds at first", [200], 473),
            ("succeeds at the second", [503, 200], 473), ("is throttled first", [429, 200], 473),
            ("fails, is throttled, succeeds", [502, 429, 200], 459), ("is refused", [404], 459),
            ("fails, then is refused", [500, 404], 445), ("a redirect", [304], 446),
        ]
        let hub = EventHub()
        for (what, statuses, level) in replies {
            let left = Noted(statuses)
            let rules = Configuration(ServerEnvironment(name: "t", baseURL: "https://api.test")).rules(
                for: CallOptions())
            let transmission = Transmission(
                CallSettings(id: 1, method: .get, path: "x", rules: BoxedRules(rules), time: clock, events: hub))
            let request = HTTPRequest(method: .get, url: try HTTPURL("https://api.test/x"))
            _ = try await clock.run {
                try await retry.intercept(request, CallContext(transmission)) {
                    _, _ async throws(ServiceError) in
                    HTTPResponse(status: left.removeFirst())
                }
            }
            #expect(quota.level == level, "\(what)")
            #expect(left.value.isEmpty)
        }
        _ = network
    }

    @Test("C16: in a total outage retries stop, and begin again when calls succeed")
    func outage() async throws {
        let (clock, network) = (TestClock(seed: 9), ScriptedTransport())
        let isDown = Noted(true)
        network.on(
            .get, "/x",
            answering: { _ in .status(isDown.value ? 500 : 204) })
        let client = testClient(network, clock)
        try await clock.run {
            for _ in 0..<100 {
                await #expect(throws: ServiceError.self) { _ = try await client.run(Endpoint<NoContent>.get("x")) }
            }
            // It paid for 35 retries: two each for the first seventeen calls, one for the next.
            #expect(network.sent.count == 135)
            isDown.value = false
            for _ in 0..<4 { _ = try await client.run(Endpoint<NoContent>.get("x")) }
            isDown.value = true
            await #expect(throws: ServiceError.self) { _ = try await client.run(Endpoint<NoContent>.get("x")) }
        }
        // 10 were left, and four successes made it 14: enough for one retry.
        #expect(network.sent.count == 135 + 4 + 2)
    }

    @Test("C16: a connection that ended before the server processed the request does not use up the quota")
    func turnedAway() async throws {
        let (clock, network) = (TestClock(seed: 2), scripted())
        network.on(.get, "/x") { ScriptedReply.failure(.reset, mayHaveReachedServer: false).always }
        let client = testClient(network, clock)
        await clock.run {
            for _ in 0..<50 {
                await #expect(throws: ServiceError.self) { _ = try await client.run(Endpoint<NoContent>.get("x")) }
            }
        }
        #expect(network.sent.count == 150)
    }
}
