/// A call that exceeds a rate limit: the server's, or the client's own.
public struct RateLimited: Sendable, Hashable, CustomStringConvertible, ErrorPayload {
    /// How long to wait; `nil` if it is not known.
    public let retryAfter: Duration?
    /// The status of the response; `nil` if the client's own limit applied.
    public let status: Int?
    /// The server's message.
    public let message: String?
    /// The server's response, with its code and its body; `nil` if the client's own limit applied. Two errors that
    /// differ in it alone are equal.
    public var rejection: Rejection? {
        guard var rejection = response.value else { return nil }
        rejection.call = call
        return rejection
    }
    /// Whether the server may have received the request, and acted on it: there was a response, or an earlier attempt.
    public var mayHaveReachedServer: Bool { call.mayHaveReachedServer }
    var call: FailedCall
    private var response = Uncompared<Rejection>()

    /// Creates an error. By default the status determines whether the request may have reached the server.
    public init(
        retryAfter: Duration? = nil, status: Int? = nil, message: String? = nil, mayHaveReachedServer: Bool? = nil
    ) {
        self.retryAfter = retryAfter
        self.status = status
        self.message = message
        call = FailedCall(mayHaveReachedServer: mayHaveReachedServer ?? (status != nil))
    }

    /// Creates the error of a response.
    init(_ rejection: Rejection, retryAfter: Duration?, message: String?) {
        self.init(retryAfter: retryAfter, status: rejection.status, message: message)
        response.value = rejection
    }

    /// What happened, in words for developers.
    public var description: String {
        let advice = retryAfter.map { "try again in \($0.displayText)" } ?? "try again later"
        if let message { return message.printable }
        return status == nil
            ? "The client's own rate limit does not allow this call in time; \(advice)"
            : "The server has received too many requests; \(advice)"
    }
}
