import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// A transport of an adapter package whose authors have written the two methods that every transport has.
private final class PlainAdapter: Transport {
    private let inner: any Transport

    init(_ inner: any Transport) {
        self.inner = inner
    }

    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        try await inner.send(request, context: context)
    }

    func shutdown() async { await inner.shutdown() }
}

#if os(Linux)
@Suite("A transport of an adapter package", .timeLimit(.minutes(10))) struct AdapterTests {
    @Test("one that passes on requests and nothing else meets every requirement", arguments: TransportConformance.all)
    func conforms(_ rule: TransportConformance.Case) async throws {
        try await rule.check { PlainAdapter(CurlTransport()) }
    }
}
#endif

@Suite("A transport with an engine of its own", .timeLimit(.minutes(10))) struct OwnEngineTests {
    /// A wait that another thread ends.
    private final class Waiter: Sendable {
        private let state = Lock<(isOver: Bool, continuation: CheckedContinuation<Void, Never>?)>((false, nil))

        func wait() async {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if !state.isOver { state.continuation = continuation }
                    return state.isOver
                }
                if isOver { continuation.resume() }
            }
        }

        func end() {
            let continuation = state.withLock { state in
                defer { state = (true, nil) }
                return state.continuation
            }
            continuation?.resume()
        }
    }

    private final class Waiters: Sendable {
        private let state = Lock<(isOpen: Bool, waiters: [Waiter])>((false, []))

        func add() -> Waiter {
            let waiter = Waiter()
            let isOpen = state.withLock { state in
                state.waiters.append(waiter)
                return state.isOpen
            }
            if isOpen { waiter.end() }
            return waiter
        }

        func open() {
            let waiters = state.withLock { state in
                state.isOpen = true
                return state.waiters
            }
            for waiter in waiters { waiter.end() }
        }
    }

    /// Requests wait in it until it is opened, and it observes stops and uses permits by itself.
    private final class Engine: Transport {
        private let waiters = Waiters()
        let sends = Noted<[Instant]>([])
        let features: TransportFeatures = [.observesStops, .usesPermits, .countsUploads]

        func open() { waiters.open() }

        func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
            context.note(.waitingForConnection)
            let waiter = waiters.add()
            await context.withStopHandler {
                await waiter.wait()
            } onStop: {
                waiter.end()
            }
            guard !context.isStopped else { throw CancellationError() }
            try await context.usePermit()
            let report = context.uploadProgress(of: request.body?.length)
            if let body = request.body {
                try await context.readingBody {
                    let reading = Task { for try await chunk in body.chunks { report?(chunk.count) } }
                    // A stop does not end the stream of a body by itself.
                    let result = await context.withStopHandler {
                        await reading.result
                    } onStop: {
                        reading.cancel()
                    }
                    try result.get()
                }
            }
            sends.update { $0.append(context.time.now) }
            return HTTPResponse(status: 200, body: .bytes(Data("1".utf8)))
        }

        func shutdown() async {}
        var connectivity: Connectivity { .always }
    }

    private func client(_ engine: Engine, _ clock: TestClock, _ limit: RateLimit) -> APIClient {
        APIClient("https://api.test") {
            $0.transport = engine
            $0.time = clock
            $0.rateLimit = limit
            $0.retry = .never
        }
    }

    @Test("requests that have waited in it leave at the pace of the limit, although their permits are older")
    func paced() async throws {
        let (engine, clock) = (Engine(), TestClock { _ in })
        let client = client(engine, clock, .requests(1, per: .seconds(1)))
        try await clock.run {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 { group.addTask { try await client.run(.get("x")) } }
                try await clock.sleep(for: .seconds(30))
                engine.open()
                for try await value in group { #expect(value == 1) }
            }
        }
        let sends = engine.sends.value.sorted()
        #expect(sends.count == 4)
        for (one, next) in zip(sends, sends.dropFirst()) { #expect(one.duration(to: next) >= .seconds(1)) }
    }

    @Test("a stop reaches it, and the call throws the reason")
    func stopped() async throws {
        let (engine, clock) = (Engine(), TestClock { _ in })
        let client = client(engine, clock, .unlimited)
        let error = await clock.run {
            await #expect(throws: ServiceError.self) {
                try await client.run(Endpoint<Int>.get("x").deadline(.seconds(5)))
            }
        }
        guard case .timedOut(let timeout) = error else { throw try #require(error) }
        #expect(timeout.bound == .deadline && timeout.phase == .waitingForConnection)
        #expect(engine.sends.value.isEmpty && clock.elapsed == .seconds(5))
    }

    @Test("what it has sent of a body is the progress that the caller sees, also below another", arguments: [1, 2])
    func progress(layers: Int) async throws {
        let (engine, clock) = (Engine(), TestClock { _ in })
        engine.open()
        let client = APIClient("https://api.test") {
            $0.transport = layers == 1 ? engine : PlainAdapter(engine)
            $0.time = clock
        }
        let seen = Noted<[TransferProgress]>([])
        let endpoint = Endpoint<Int>.put("x", body: .json([1, 2, 3]))
        let value = try await client.run(endpoint) { progress in
            seen.update { $0.append(progress) }
        }
        #expect(value == 1 && seen.value.last?.bytes == 7)
        #expect(seen.value.allSatisfy { $0.attempt == 1 }, "\(seen.value)")
    }
}
