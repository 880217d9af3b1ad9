/// One of the example servers: a value that changes with each request. It is not synchronized; its owner calls it from
/// one thread at a time.
protocol Backend: Sendable {
    /// The path segments that all of its paths begin with.
    static var prefix: [String] { get }
    /// Carries out a request.
    mutating func answer(_ request: ExampleRequest) throws(Refusal) -> Answer
    /// Returns the body of a refusal in this backend's format.
    func words(for refusal: Refusal) -> JSON
    /// Ends the sessions of all users.
    mutating func endSessions()
}

extension Backend {
    /// Whether a path with these segments belongs to this backend.
    func holds(_ segments: [String]) -> Bool {
        segments.starts(with: Self.prefix)
    }

    /// Returns the segments that follow the prefix.
    func below(_ segments: [String]) -> ArraySlice<String> {
        segments.dropFirst(Self.prefix.count)
    }

    mutating func endSessions() {}
}
