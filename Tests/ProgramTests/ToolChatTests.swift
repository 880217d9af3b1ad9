import Errand
import ErrandTesting
import Foundation
import Testing

@testable import ToolChat

@Suite("A chat with a language model that calls functions", .timeLimit(.minutes(10)))
struct ToolChatTests {
    private let server: LoopbackServer
    private let weather = Tool(
        name: "weather", description: "The weather in a town",
        parameters: ["type": "object", "properties": ["town": ["type": "string"]]]
    ) { arguments in
        let town = try JSONDecoder().decode([String: String].self, from: arguments)["town"] ?? ""
        guard town != "nowhere" else { throw CocoaError(.featureUnsupported) }
        return "sun in \(town)"
    }

    init() throws {
        server = try LoopbackServer()
    }

    private func chat(_ tools: [Tool]? = nil) -> Chat { Chat(server.baseURL, key: "k", tools: tools ?? [weather]) }

    private func words(_ words: String..., tokens: Int = 10) -> LoopbackReply {
        let parts = words.map { ServerSentEvent(#"{"choices": [{"delta": {"content": "\#($0)"}}]}"#) }
        let usage = ServerSentEvent(#"{"choices": [], "usage": {"total_tokens": \#(tokens)}}"#)
        return .events(parts + [usage, ServerSentEvent("[DONE]")])
    }

    /// Calls of the function, whose names and arguments come in pieces.
    private func calls(_ towns: String...) -> LoopbackReply {
        let pieces = towns.enumerated().flatMap { index, town in
            [
                #"{"index": \#(index), "id": "call \#(index)", "function": {"name": "weather", "arguments": ""}}"#,
                #"{"index": \#(index), "function": {"arguments": "{\"town\": "}}"#,
                #"{"index": \#(index), "function": {"arguments": "\"\#(town)\"}"}}"#,
            ]
        }
        let parts = pieces.map { ServerSentEvent(#"{"choices": [{"delta": {"tool_calls": [\#($0)]}}]}"#) }
        return .events(parts + [ServerSentEvent("[DONE]")])
    }

    private func asked(_ number: Int) throws -> JSONValue {
        try JSONDecoder().decode(JSONValue.self, from: try #require(server.received.dropFirst(number).first).body)
    }

    @Test("functions are called, their results go back, and the answer comes word by word; a 429 is waited out")
    func whole() async throws {
        let busy = LoopbackReply.json(
            #"{"error": {"code": "rate_limit"}}"#, status: 429, headers: ["Retry-After-Ms": "20"])
        server.on(.post, "/chat/completions", busy, calls("Bern", "nowhere"), words("It ", "shines."), words("Yes."))
        let chat = chat()
        var shown = ""
        try await chat.ask("Is it nice?") { shown += $0 }
        #expect(shown == "It shines.")
        let second = try asked(2)["messages"]
        #expect(second?[1]?["tool_calls"]?[1]?["function"]?["arguments"]?.string == #"{"town": "nowhere"}"#)
        #expect(second?[2]?["content"]?.string == "sun in Bern" && second?[2]?["tool_call_id"]?.string == "call 0")
        #expect(second?[3]?["content"]?.string?.hasPrefix("error: ") == true)
        try await chat.ask("Sure?") { shown += $0 }
        let tokens = await chat.tokens
        #expect(shown == "It shines.Yes." && tokens == 20)
        #expect(try asked(3)["messages"]?[5]?["content"]?.string == "Sure?")
        #expect(server.received.allSatisfy { $0.headers["Authorization"] == "Bearer k" })
    }

    @Test("an answer that breaks off leaves the conversation as it was, and is not asked for again")
    func broken() async throws {
        server.on(.post, "/chat/completions", words("It ", "shines.").cut(.withinBody), words("Yes."))
        let chat = chat()
        await #expect(throws: ServiceError.self) { try await chat.ask("Is it nice?") { _ in } }
        #expect(server.received.count == 1)
        try await chat.ask("Well?") { _ in }
        #expect(try asked(1)["messages"]?[0]?["content"]?.string == "Well?")
    }

    @Test("a chat that is canceled while a function runs ends")
    func canceled() async throws {
        server.on(.post, "/chat/completions", calls("Bern"))
        let (begun, continuation) = AsyncStream<Void>.makeStream()
        let slow = Tool(name: "weather", description: "", parameters: [:]) { _ in
            continuation.yield()
            // Only the cancellation ends it.
            try await Task.sleep(for: .seconds(600))
            return ""
        }
        let chat = chat([slow])
        let asking = Task { try await chat.ask("Is it nice?") { _ in } }
        for await _ in begun { break }
        asking.cancel()
        await #expect(throws: ServiceError.cancelled) { try await asking.value }
        #expect(server.received.count == 1)
    }
}
