import Errand
import ErrandTesting
import Foundation
import Observation
import Testing

@Observable @MainActor
final class FeedModel {
    private(set) var messages: [Message] = []
    private(set) var problem: String?
    private let client: APIClient

    init(client: APIClient) { self.client = client }

    func follow() async {
        do throws(ServiceError) {
            for try await message in client.events(.get("feed"), of: Message.self) {
                messages.append(message)
            }
        } catch .cancelled {
            // The view is gone.
        } catch {
            problem = error.localizedDescription
        }
    }
}

struct Message: Decodable, Sendable {
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

    @Test("the events of a feed, and the values in them")
    func events() async throws {
        let soon = Duration.milliseconds(1)
        network.on(.get, "/feed", .events([ServerSentEvent("a", type: "new")], retry: soon), .status(204))
        let friend = ServerSentEvent(#"{"id": 1, "name": "Ann"}"#)
        network.on(.get, "/friends/new", .events([friend], retry: soon), .status(204))
        let (client, shown) = (self.client(), Shown())
        func show(_ text: String) { shown.texts.append(text) }
        for try await event in client.events(.get("feed")) {
            show("\(event.type): \(event.data)")
        }
        for try await friend in client.events(.get("friends/new"), of: User.self) {
            show(friend.name)
        }
        #expect(shown.texts == ["new: a", "Ann"])
    }

    @Test("an app's model follows a feed until its view is gone")
    @MainActor func follow() async throws {
        let server = try LoopbackServer()
        server.on(.get, "/feed", .events([ServerSentEvent(#"{"text": "Hello"}"#)]).cut(.beforeEnd, by: .silence))
        let model = FeedModel(client: APIClient(server.baseURL))
        let following = Task { await model.follow() }
        while model.messages.isEmpty && model.problem == nil { await Task.yield() }
        following.cancel()
        await following.value
        #expect(model.messages.map(\.text) == ["Hello"] && model.problem == nil)
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
