import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Event streams: the state of the connection", .timeLimit(.minutes(10)))
struct EventUpdateTests: EventScene {
    let clock = TestClock(seed: 5)
    let network = scripted()

    private func reason(_ error: ServiceError?) -> String {
        if case .transport(let failure) = error { return failure.kind.rawValue }
        return error?.name ?? "the end"
    }

    private func marked(_ mark: String, _ pieces: String...) -> ScriptedReply {
        let headers: HTTPHeaders = ["Content-Type": "text/event-stream", "X-Feed": mark]
        return .chunks(pieces.map { Data($0.utf8) }, every: .seconds(1), headers: headers)
    }

    /// Returns the updates in words, and the pauses.
    private func updates<Event>(
        of updates: ServerSentEvents.Updates<Event>
    ) async -> (words: [String], pauses: [Duration], error: ServiceError?) {
        await clock.run {
            var (words, pauses): ([String], [Duration]) = ([], [])
            do throws(ServiceError) {
                for try await update in updates {
                    switch update {
                    case .connected(let headers): words.append("connected \(headers["X-Feed"] ?? "")")
                    case .waiting(let error, let pause):
                        words.append("waiting after \(reason(error))")
                        pauses.append(pause)
                    case .event(let event):
                        words.append((event as? ServerSentEvent)?.data ?? "\(event)")
                    }
                    guard words.count < 100 else { break }
                }
                return (words, pauses, nil)
            } catch {
                return (words, pauses, error)
            }
        }
    }

    @Test("E2: they say when it is connected, and when and why it waits, between the events around that")
    func whole() async throws {
        let first = marked("1", "data: a\n\n", "data: b\n\n").thenFailure()
        network.on(.get, "/feed", .failure(.refused), first, connection("data: c\n\n"), .status(503), .status(204))
        let events = client { $0.retry = .never }.events(.get("feed")).reconnecting(fromStart: true)
        let (words, pauses, error) = await updates(of: events.updates)
        #expect(
            words == [
                "waiting after refused", "connected 1", "a", "b", "waiting after truncated",
                "connected ", "c", "waiting after the end", "waiting after serverFailure",
            ])
        #expect(error == nil)
        // Each pause is the one that follows.
        let ends = [Duration.zero, .seconds(2), .seconds(1), .zero]
        for (gap, wanted) in zip(gaps, zip(ends, pauses).map { $0 + $1 }) {
            // An instant has whole nanoseconds.
            #expect(gap <= wanted && gap > wanted - .nanoseconds(2))
        }
        #expect(gaps.count == pauses.count)
        #expect(Set(pauses).count == 4)
    }

    @Test("E2: those of decoded values have values, and data that does not match ends them")
    func decoded() async throws {
        network.on(.get, "/feed", connection("data: 1\n\n", "data: 2\n\n", "data: x\n\n"))
        let (words, _, error) = await updates(of: client().events(.get("feed"), of: Int.self).updates)
        #expect(words == ["connected ", "1", "2"])
        guard case .decodingFailed(let failure) = error else { throw try #require(error) }
        #expect(failure.description.contains("in event 3"))
    }

    @Test("an error that is not worth another connection ends them")
    func refused() async throws {
        network.on(.get, "/feed", connection("data: a\n\n"), .status(404))
        let (words, _, error) = await updates(of: client().events(.get("feed")).updates)
        #expect(words == ["connected ", "a", "waiting after the end"] && error?.status == 404)
    }

    @Test("decoded values wait for the first connection as well")
    func fromStart() async throws {
        network.on(.get, "/feed", .failure(.dns), connection("data: 1\n\n"), .status(204))
        let numbers = client { $0.retry = .never }.events(.get("feed"), of: Int.self).reconnecting(fromStart: true)
        let (words, _, error) = await updates(of: numbers.updates)
        #expect(words == ["waiting after dns", "connected ", "1", "waiting after the end"] && error == nil)
    }

    // MARK: The events of a response

    @Test("a response gives its head, and its body as events; nothing connects again")
    func response() async throws {
        network.on(.post, "/chat", marked("7", "data: 1\n\n", "data: [DONE]\n\n"))
        let client = client()
        let (head, data) = try await clock.run {
            let response = try await client.stream(.post("chat"))
            var data: [String] = []
            for try await event in response.events.until({ $0.data == "[DONE]" }) { data.append(event.data) }
            return (response.headers["X-Feed"], data)
        }
        #expect(head == "7" && data == ["1"])
        #expect(network.sent.count == 1)
    }

    @Test(
        "the events of a response that breaks off before its end, or is no event stream, throw",
        arguments: [true, false])
    func brokenResponse(isEvents: Bool) async throws {
        network.on(.post, "/chat", isEvents ? connection("data: 1\n\n") : .json("{}"))
        let client = client()
        let error = await clock.run {
            await #expect(throws: ServiceError.self) {
                let response = try await client.stream(.post("chat"))
                for try await _ in response.events.until({ $0.data == "[DONE]" }) {}
            }
        }
        #expect(reason(error) == (isEvents ? "truncated" : "decodingFailed"))
        #expect(network.sent.count == 1)
    }

    @Test("the events of a response can be read once, also if they should connect again")
    func secondTime() async throws {
        network.on(.get, "/feed", connection("data: 1\n\n"))
        let client = client()
        try await clock.run {
            let events = try await client.stream(.get("feed")).events.reconnecting()
            let (data, error) = await data(of: events)
            #expect(data == ["1"])
            guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
            #expect(invalid.subject == .bodyAlreadyRead)
        }
        #expect(network.sent.count == 1)
    }

    // MARK: The data of an event

    @Test("the data of an event is decoded, and data that does not match is named by its path")
    func decode() throws {
        let event = ServerSentEvent(#"{"user": {"id": "seven", "token": "abc"}}"#)
        #expect(try ServerSentEvent("[1, 2]").decode(as: [Int].self) == [1, 2])
        #expect(try ServerSentEvent(#"{"first_name": 1}"#).decode(by: .json(keys: .snakeCase)) == ["first_name": 1])
        struct Model: Decodable {
            struct User: Decodable { var id: Int }
            var user: User
        }
        let error = #expect(throws: ServiceError.self) { try event.decode(as: Model.self) }
        guard case .decodingFailed(let failure) = error else { throw try #require(error) }
        #expect(failure.path == "user.id" && failure.expected == "Int")
        #expect(failure.snippet.contains("seven") && !failure.snippet.contains("abc"))
    }

    @Test("a failure is made of any decoder's error, and of one that is none")
    func foreignError() throws {
        struct Odd: Error {}
        struct Invoice: Decodable { var total: Double }
        let data = Data(#"{"total": "12,50"}"#.utf8)
        let error = try #require(throws: DecodingError.self) { try JSONDecoder().decode(Invoice.self, from: data) }
        let failure = DecodingFailure(error, decoding: Invoice.self, from: data)
        #expect(failure.path == "total" && failure.expected == "Double" && failure.snippet == #"{"total": "12,50"}"#)
        #expect(ServiceError.decodingFailed(failure).name == "decodingFailed")
        let other = DecodingFailure(Odd(), decoding: Invoice.self)
        #expect(other.found.hasPrefix("a value whose decoding threw ") && other.found.hasSuffix("Odd"))
    }
}
