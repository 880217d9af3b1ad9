import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("A timeout bounds silence") struct SilenceTests {
    private static let longSilence = Timeout(.attempt, limit: .seconds(30), phase: .receiving)

    private let clock = TestClock()

    /// A transport whose response has a body in two parts, and that reports what the closure says before it.
    private struct SlowTransport: Transport {
        let clock: TestClock
        var pause = Duration.zero
        var prepare: @Sendable (TransportContext) async throws -> Void = { _ in }

        var connectivity: Connectivity { .always }

        func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
            try await prepare(context)
            let parts = Noted(["[1", ", 2", "]"][...])
            let (clock, pause) = (clock, pause)
            let chunks = HTTPBody.Chunks {
                guard !parts.value.isEmpty else { return nil }
                try await clock.sleep(for: pause)
                return Data(parts.removeFirst().utf8)
            }
            return HTTPResponse(status: 200, headers: ["Content-Type": "application/json"], body: .stream(chunks))
        }

        func shutdown() async {}
    }

    private func outcome(_ transport: SlowTransport) async -> Result<[Int], ServiceError> {
        let client = testClient(transport, clock) {
            $0.retry = .never
            $0.timeout = .seconds(30)
        }
        return await clock.run {
            await Result { () async throws(ServiceError) in try await client.run(Endpoint<[Int]>.get("x")) }
        }
    }

    @Test("C23: a body may take longer than the timeout, as long as no pause in it does")
    func body() async {
        #expect(await outcome(SlowTransport(clock: clock, pause: .seconds(29))) == .success([1, 2]))
        #expect(clock.elapsed == .seconds(87))
        #expect(clock.sleepers == 0)
    }

    @Test("C23: a pause in a body that is as long as the timeout ends the call then")
    func pause() async {
        let silent = SlowTransport(clock: clock, pause: .seconds(31))
        #expect(await outcome(silent) == .failure(.timedOut(Self.longSilence)))
        #expect(clock.elapsed == .seconds(30))
        #expect(clock.sleepers == 0)
    }

    @Test("C23: the timeout begins anew whenever a transport reports progress")
    func progress() async {
        let clock = clock
        let transport = SlowTransport(clock: clock) { context in
            for _ in 0..<4 {
                try await clock.sleep(for: .seconds(29))
                context.noteProgress()
            }
        }
        #expect(await outcome(transport) == .success([1, 2]))
        #expect(clock.elapsed == .seconds(116))
    }

    @Test("C23: the head is one wait: connecting does not make it longer")
    func head() async {
        let clock = clock
        let transport = SlowTransport(clock: clock) { context in
            context.note(.connecting)
            try await clock.sleep(for: .seconds(20))
            context.note(.waitingForResponse)
            try await clock.sleep(for: .seconds(20))
        }
        let limit = Timeout(.attempt, limit: .seconds(30), phase: .waitingForResponse)
        #expect(await outcome(transport) == .failure(.timedOut(limit)))
        #expect(clock.elapsed == .seconds(30))
    }

    @Test("C23: no timeout runs in the transport's queue; a deadline does")
    func queue() async {
        let clock = clock
        let transport = SlowTransport(clock: clock) { context in
            context.note(.waitingForConnection)
            try await clock.sleep(for: .seconds(100))
            context.note(.connecting)
            try await clock.sleep(for: .seconds(29))
        }
        #expect(await outcome(transport) == .success([1, 2]))
        #expect(clock.elapsed == .seconds(129))
        let client = testClient(transport, clock) { $0.deadline = .seconds(70) }
        let error = await clock.run {
            await #expect(throws: ServiceError.self) { try await client.run(Endpoint<[Int]>.get("x")) }
        }
        #expect(error == .timedOut(Timeout(.deadline, limit: .seconds(70), phase: .waitingForConnection)))
        #expect(clock.elapsed == .seconds(199))
    }
}
