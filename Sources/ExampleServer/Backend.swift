/// One of the servers that are played: a value that changes with what it is asked to do. It does not know that there
/// are several threads; whoever holds it sees to that.
protocol Backend: Sendable {
    /// The segments of the path below which it lies.
    static var prefix: [String] { get }
    /// Does what is asked.
    mutating func answer(_ request: ExampleRequest) throws(Refusal) -> Answer
    /// The body of a refusal, in the shape that this backend has for it.
    func words(for refusal: Refusal) -> JSON
    /// Ends the sessions of all users.
    mutating func endSessions()
}

extension Backend {
    /// Whether a path of those segments is below its own.
    func holds(_ segments: [String]) -> Bool {
        segments.starts(with: Self.prefix)
    }

    /// What lies below its own segments.
    func below(_ segments: [String]) -> ArraySlice<String> {
        segments.dropFirst(Self.prefix.count)
    }

    mutating func endSessions() {}
}
