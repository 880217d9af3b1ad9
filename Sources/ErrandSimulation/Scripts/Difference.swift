/// A part of a request that is not as the script expects.
struct Difference: Sendable {
    enum Part: String {
        case method, server, path, query, header, body

        /// How far a request is from a script if they differ in this part: the path says most about what was meant.
        var weight: Int {
            switch self {
            case .path, .server: 8
            case .method: 4
            case .query: 2
            case .header, .body: 1
            }
        }
    }

    private let part: Part
    private let expected: [String]
    private let actual: [String]
    var weight: Int

    init(_ part: Part, _ expected: [String], _ actual: [String]) {
        self.part = part
        self.expected = expected
        self.actual = actual
        weight = part.weight
    }

    /// The lines of the difference, as in a diff.
    var lines: [String] {
        Self.marked("-", part, expected) + Self.marked("+", part, actual)
    }

    private static func marked(_ mark: String, _ part: Part, _ texts: [String]) -> [String] {
        let name = part.rawValue + String(repeating: " ", count: 6 - part.rawValue.count)
        let most = 8
        let shown = texts.prefix(most).map { "    \(mark) \(name)  \($0)" }
        return texts.count <= most ? shown : shown + ["    \(mark) \(name)  and \(texts.count - most) more"]
    }
}

extension String {
    /// The beginning of the text, for one line of a message.
    var shortened: String {
        let longest = 200
        guard utf8.count > longest else { return self }
        return prefix(longest) + "…"
    }
}
