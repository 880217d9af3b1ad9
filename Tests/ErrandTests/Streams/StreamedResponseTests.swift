@testable import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Streamed responses", .timeLimit(.minutes(10))) struct StreamedResponseTests {
    private let clock = TestClock()
    private let network = scripted()

    /// Returns a body of `count` chunks with a pause before each.
    private func body(_ count: Int, every pause: Duration) -> HTTPBody {
        .stream(opening: { [clock] in
            let left = Noted(count)
            return HTTPBody.Chunks(unfolding: {
                try await clock.sleep(for: pause)
                left.update { $0 -= 1 }
                return left.value < 0 ? nil : Data("\(count - left.value)".utf8)
            })
        })
    }

    private func stream(_ count: Int, every pause: Duration = .seconds(1)) -> ScriptedReply {
        .response(HTTPResponse(status: 200, headers: ["X-Kind": "log"], body: body(count, every: pause)))
    }

    @Test("the head comes first, then the chunks; the call lasts until the last of them")
    func wholeStream() async throws {
        network.on(.get, "/logs", stream(3))
        let client = testClient(network, clock)
        let numbers = Noted<[Int]>([])
        let events = client.diagnostics
        try await clock.run {
            let listener = Task(executorPreference: clock.executor) {
                for await number in client.activity { numbers.update { $0.append(number) } }
            }
            try await clock.sleep(for: .seconds(10))
            let response = try await client.stream(.get("logs"))
            #expect(response.status == 200 && response.headers["X-Kind"] == "log" && response.attempts == 1)
            #expect(clock.elapsed == .seconds(10))
            var chunks: [Data] = []
            for try await chunk in response.chunks {
                chunks.append(chunk)
                #expect(clock.elapsed == .seconds(10 + chunks.count))
            }
            #expect(chunks == ["1", "2", "3"].map { Data($0.utf8) })
            await client.shutdown()
            await listener.value
        }
        #expect(numbers.value == [0, 1, 0])
        var ends: [ClientEvent.Kind] = []
        for await event in events { ends.append(event.kind) }
        #expect(ends.last == .succeeded(attempts: 1, after: .seconds(4)))
        #expect(ends.count { if case .succeeded = $0 { true } else { false } } == 1)
    }

    @Test("a call is retried, and replayed, until its head is there; an error status carries its message")
    func untilTheHead() async throws {
        network.on(.get, "/logs", .status(503), stream(1))
        network.on(.get, "/gone", .json(#"{"message": "The log was deleted"}"#, status: 410))
        let client = testClient(network, clock)
        try await clock.run {
            let response = try await client.stream(.get("logs"))
            #expect(response.attempts == 2)
            let error = await #expect(throws: ServiceError.self) { try await client.stream(.get("gone")) }
            guard case .rejected(let rejection) = error else { throw try #require(error) }
            #expect(rejection.status == 410 && rejection.message == "The log was deleted")
        }
    }

    @Test("a stream may last longer than its timeout, but no pause in it; a timeout ends the call")
    func pauses() async throws {
        network.on(.get, "/steady", stream(60))
        network.on(.get, "/silent", stream(1, every: .seconds(31)))
        let client = testClient(network, clock) { $0.timeout = .seconds(30) }
        try await clock.run {
            var count = 0
            for try await _ in try await client.stream(.get("steady")).chunks { count += 1 }
            #expect(count == 60)
            let response = try await client.stream(.get("silent"))
            let start = clock.elapsed
            var chunks = response.chunks.makeAsyncIterator()
            let expected = Timeout(.attempt, limit: .seconds(30), phase: .receiving, mayHaveReachedServer: true)
            await #expect(throws: ServiceError.timedOut(expected)) { try await chunks.next() }
            #expect(clock.elapsed - start == .seconds(30))
            // After it has thrown, the sequence is at its end.
            #expect(try await chunks.next() == nil)
            await client.shutdown()
        }
        #expect(clock.alarmCount == 0)
    }

    @Test(
        "C17: the deadline covers the whole call, whether its reader waits or does not read",
        arguments: [true, false])
    func deadline(isReading: Bool) async throws {
        network.on(.get, "/logs", stream(100))
        let client = testClient(network, clock)
        try await clock.run {
            let response = try await client.stream(.get("logs").deadline(.milliseconds(2_500)))
            var chunks = response.chunks.makeAsyncIterator()
            if isReading {
                for _ in 0..<2 { _ = try await chunks.next() }
            } else {
                try await clock.sleep(for: .seconds(60))
            }
            let limit = Duration.milliseconds(2_500)
            let expected = Timeout(.deadline, limit: limit, phase: .receiving, mayHaveReachedServer: true)
            let error = await #expect(throws: ServiceError.self) { try await chunks.next() }
            #expect(error == .timedOut(expected))
            if isReading { #expect(clock.elapsed == .milliseconds(2_500)) }
            await client.shutdown()
        }
        #expect(clock.alarmCount == 0)
    }

    @Test(
        "cancelAll ends a stream, whether its reader waits or not; shutdown waits for no reader",
        arguments: [true, false])
    func cancelAll(isShutDown: Bool) async throws {
        network.on(.get, "/logs", stream(100).times(2))
        let client = testClient(network, clock)
        try await clock.run {
            let read = try await client.stream(.get("logs"))
            let idle = try await client.stream(.get("logs"))
            let reader = Task(executorPreference: clock.executor) { () async -> (Int, ServiceError?) in
                var count = 0
                do throws(ServiceError) {
                    for try await _ in read.chunks { count += 1 }
                    return (count, nil)
                } catch {
                    return (count, error)
                }
            }
            try await clock.sleep(for: .milliseconds(3_500))
            if isShutDown { await client.shutdown() } else { client.cancelAll() }
            let (count, error) = await reader.value
            #expect(count == 3 && error == .cancelled)
            var chunks = idle.chunks.makeAsyncIterator()
            await #expect(throws: ServiceError.cancelled) { try await chunks.next() }
            #expect(clock.elapsed == .milliseconds(3_500))
            #expect(await client.activity.first { _ in true } ?? 0 == 0)
        }
        #expect(clock.alarmCount == 0 && clock.sleepers == 0)
    }

    @Test("C48: cancelling the reader's task ends the call; so does dropping the response")
    func left() async throws {
        network.on(.get, "/logs", stream(100).times(2))
        let client = testClient(network, clock)
        let events = client.diagnostics
        try await clock.run {
            let reader = Task(executorPreference: clock.executor) { () async throws in
                for try await _ in try await client.stream(.get("logs")).chunks {}
            }
            try await clock.sleep(for: .milliseconds(1_500))
            reader.cancel()
            await #expect(throws: ServiceError.cancelled) { try await reader.value }
            for try await _ in try await client.stream(.get("logs")).chunks { break }
            // Nothing is left to wait for.
            await client.shutdown()
        }
        var ends: [ServiceError] = []
        for await event in events { if let failure = event.failure { ends.append(failure) } }
        #expect(ends == [.cancelled, .cancelled])
        #expect(clock.alarmCount == 0)
    }

    @Test("a body is read once; a second iterator throws, and takes nothing from the first")
    func once() async throws {
        network.on(.get, "/logs", stream(2))
        let client = testClient(network, clock)
        try await clock.run {
            let response = try await client.stream(.get("logs"))
            var (first, second) = (response.chunks.makeAsyncIterator(), response.chunks.makeAsyncIterator())
            #expect(try await first.next() == Data("1".utf8))
            let error = await #expect(throws: ServiceError.self) { try await second.next() }
            guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
            #expect(invalid.subject == .bodyAlreadyRead)
            #expect(error?.mayHaveReachedServer == true)
            let sentence = "The response cannot be read: the body of a streamed"
            #expect(invalid.description.hasPrefix(sentence))
            #expect(try await first.next() == Data("2".utf8))
        }
    }

    @Test("a middleware sees the stream; an error of the body itself ends the call with it")
    func brokenOff() async throws {
        struct Doubling: Middleware {
            func intercept(
                _ request: HTTPRequest, _ context: CallContext, next: Next
            ) async throws -> HTTPResponse {
                var response = try await next(request, context)
                let (chunks, feed) = HTTPBody.Chunks.makeStream()
                feed.yield(Data("first".utf8))
                feed.finish(throwing: ServiceError.transport(TransportFailure(.truncated, "it broke off")))
                #expect(response.body.bytes == nil)
                response.body = .stream(chunks)
                return response
            }
        }
        network.on(.get, "/logs", stream(2))
        let client = testClient(network, clock) { $0.callMiddlewares = [Doubling()] }
        try await clock.run {
            var chunks = try await client.stream(.get("logs")).chunks.makeAsyncIterator()
            #expect(try await chunks.next() == Data("first".utf8))
            let error = await #expect(throws: ServiceError.self) { try await chunks.next() }
            let expected = TransportFailure(.truncated, "it broke off", mayHaveReachedServer: true)
            #expect(error == .transport(expected))
            await client.shutdown()
        }
    }

    @Test(
        "a POST stream whose user signs out may have reached the server, whether it is read then or not",
        arguments: [true, false])
    func sentBeforeSignOut(isRead: Bool) async throws {
        network.on(.post, "/logs", stream(3))
        let tokens = TokenStore(time: clock) { $0 }
        await tokens.signIn(Token(accessToken: "token"))
        let client = testClient(network, clock) { $0.tokens = tokens }
        try await clock.run {
            let response = try await client.stream(.post("logs"))
            let reader = Task(executorPreference: clock.executor) {
                if !isRead { try? await clock.sleep(for: .seconds(5)) }
                return await failure { () async throws(ServiceError) in for try await _ in response.chunks {} }
            }
            try await clock.sleep(for: .milliseconds(500))
            await tokens.signOut()
            #expect(await reader.value == .sessionExpired(SessionExpiry(.signedOut, mayHaveReachedServer: true)))
        }
    }

    @Test("a stream that is not read ends when its user signs out; one that is not signed goes on")
    func signedOut() async throws {
        network.on(.get, "/logs", stream(3).always)
        let tokens = TokenStore(time: clock) { $0 }
        await tokens.signIn(Token(accessToken: "token"))
        let client = testClient(network, clock) { $0.tokens = tokens }
        try await clock.run {
            var signed = try await client.stream(.get("logs")).chunks.makeAsyncIterator()
            var open = try await client.stream(.get("logs").authentication(.none)).chunks.makeAsyncIterator()
            #expect(try await signed.next() == Data("1".utf8))
            await tokens.signOut()
            var counts = client.activity.makeAsyncIterator()
            #expect(await counts.next() == 1)
            await #expect(throws: ServiceError.self) { try await signed.next() }
            var count = 0
            while try await open.next() != nil { count += 1 }
            #expect(count == 3)
            await client.shutdown()
        }
    }
}
