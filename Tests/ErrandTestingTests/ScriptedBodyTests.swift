import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Scripted streams, in virtual time") struct ScriptedBodyTests {
    private let clock = TestClock()
    private let network = ScriptedTransport()

    private func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        APIClient("https://api.test") {
            $0.transport = network
            $0.time = clock
            $0.rateLimit = .unlimited
            configure(&$0)
        }
    }

    /// Returns the chunks of a stream with the seconds at which they came, and the error that ended it.
    private func read(_ path: EndpointPath) async -> (chunks: [String], seconds: [Int], error: ServiceError?) {
        let (client, clock) = (client(), clock)
        return await clock.run {
            var (chunks, seconds): ([String], [Int]) = ([], [])
            do throws(ServiceError) {
                for try await chunk in try await client.stream(.get(path)).chunks {
                    chunks.append(String(decoding: chunk, as: UTF8.self))
                    seconds.append(Int(clock.elapsed / .seconds(1)))
                }
            } catch {
                return (chunks, seconds, error)
            }
            return (chunks, seconds, nil)
        }
    }

    private let twoChunks = ScriptedReply.chunks([Data("a".utf8), Data("b".utf8)], every: .seconds(2))

    @Test("chunks come one after the other, after the delay of their head")
    func chunks() async {
        network.on(.get, "/x", twoChunks.after(.seconds(10)))
        let read = await read("x")
        #expect(read.chunks == ["a", "b"] && read.seconds == [12, 14] && read.error == nil)
    }

    @Test("a stream that breaks off, and one that falls silent")
    func ends() async {
        network.on(.get, "/x", twoChunks.thenFailure(.reset), twoChunks.thenSilence)
        let broken = await read("x")
        guard case .transport(let failure) = broken.error else { return #expect(Bool(false), "\(broken)") }
        #expect(broken.chunks == ["a", "b"] && failure.kind == .reset)
        let silent = await read("x")
        #expect(silent.chunks == ["a", "b"])
        #expect(silent.error == .timedOut(Timeout(.attempt, limit: .seconds(30), phase: .receiving)))
        #expect(clock.sleepers == 0)
    }

    @Test("D17: a stream that does not have the length it promised fails its call", arguments: [["a"], ["ab", "c"]])
    func promisedLength(chunks: [String]) async throws {
        let stream = HTTPBody.Chunks { continuation in
            for chunk in chunks { continuation.yield(Data(chunk.utf8)) }
            continuation.finish()
        }
        let body = RequestBody.stream(length: 2, contentType: "text/plain", stream)
        let error = await #expect(throws: ServiceError.self) { try await client().run(.put("x", body: body)) }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .requestBody && failure.message.contains("2 bytes"))
        #expect(network.sent.isEmpty)
    }

    @Test("a reader who is slow finds what has come since")
    func slowReader() async throws {
        network.on(.get, "/x", twoChunks)
        let (client, clock) = (client(), clock)
        try await clock.run {
            var chunks = try await client.stream(.get("x")).chunks.makeAsyncIterator()
            try await clock.sleep(for: .seconds(9))
            _ = try await chunks.next()
            _ = try await chunks.next()
            #expect(clock.elapsed == .seconds(9))
        }
    }

    @Test("a body in pieces takes time, and the timeout limits each pause in it")
    func slowBody() async throws {
        let slow = ScriptedReply.json(#"["Ann"]"#)
        network.on(.get, "/x", slow.inPieces(of: 2, every: .seconds(29)), slow.inPieces(of: 2, every: .seconds(31)))
        network.on(.get, "/x", slow.thenFailure(), slow)
        let (client, clock) = (client { $0.retry = .never }, clock)
        try await clock.run {
            #expect(try await client.run(Endpoint<[String]>.get("x")) == ["Ann"])
            #expect(clock.elapsed == .seconds(29 * 4))
            let late = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<[String]>.get("x")) }
            #expect(late == .timedOut(Timeout(.attempt, limit: .seconds(30), phase: .receiving)))
            let broken = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<[String]>.get("x")) }
            guard case .transport(let failure) = broken else { throw try #require(broken) }
            #expect(failure.kind == .truncated)
            #expect(try await client.run(Endpoint<[String]>.get("x")) == ["Ann"])
        }
    }

    @Test("an event stream is read as it was scripted, over a second connection too")
    func events() async throws {
        let first = [ServerSentEvent("three\nlines\n\u{2028}", id: "7"), ServerSentEvent("", type: "new", id: "8")]
        network.on(.get, "/feed", .events(first, every: .seconds(1), retry: .seconds(3)).thenFailure(.reset))
        network.on(.get, "/feed", headers: ["Last-Event-ID": "8"], .events([]), .status(204))
        let (client, clock) = (client(), clock)
        let events = try await clock.run {
            var events: [ServerSentEvent] = []
            for try await event in client.events(.get("feed")) { events.append(event) }
            return events
        }
        #expect(events == first)
        #expect(clock.elapsed >= .seconds(5))
        try network.verify()
    }

    @Test("whatever ends a line in an event, no line is lost")
    func lineBreaks() async throws {
        network.on(.get, "/feed", .events([ServerSentEvent("a\r\nb\rc")]))
        let client = client()
        var data: [String] = []
        for try await event in client.events(.get("feed")).reconnecting(false) { data.append(event.data) }
        #expect(data == ["a\nb\nc"])
    }

    @Test("a stream that was not read to its end leaves nothing behind")
    func cancelled() async throws {
        network.on(.get, "/x", twoChunks.times(2))
        let (client, clock) = (client(), clock)
        try await clock.run {
            var stream: StreamedResponse? = try await client.stream(.get("x"))
            for try await _ in try #require(stream).chunks { break }
            stream = nil
            let reading = Task(executorPreference: clock.executor) {
                for try await _ in try await client.stream(.get("x")).chunks {}
            }
            try await clock.sleep(for: .seconds(1))
            reading.cancel()
            let outcome = await reading.result
            #expect(throws: ServiceError.cancelled) { try outcome.get() }
        }
        #expect(clock.sleepers == 0)
    }
}
