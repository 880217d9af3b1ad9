import Errand

struct Message: Encodable, Sendable {
    var role = "user"
    var content: String
}

private struct Part: Decodable, Sendable {
    struct Choice: Decodable, Sendable { var delta: Delta }
    struct Delta: Decodable, Sendable { var content: String? }

    var choices: [Choice]
}

extension APIClient {
    /// The answer of a language model, as it writes it.
    nonisolated func answer(to messages: [Message]) -> some AsyncSequence<String, ServiceError> {
        let question: RequestBody = .json(["model": "small", "messages": messages, "stream": true])
        return events(.post("chat/completions", body: question), of: Part.self)
            .until { $0.data == "[DONE]" }
            .compactMap { $0.choices.first?.delta.content }
    }
}
