/// Where an answer is not what the endpoint promises, and how.
public struct DecodingFailure: Sendable, Hashable, CustomStringConvertible {
    /// Where in the answer: `users[3].id`; empty for the answer as a whole.
    public let path: String
    /// What the endpoint promises there.
    public let expected: String
    /// What the answer has there.
    public let found: String
    /// The beginning of the answer in one line, with secrets masked and control characters written as escapes.
    public let snippet: String
    /// The status of the answer.
    public let status: Int?
    /// What to do about it, where that is known.
    var advice = Uncompared<String>()

    /// Makes one.
    public init(path: String, expected: String, found: String, snippet: String = "", status: Int? = nil) {
        self.path = path
        self.expected = expected
        self.found = found
        self.snippet = snippet
        self.status = status
    }

    /// A sentence for people.
    public var description: String {
        let place = path.isEmpty ? "" : " at \(path)"
        let advice = advice.value.map { "; \($0)" } ?? ""
        return "The server's answer could not be read: expected \(expected)\(place), found \(found)\(advice)".printable
    }
}

extension DecodingFailure {
    /// What the error of a decoder says.
    struct Cause {
        /// Where in the answer.
        let path: String
        /// What was expected there.
        let expected: String
        /// What was found there.
        let found: String

        /// Reads an error. The decoder's own words are used only if `isQuoting`: they may quote what was found.
        init(_ error: any Error, decoding type: Any.Type, isQuoting: Bool) {
            let (path, expected, found): ([any CodingKey], Any.Type?, String) =
                switch error as? DecodingError {
                case .typeMismatch(let type, let context):
                    (context.codingPath, type, isQuoting ? context.finding : "a value of another type")
                case .valueNotFound(let type, let context): (context.codingPath, type, "null")
                case .keyNotFound(let key, let context): (context.codingPath + [key], nil, "nothing")
                case .dataCorrupted(let context):
                    (context.codingPath, type, isQuoting ? context.debugDescription : "a value that it refuses")
                default: ([], type, "what \(foreignName(of: error)) refuses")
                }
            self.path = path.joined
            self.expected = expected.map { "\($0)" } ?? "a value"
            self.found = found
        }
    }
}

extension DecodingError.Context {
    /// Of "Expected to decode Int but found a string instead." what was found; what was expected is told beside it.
    fileprivate var finding: String {
        let end = " instead."
        guard let start = debugDescription.firstRange(of: " but found ")?.upperBound, debugDescription.hasSuffix(end)
        else { return debugDescription }
        return String(debugDescription[start...].dropLast(end.count))
    }
}

extension [any CodingKey] {
    /// The path as a person would write it: `users[3].id`.
    var joined: String {
        reduce(into: "") { text, key in
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                text += text.isEmpty ? key.stringValue : ".\(key.stringValue)"
            }
        }
    }
}
