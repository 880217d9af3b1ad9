@testable import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("What a client leaves behind") struct LeftBehindTests {
    /// The objects that must be deallocated when the client is no longer used.
    private final class Traces: Sendable {
        struct State: Sendable {
            weak var client: APIClient?
            weak var transport: ScriptedTransport?
            weak var limiter: RateLimiter?
            weak var tokens: TokenStore?
        }
        let state = Noted(State())

        var left: [String] {
            let state = state.value
            return [
                state.client.map { _ in "the client" }, state.transport.map { _ in "the transport" },
                state.limiter.map { _ in "the limiter" }, state.tokens.map { _ in "the token store" },
            ].compactMap { $0 }
        }
    }

    private enum End: String, CaseIterable { case finished, cancelled, timedOut, shutDown, abandonedRefresh }

    /// Creates a client, uses it, and releases it.
    private static func use(_ end: End, _ clock: TestClock, _ traces: Traces) async {
        // Which replies are used depends on how the client ends.
        let network = ScriptedTransport { _ in }
        network.on(.get, "/silent") { ScriptedReply.silence.always }
        network.on(.get, "/x") {
            ScriptedReply.status(503)
            ScriptedReply.json("1").always
        }
        let tokens = TokenStore(time: clock) { _ in
            try await clock.sleep(for: .seconds(5))
            return Token(accessToken: "new")
        }
        let expiry = end == .abandonedRefresh ? clock.date.addingTimeInterval(-1) : nil
        await tokens.signIn(Token(accessToken: "a", expiry: expiry))
        let client = testClient(network, clock) {
            $0.tokens = tokens
            $0.rateLimit = .requests(2, per: .seconds(1))
        }
        let limiter = client.limiter
        traces.state.update {
            $0 = .init(client: client, transport: network, limiter: limiter, tokens: tokens)
        }
        let path: EndpointPath = end == .finished ? "x" : "silent"
        let tasks = (0..<20).map { _ in
            Task(executorPreference: clock.executor) { () async throws(ServiceError) -> Int in
                try await client.run(.get(path).timeout(.seconds(3)))
            }
        }
        var events = client.diagnostics.makeAsyncIterator()
        var activity = client.activity.makeAsyncIterator()
        try? await clock.sleep(for: .milliseconds(1500))
        switch end {
        case .finished, .timedOut: break
        case .cancelled, .abandonedRefresh: for task in tasks { task.cancel() }
        case .shutDown: await client.shutdown()
        }
        for task in tasks { _ = await task.result }
        if end != .abandonedRefresh { #expect(await events.next() != nil) }
        #expect(await activity.next() != nil || end == .shutDown)
        #expect(limiter.snapshot.waiters == 0)
    }

    @Test("C25: a released client is deallocated with everything that it had, and no alarm is left", arguments: 0..<5)
    func nothing(index: Int) async throws {
        let end = End.allCases[index]
        for seed in UInt64(0)..<5 {
            let (clock, traces) = (TestClock(seed: seed), Traces())
            await clock.run {
                await Self.use(end, clock, traces)
                // A refresh continues without its callers; it takes five seconds.
                try? await clock.sleep(for: .seconds(60))
            }
            #expect(traces.left == [], "\(end)")
            #expect(clock.alarmCount == 0, "\(end)")
        }
    }

    @Test("C25: a call that has ended leaves no alarm, neither for its timeout nor for its deadline")
    func alarms() async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/x") { .json("1") }
        let client = testClient(network, clock)
        #expect(try await client.run(Endpoint<Int>.get("x").timeout(.seconds(30)).deadline(.seconds(60))) == 1)
        #expect(clock.alarmCount == 0)
    }
}
