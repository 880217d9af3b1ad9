@testable import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

/// A stage of a call at which it is cancelled: how to reach it, and what must have been sent by then.
struct CallStage: Sendable, CustomTestStringConvertible {
    let name: String
    var sent = 0
    let configure: @Sendable (inout Configuration, TestClock) -> Void
    var reply: ScriptedReply = .silence

    var testDescription: String { name }

    static let all: [CallStage] = [
        CallStage(
            name: "in the line", configure: { configuration, _ in configuration.limiter?.pause(until: .ms(50_000)) }),
        CallStage(
            name: "in a middleware around the call",
            configure: { configuration, _ in configuration.callMiddlewares = [Waiting()] }),
        CallStage(
            name: "in a middleware around the send",
            configure: { configuration, _ in configuration.attemptMiddlewares = [Waiting()] }),
        CallStage(
            name: "waiting for the network",
            configure: { configuration, _ in
                configuration.connectivity = Connectivity { false }
                configuration.offline = .wait(upTo: .seconds(60))
            }),
        CallStage(
            name: "waiting for a refresh",
            configure: { configuration, clock in
                configuration.tokens = TokenStore(
                    persistence: Saved(expiry: clock.date.addingTimeInterval(-5)), time: clock
                ) { _ in
                    try await clock.sleep(for: .seconds(30))
                    return Token(accessToken: "new")
                }
            }),
        CallStage(
            name: "in backoff", sent: 1,
            configure: { configuration, _ in
                configuration.retry = RetryPolicy(attempts: 2, base: .seconds(1000), cap: .seconds(1000))
            },
            reply: .status(503, headers: ["Retry-After": "40"])),
        CallStage(
            name: "waiting for either of two responses", sent: 2,
            configure: { configuration, _ in configuration.hedging = .after(.fixed(.seconds(1))) }),
        CallStage(name: "waiting for the answer", sent: 1, configure: { _, _ in }),
        CallStage(
            name: "half-way through the body", sent: 1, configure: { _, _ in },
            reply: .response(
                HTTPResponse(status: 200, body: .stream { HTTPBody.Chunks { $0.yield(Data("[1,".utf8)) } }))),
    ]

    /// A session that was saved before, with a token that has expired.
    private struct Saved: TokenPersistence {
        let id = UUID()
        let expiry: Date
        func load() async throws -> SavedSession? {
            SavedSession(id: id, token: Token(accessToken: "old", expiry: expiry), received: expiry)
        }
        func save(_ session: SavedSession?) async throws {}
    }
}

@Suite("Cancellation at every stage", .timeLimit(.minutes(10))) struct CancellationTests {
    private enum Way: String, CaseIterable { case task, cancelAll, shutdown }

    @Test(
        "C21: the call ends with .cancelled, once, at that very instant, and leaves nothing", arguments: CallStage.all)
    func stages(stage: CallStage) async throws {
        for way in Way.allCases {
            for seed in UInt64(0)..<6 { try await cancel(at: stage, by: way, seed: seed) }
        }
    }

    private func cancel(at stage: CallStage, by way: Way, seed: UInt64) async throws {
        let (clock, network) = (TestClock(seed: seed), ScriptedTransport())
        network.onAny { stage.reply.always }
        let limiter = RateLimiter(.requests(1, per: .milliseconds(1)), time: clock)
        let client = testClient(network, clock) {
            $0.limiter = limiter
            $0.timeout = .seconds(600)
            stage.configure(&$0, clock)
        }
        let ended = Noted<[ServiceError]>([])
        var activity = client.activity.makeAsyncIterator()
        #expect(await activity.next() == 0)
        await clock.run {
            let task = Task(executorPreference: clock.executor) {
                do throws(ServiceError) {
                    let _: Int = try await client.run(.get("x"))
                    Issue.record("\(stage.name): it got an answer")
                } catch {
                    ended.update { $0.append(error) }
                }
            }
            try? await clock.sleep(until: .ms(20_000))
            #expect(network.sent.count == stage.sent, "\(stage.name)")
            switch way {
            case .task: task.cancel()
            case .cancelAll: client.cancelAll()
            case .shutdown: await client.shutdown()
            }
            await task.value
            #expect(clock.now == .ms(20_000), "\(stage.name) by \(way)")
        }
        #expect(ended.value == [.cancelled], "\(stage.name) by \(way)")
        #expect(limiter.snapshot.waiters == 0)
        #expect(network.sent.count == stage.sent)
        if way != .shutdown { #expect(await activity.next() == 0) }
        // A refresh belongs to the store, and continues.
        #expect(clock.sleepers == (stage.name == "waiting for a refresh" ? 1 : 0), "\(stage.name) by \(way)")
    }

    @Test("C20: a call that is cancelled before it starts sends nothing and takes no permit")
    func beforeStart() async {
        let (clock, network) = (TestClock(), scripted())
        let client = testClient(network, clock) { $0.rateLimit = .requests(3, per: .seconds(1)) }
        await clock.run {
            let task = Task(executorPreference: clock.executor) {
                try? await clock.sleep(until: .distantFuture)
                let _: Int = try await client.run(.get("x"))
            }
            task.cancel()
            await #expect(throws: ServiceError.cancelled) { try await task.value }
        }
        #expect(network.sent.isEmpty)
        #expect(client.limiter.snapshot.available == 3)
    }

    @Test("C21: a call that is cancelled just as the response arrives ends once", arguments: UInt64(0)..<40)
    func asTheAnswerComes(seed: UInt64) async throws {
        let (clock, network) = (TestClock(seed: seed), scripted())
        network.on(.get, "/x") { ScriptedReply.json("1").after(.seconds(1)).times(8) }
        let client = testClient(network, clock)
        await clock.run {
            let tasks = (0..<8).map { _ in
                Task(executorPreference: clock.executor) { () async throws(ServiceError) -> Int in
                    try await client.run(.get("x"))
                }
            }
            try? await clock.sleep(until: .ms(1000))
            for task in tasks { task.cancel() }
            for task in tasks {
                switch await task.result {
                case .success(let value): #expect(value == 1)
                case .failure(let error): #expect(error as? ServiceError == .cancelled)
                }
            }
            #expect(clock.now == .ms(1000))
        }
        #expect(clock.sleepers == 0)
    }

    @Test("C20: a call that is cancelled right before its send sends nothing")
    func beforeTheSend() async throws {
        let network = scripted()
        let client = testClient(network, TestClock()) {
            // Cancelled in the caller's own task, after the last `await` before the send.
            $0.connectivity = Connectivity {
                withUnsafeCurrentTask { $0?.cancel() }
                return true
            }
        }
        let error = await Task { await failure { () async throws(ServiceError) in try await client.run(.me) } }.value
        #expect(error == .cancelled)
        #expect(network.sent.isEmpty)
    }

    @Test("a middleware that swallows the cancellation does not change the result", arguments: [true, false])
    func swallowed(byOwner: Bool) async {
        struct Swallowing: Middleware {
            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                do {
                    try await context.time.sleep(until: .distantFuture)
                } catch {
                    throw Swallowed()
                }
                return try await next(request, context)
            }
            struct Swallowed: Error {}
        }
        let clock = TestClock()
        let client = testClient(scripted(), clock) { $0.callMiddlewares = [Swallowing()] }
        await clock.run {
            let task = Task(executorPreference: clock.executor) { let _: Int = try await client.run(.get("x")) }
            try? await clock.sleep(for: .seconds(1))
            if byOwner { task.cancel() } else { client.cancelAll() }
            await #expect(throws: ServiceError.cancelled) { try await task.value }
        }
    }
}
