#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A value with the response that contained it.
public struct Reply<Value: Sendable>: Sendable {
    /// The value.
    public let value: Value
    /// The status of the response.
    public let status: Int
    /// The header fields of the response.
    public let headers: HTTPHeaders
    /// The number of attempts.
    public let attempts: Int
    /// The duration of the call, from beginning to end.
    public let duration: Duration
    /// The timings of the last exchange; `nil` if the transport does not report them.
    public let timings: Timings?
    /// The URL of the response; `nil` if a redirect led to another origin, which must not choose what the client
    /// requests next with its credentials.
    var source: HTTPURL?
    /// The session that signed the request; `nil` if none did.
    var session: UUID?
}
