/// A call that came too soon: by the server's word, or by the client's own limit.
public struct RateLimited: Sendable, Hashable, CustomStringConvertible {
    /// How long to wait, as far as it is known.
    public let retryAfter: Duration?
    /// The status of the server's answer; `nil` if it was the client's own limit.
    public let status: Int?
    /// The server's own words.
    public let message: String?
    /// Whether the server may have seen the request, and acted on it: there was an answer, or an earlier attempt.
    public let mayHaveReachedServer: Bool

    /// Makes one. Whether the request may have reached the server follows from the status unless it is said.
    public init(
        retryAfter: Duration? = nil, status: Int? = nil, message: String? = nil, mayHaveReachedServer: Bool? = nil
    ) {
        self.retryAfter = retryAfter
        self.status = status
        self.message = message
        self.mayHaveReachedServer = mayHaveReachedServer ?? (status != nil)
    }

    /// A sentence for people.
    public var description: String {
        let advice = retryAfter.map { "try again in \($0.displayText)" } ?? "try again later"
        if let message { return message.printable }
        return status == nil
            ? "Too many requests at once for the limit and the time that was given; \(advice)"
            : "The server has had too many requests; \(advice)"
    }
}
