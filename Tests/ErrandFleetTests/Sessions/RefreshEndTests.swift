import Errand
import ErrandFleet
import ErrandSimulation
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The end of a refresh whose mark is over", .timeLimit(.minutes(10))) struct RefreshEndTests {
    private let clock = TestClock()
    private let scene: SessionScene

    init() throws {
        scene = try SessionScene(time: clock)
    }

    /// Creates a client for a server of tokens.
    private func client(_ transport: any Transport) -> APIClient {
        APIClient("https://token.test") {
            $0.transport = transport
            $0.time = clock
            $0.rateLimit = .unlimited
            $0.retry = .never
            $0.timeout = nil
        }
    }

    /// Creates the token store of a node that asks such a server.
    private func node(_ transport: any Transport, after pause: Duration = .zero) -> TokenStore {
        let client = client(transport)
        return TokenStore(
            persistence: scene.sessions(), refreshTimeout: .seconds(200), time: clock
        ) { [clock] _ in
            // A task of its own is not canceled with the refresh.
            let work = Task(executorPreference: clock.executor) { () async throws -> Token in
                try await clock.sleep(for: pause)
                let answer = try await client.run(Endpoint<Data>.post("token"))
                return Token(accessToken: String(decoding: answer, as: UTF8.self))
            }
            guard pause == .zero else { return try await work.value }
            return try await withTaskCancellationHandler {
                try await work.value
            } onCancel: {
                work.cancel()
            }
        }
    }

    private func expectStorageFailure(_ outcome: Result<String, ServiceError>) {
        guard case .failure(.transport(let failure)) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(failure.kind == .storage)
    }

    @Test("F6, T17: a request that is under way at the end of the mark is canceled before another node uses the token")
    func underWay() async throws {
        let network = SilentTransport(clock: clock)
        let (first, other) = (node(network), scene.node())
        let (lost, token) = try await clock.run {
            () async throws -> (Result<String, ServiceError>, Result<String, ServiceError>) in
            try await scene.seed()
            _ = try await other.token()
            async let lost = SessionScene.replacement(in: first)
            try await clock.sleep(for: .seconds(1))
            let token = await SessionScene.replacement(in: other)
            return (await lost, token)
        }
        expectStorageFailure(lost)
        let end = try #require(network.end.value)
        #expect(end >= SessionScene.lifetime * 0.85 && end <= SessionScene.lifetime * 0.91)
        #expect(token == .success("access.1"))
        #expect(scene.server.refreshes == 1 && scene.server.refusals == 0)
    }

    @Test("F6: nothing is sent with the token after the end of the mark, by a closure that ignores its cancellation")
    func lateSend() async throws {
        let network = CountingTransport()
        let tokens = node(network, after: .seconds(28))
        let outcome = try await clock.run { () async throws -> Result<String, ServiceError> in
            try await scene.seed()
            let outcome = await SessionScene.replacement(in: tokens)
            try await clock.sleep(for: .seconds(10))
            return outcome
        }
        expectStorageFailure(outcome)
        #expect(clock.elapsed > .seconds(35))
        #expect(network.sends.value == 0)
    }

    @Test("F6, T17: a closure that was given up before the end of the mark sends nothing more: the mark is removed")
    func givenUp() async throws {
        let network = CountingTransport()
        let client = client(network)
        let tokens = TokenStore(
            persistence: scene.sessions(), refreshTimeout: .seconds(5), time: clock
        ) { [clock] _ in
            try await Task(executorPreference: clock.executor) { () async throws -> Token in
                try await clock.sleep(for: .seconds(10))
                _ = try await client.run(Endpoint<Data>.post("token"))
                return Token(accessToken: "late")
            }.value
        }
        try await clock.run {
            try await scene.seed()
            _ = await SessionScene.replacement(in: tokens)
            try await clock.sleep(for: .seconds(10))
        }
        #expect(clock.elapsed < .seconds(20))
        #expect(network.sends.value == 0)
    }

    @Test("F6: the right to use the token counts from before the write of the mark, however late its answer comes")
    func lateMark() async throws {
        let late = LateStore(scene.store, keys: "errand/test/", by: .seconds(10), clock: clock)
        let isLost = Noted<[Bool]>([])
        try await clock.run {
            try await scene.seed()
            try await scene.sessions(in: late).exclusively { [clock] lock in
                guard let sent = late.writes.last else { return }
                let end = sent.advanced(by: SessionScene.lifetime * 0.9)
                for instant in [end.advanced(by: .milliseconds(-1)), end.advanced(by: .milliseconds(1))] {
                    try? await clock.sleep(for: clock.now.duration(to: instant))
                    isLost.update { $0.append(lock.loss != nil) }
                }
            }
        }
        #expect(isLost.value == [false, true])
    }

    @Test("F6: a node that is stopped right before its first byte sends nothing after the end of its mark")
    func stoppedBeforeFirstByte() async throws {
        let network = StoppedTransport(clock: clock)
        let tokens = node(network)
        let outcome = try await clock.run { () async throws -> Result<String, ServiceError> in
            try await scene.seed()
            return await SessionScene.replacement(in: tokens)
        }
        expectStorageFailure(outcome)
        #expect(network.sends.value == 0)
        #expect(network.timeLeft.value.map { $0 > .seconds(26) && $0 <= .seconds(27) } == true)
    }
}

/// A server that never answers.
private struct SilentTransport: Transport {
    let clock: TestClock
    /// When the request was canceled.
    let end = Noted<Duration?>(nil)

    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        defer { end.value = clock.elapsed }
        try await clock.sleep(for: .seconds(1000))
        return HTTPResponse(status: 204)
    }

    func shutdown() async {}
    var connectivity: Connectivity { .always }
}

/// A server that counts its requests.
private struct CountingTransport: Transport {
    let sends = Noted(0)

    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        sends.update { $0 += 1 }
        return HTTPResponse(status: 200, body: .bytes(Data("token".utf8)))
    }

    func shutdown() async {}
    var connectivity: Connectivity { .always }
}

/// A transport whose process is stopped for 28 seconds directly before it uses the permit of a send.
private struct StoppedTransport: Transport {
    let clock: TestClock
    let sends = Noted(0)
    /// How long it had when it was stopped.
    let timeLeft = Noted<Duration?>(nil)

    let features: TransportFeatures = [.observesStops, .usesPermits]

    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        timeLeft.value = context.permitTimeLeft
        clock.advanceAtOnce(by: .seconds(28))
        try await context.usePermit()
        sends.update { $0 += 1 }
        return HTTPResponse(status: 200, body: .bytes(Data("token".utf8)))
    }

    func shutdown() async {}
    var connectivity: Connectivity { .always }
}
