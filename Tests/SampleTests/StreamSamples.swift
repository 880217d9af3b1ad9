import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Observation
import Testing

@Observable @MainActor
final class FeedModel {
    private(set) var messages: [Message] = []
    private let client: APIClient

    init(client: APIClient) { self.client = client }

    func follow() async throws {
        for try await update in client.events(.get("messages/new"), of: Message.self).updates {
            switch update {
            case .connected: messages = try await client.run(.get("messages"))
            case .waiting: break
            case .event(let message) where messages.contains { $0.id == message.id }: break
            case .event(let message): messages.append(message)
            }
        }
    }
}

struct Message: Decodable, Sendable {
    var id: Int
    var text: String
}

@Suite("Streams and events", .timeLimit(.minutes(10))) struct StreamSamples {
    private let network = scripted()

    private func client() -> APIClient {
        APIClient("https://api.test") {
            $0.transport = network
            $0.rateLimit = .unlimited
        }
    }

    @Test("the lines of a log")
    func lines() async throws {
        network.on(.get, "/logs/today", .chunks([Data("a\nb\n".utf8)]))
        let client = self.client()
        func print(_ line: String) { #expect(["a", "b"].contains(line)) }
        let log = try await client.stream(.get("logs/today"))
        for try await line in log.lines { print(line) }
    }

    @Test("rows of JSON")
    func rows() async throws {
        let rows = [#"{"page": "/", "seconds": 3}"#, "\n", #"{"page": "/a", "seconds": 4}"#]
        network.on(.get, "/export", .chunks(rows.map { Data($0.utf8) }))
        let client = self.client()
        struct Visit: Decodable, Sendable {
            var page: String
            var seconds: Int
        }

        var total = 0
        for try await visit in try await client.stream(.get("export")).decoded(Visit.self) {
            total += visit.seconds
        }
        #expect(total == 7)
    }

    @Test("the events of a feed")
    func events() async throws {
        let soon = Duration.milliseconds(1)
        network.on(.get, "/feed", .events([ServerSentEvent("a", type: "new")], retry: soon), .status(204))
        let (client, shown) = (self.client(), Shown())
        func show(_ text: String) { shown.texts.append(text) }
        for try await event in client.events(.get("feed")) {
            show("\(event.type): \(event.data)")
        }
        #expect(shown.texts == ["new: a"])
    }

    @Test("the values in events, and events that are decoded each by itself")
    func values() async throws {
        let soon = Duration.milliseconds(1)
        let friend = ServerSentEvent(#"{"id": 1, "name": "Ann"}"#, type: "user")
        network.on(.get, "/friends/new", .events([friend], retry: soon), .status(204))
        network.on(.get, "/feed", .events([ServerSentEvent("a"), friend], retry: soon), .status(204))
        let (client, shown) = (self.client(), Shown())
        func show(_ text: String) { shown.texts.append(text) }
        for try await friend in client.events(.get("friends/new"), of: User.self) {
            show(friend.name)
        }
        for try await event in client.events(.get("feed")) {
            if event.type == "user" { show(try event.decode(as: User.self).name) }
        }
        #expect(shown.texts == ["Ann", "Ann"])
    }

    @Test("a list that is loaded again at each connection misses nothing, and shows nothing twice")
    @MainActor func catchingUp() async throws {
        let (network, clock) = (scripted(), TestClock())
        func message(_ id: Int) -> String { #"{"id": \#(id), "text": "text \#(id)"}"# }
        func list(_ ids: ClosedRange<Int>) -> ScriptedReply { .json("[\(ids.map(message).joined(separator: ","))]") }
        func events(_ ids: ClosedRange<Int>) -> ScriptedReply { .events(ids.map { ServerSentEvent(message($0)) }) }
        network.on(.get, "/messages/new", events(2...2), events(3...4), .status(204))
        // The second list has message 3, and so has the second connection.
        network.on(.get, "/messages", list(1...1), list(1...3))
        let model = FeedModel(client: testClient(network, clock))
        try await clock.run { try await model.follow() }
        #expect(model.messages.map(\.id) == [1, 2, 3, 4])
    }

    @Test("the answer of a language model")
    func model() async throws {
        let parts = [#"{"text": "Be"}"#, #"{"text": "cause"}"#, "[DONE]"]
        network.on(.post, "/chat", .events(parts.map { ServerSentEvent($0) }))
        let (client, shown) = (self.client(), Shown())
        func show(_ text: String) { shown.texts.append(text) }
        struct Part: Decodable, Sendable {
            var text: String
        }

        let question: Endpoint<Data> = .post("chat", body: .json(["question": "Why?", "stream": true]))
        let answer = client.events(question, of: Part.self).until { $0.data == "[DONE]" }
        for try await part in answer { show(part.text) }
        #expect(shown.texts.joined() == "Because")
    }
}

private final class Shown {
    var texts: [String] = []
}

// The samples of the doc comments.

private struct Row: Decodable, Sendable {}
private struct Part: Decodable, Sendable {}

private func comments(_ client: APIClient, _ question: Endpoint<Data>) async throws {
    func add(_ row: Row) {}
    func show(_ message: Any) {}
    for try await line in try await client.stream(.get("logs")).lines { print(line) }
    for try await row in try await client.stream(.get("export")).decoded(Row.self) { add(row) }
    for try await event in client.events(.get("feed")) { show(event.data) }
    for try await message in client.events(.get("feed"), of: Message.self) { show(message) }
    for try await event in client.events(.get("feed")).reconnecting(fromStart: true) {
        show(event.data)
    }
    let answer = client.events(question, of: Part.self).until { $0.data == "[DONE]" }
    for try await part in answer { show(part) }
}
