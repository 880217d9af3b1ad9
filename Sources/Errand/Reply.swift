/// A value with the answer that brought it.
public struct Reply<Value: Sendable>: Sendable {
    /// The value.
    public let value: Value
    /// The status of the answer.
    public let status: Int
    /// The header fields of the answer.
    public let headers: HTTPHeaders
    /// How many attempts it took.
    public let attempts: Int
    /// How long the call took, from beginning to end.
    public let duration: Duration
    /// How long the parts of the last attempt took; `nil` if the transport does not tell.
    public let timings: Timings?
    /// Where the answer came from; `nil` if a redirect led over another origin, which must not choose what a client
    /// asks for next with its credentials.
    var source: HTTPURL?
}
