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
        return "The server's answer could not be read: expected \(expected)\(place), found \(found)".printable
    }
}
