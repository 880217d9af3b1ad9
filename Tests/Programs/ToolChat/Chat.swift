import Errand
import Foundation

/// A function of the program that a language model may call.
struct Tool: Sendable {
    let name: String
    let description: String
    /// The JSON schema of its arguments.
    let parameters: JSONValue
    let run: @Sendable (_ arguments: Data) async throws -> String
}

struct Message: Codable, Sendable {
    struct Call: Codable, Sendable {
        struct Function: Codable, Sendable {
            var name = ""
            var arguments = ""
        }

        var id = ""
        var type = "function"
        var function = Function()
    }

    var role: String
    var content: String?
    var toolCalls: [Call]?
    var toolCallId: String?
}

/// A piece of an answer, as the server streams it.
private struct Part: Decodable, Sendable {
    struct Choice: Decodable, Sendable { var delta: Delta }
    struct Delta: Decodable, Sendable {
        var content: String?
        var toolCalls: [CallPart]?
    }
    struct CallPart: Decodable, Sendable {
        struct Function: Decodable, Sendable { var name, arguments: String? }

        var index: Int
        var id: String?
        var function: Function?
    }
    struct Usage: Decodable, Sendable { var totalTokens: Int }

    var choices: [Choice] = []
    var usage: Usage?
}

/// A conversation with a language model, which may call functions of the program before it answers.
actor Chat {
    private let client: APIClient
    private let tools: [String: Tool]
    private var messages: [Message] = []
    /// The tokens of all questions and answers so far.
    private(set) var tokens = 0

    init(_ server: String, key: String, tools: [Tool]) {
        client = APIClient(server) {
            $0.credentials = .bearer(key)
            $0.encoder = .json(keys: .snakeCase)
            $0.decoder = .json(keys: .snakeCase)
        }
        self.tools = Dictionary(uniqueKeysWithValues: tools.map { ($0.name, $0) })
    }

    /// Asks a question, and passes the answer on as it comes. If that is canceled or fails, the conversation is as
    /// before.
    func ask(_ question: String, _ show: (String) -> Void) async throws(ServiceError) {
        var conversation = messages + [Message(role: "user", content: question)]
        // A model that only calls functions comes to no end.
        for _ in 0..<8 {
            let answer = try await answer(to: conversation, show)
            conversation.append(answer)
            guard let calls = answer.toolCalls else { break }
            conversation += try await client.runAll(calls, atMost: 4) { [tools] call in
                let text: String
                do {
                    let tool = tools[call.function.name]
                    text = try await tool?.run(Data(call.function.arguments.utf8)) ?? "there is no such function"
                } catch let error where !Task.isCancelled {
                    // The model may try something else.
                    text = "error: \(error.localizedDescription)"
                }
                return Message(role: "tool", content: text, toolCallId: call.id)
            }
        }
        messages = conversation
    }

    private func answer(to messages: [Message], _ show: (String) -> Void) async throws(ServiceError) -> Message {
        let functions = tools.values.map { tool -> JSONValue in
            [
                "type": "function",
                "function": [
                    "name": .string(tool.name), "description": .string(tool.description), "parameters": tool.parameters,
                ],
            ]
        }
        let question: Endpoint<Data> = .post(
            "chat/completions",
            body: .json([
                "model": "small", "messages": messages, "tools": functions, "stream": true,
                "stream_options": ["include_usage": true],
            ]))
        // With a key, a question that a busy server has refused is asked again.
        let parts = client.events(question.idempotencyKey(.unique), of: Part.self).until { $0.data == "[DONE]" }
        var answer = Message(role: "assistant")
        for try await part in parts {
            tokens += part.usage?.totalTokens ?? 0
            guard let delta = part.choices.first?.delta else { continue }
            if let text = delta.content {
                show(text)
                answer.content = (answer.content ?? "") + text
            }
            for piece in delta.toolCalls ?? [] {
                var calls = answer.toolCalls ?? []
                if piece.index == calls.count { calls.append(Message.Call()) }
                guard calls.indices.contains(piece.index) else { continue }
                calls[piece.index].id += piece.id ?? ""
                calls[piece.index].function.name += piece.function?.name ?? ""
                calls[piece.index].function.arguments += piece.function?.arguments ?? ""
                answer.toolCalls = calls
            }
        }
        return answer
    }
}
