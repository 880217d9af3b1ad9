import Errand
import ErrandTesting
import Foundation
import Testing

@testable import ChatClient

@Suite("A client of a language model, against a server", .timeLimit(.minutes(10)))
struct ChatClientTests {
    private func part(_ word: String) -> ServerSentEvent {
        ServerSentEvent(#"{"choices": [{"delta": {"content": "\#(word)"}}]}"#)
    }

    @Test("the answer comes word by word, and ends")
    func answer() async throws {
        let server = try LoopbackServer()
        let begin = ServerSentEvent(#"{"choices": [{"delta": {"role": "assistant"}}]}"#)
        let events = [begin, part("Be"), part("cause"), ServerSentEvent("[DONE]"), part("no more")]
        server.on(.post, "/v1/chat/completions", .events(events))
        let client = APIClient("\(server.baseURL)/v1")
        var words: [String] = []
        for try await word in client.answer(to: [Message(content: "Why?")]) { words.append(word) }
        #expect(words == ["Be", "cause"])
        let sent = try JSONDecoder().decode(JSONValue.self, from: try #require(server.received.first).body)
        #expect(sent["stream"]?.bool == true && sent["messages"]?[0]?["content"]?.string == "Why?")
    }

    @Test("a stream that breaks off is an error, and the question is not asked again")
    func broken() async throws {
        let server = try LoopbackServer()
        server.on(.post, "/chat/completions", .events([part("Be")]).cut(.withinBody))
        let client = APIClient(server.baseURL)
        var words: [String] = []
        await #expect(throws: ServiceError.self) {
            for try await word in client.answer(to: [Message(content: "Why?")]) { words.append(word) }
        }
        #expect(server.received.count == 1)
    }
}
