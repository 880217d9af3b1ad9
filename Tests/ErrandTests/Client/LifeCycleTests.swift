@testable import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("The life cycle of a client", .timeLimit(.minutes(10))) struct LifeCycleTests {
    private let clock = TestClock()
    private let network = ScriptedTransport()

    private var shutDown: ServiceError {
        .invalidRequest(InvalidRequest(.clientShutDown, "the client has been shut down"))
    }

    @Test("activity counts the calls in flight, from the current number on")
    func activity() async throws {
        network.onAny { ScriptedReply.json("1").after(.seconds(1)).always }
        let client = testClient(network, clock)
        let numbers = Noted<[Int]>([])
        try await clock.run {
            let listener = Task(executorPreference: clock.executor) {
                for await number in client.activity { numbers.update { $0.append(number) } }
            }
            for _ in 0..<2 {
                async let first: Int = client.run(.get("x"))
                try await clock.sleep(for: .milliseconds(300))
                async let second: Int = client.run(.get("x"))
                _ = try await (first, second)
            }
            try await clock.sleep(for: .seconds(1))
            await client.shutdown()
            await listener.value
        }
        #expect(numbers.value == [0, 1, 2, 1, 0, 1, 2, 1, 0])
    }

    @Test("cancelAll ends all calls in flight; new ones may begin")
    func cancelAll() async throws {
        network.onAny {
            ScriptedReply.silence.times(50)
            ScriptedReply.json("1")
        }
        let client = testClient(network, clock)
        try await clock.run {
            let calls = (0..<50).map { _ in
                Task(executorPreference: clock.executor) { () async throws(ServiceError) -> Int in
                    try await client.run(.get("x"))
                }
            }
            try await clock.sleep(for: .seconds(1))
            client.cancelAll()
            for call in calls { await #expect(throws: ServiceError.cancelled) { _ = try await call.value } }
            #expect(clock.elapsed == .seconds(1))
            let value: Int = try await client.run(.get("x"))
            #expect(value == 1)
        }
    }

    @Test("shutdown waits for the running calls, however often it is called at once", arguments: UInt64(0)..<10)
    func shutdown(seed: UInt64) async throws {
        /// Takes a while to finish when it is cancelled.
        struct Slow: Middleware {
            let isOver: Noted<Int>
            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                let time = context.time
                try? await time.sleep(until: .distantFuture)
                await Task(executorPreference: time.executor) { try? await time.sleep(for: .seconds(2)) }.value
                isOver.update { $0 += 1 }
                throw CancellationError()
            }
        }
        let (clock, isOver) = (TestClock(seed: seed), Noted(0))
        let client = testClient(network, clock) { $0.callMiddlewares = [Slow(isOver: isOver)] }
        try await clock.run {
            let calls = (0..<5).map { _ in
                Task(executorPreference: clock.executor) { () async throws(ServiceError) -> Int in
                    try await client.run(.get("x"))
                }
            }
            try await clock.sleep(for: .seconds(1))
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        await client.shutdown()
                        #expect(isOver.value == 5)
                        #expect(clock.elapsed == .seconds(3))
                    }
                }
                group.addTask {
                    try? await clock.sleep(for: .seconds(1))
                    // During the shutdown no new call begins.
                    await #expect(throws: shutDown) { let _: Int = try await client.run(.get("x")) }
                }
            }
            for call in calls { await #expect(throws: ServiceError.cancelled) { _ = try await call.value } }
            await client.shutdown()
            await #expect(throws: shutDown) { let _: Int = try await client.run(.get("x")) }
        }
        #expect(network.sent.isEmpty)
    }

    @Test("shutdown ends the streams of activity and events, and those that are requested later")
    func streamsEnd() async {
        let client = testClient(network, clock)
        let (activity, events) = (client.activity, client.diagnostics)
        await client.shutdown()
        #expect(await activity.reduce(0, +) == 0)
        #expect(await events.reduce(into: 0) { count, _ in count += 1 } == 0)
        #expect(await client.activity.reduce(0, +) == 0)
        #expect(await client.diagnostics.reduce(into: 0) { count, _ in count += 1 } == 0)
    }

    @Test("events arrive in order, and end with the client")
    func events() async throws {
        network.onAny { ScriptedReply.json("1") }
        let names = Noted<[String]>([])
        let listener: Task<Void, Never>
        do {
            let client = testClient(network, clock)
            let events = client.diagnostics
            listener = Task {
                for await event in events {
                    names.update { $0.append("\(event.kind)".prefix { $0 != "(" }.description) }
                }
            }
            let _: Int = try await client.run(.get("x"))
        }
        await listener.value
        #expect(names.value == ["began", "sent", "answered", "succeeded"])
    }

    @Test("two thousand calls at once all end, whatever happens to them", arguments: UInt64(0)..<3)
    func twoThousand(seed: UInt64) async throws {
        let clock = TestClock(seed: seed)
        let network = ScriptedTransport()
        network.on(
            .get, "/x",
            answering: { _ in
                switch clock.random() % 5 {
                case 0: return .status(503)
                case 1: throw ServiceError.transport(TransportFailure(.reset, ""))
                case 2: try await clock.sleep(for: .seconds(30))
                default: break
                }
                return .status(200, body: .init("1".utf8))
            })
        let client = testClient(network, clock) { $0.rateLimit = .requests(100, per: .seconds(1)) }
        let ends = Noted([0, 0])
        await clock.run {
            await withTaskGroup(of: Bool.self) { group in
                for index in 0..<2000 {
                    group.addTask {
                        let endpoint = Endpoint<Int>.get("x").deadline(.seconds(20 + index % 40))
                        return (try? await client.run(endpoint)) != nil
                    }
                }
                group.addTask {
                    try? await clock.sleep(for: .seconds(25))
                    client.cancelAll()
                    return true
                }
                for await isSuccess in group { ends.update { $0[isSuccess ? 0 : 1] += 1 } }
            }
        }
        #expect(ends.value[0] + ends.value[1] == 2001)
        #expect(ends.value[0] > 500)
        #expect(client.limiter.snapshot.waiters == 0)
        #expect(clock.sleepers == 0)
        #expect(clock.elapsed == .seconds(25))
    }
}
