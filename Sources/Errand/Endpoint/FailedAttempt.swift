#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// An attempt of a call that has failed and could be repeated.
///
///     let policy = RetryPolicy(attempts: 3).retrying { attempt in
///         attempt.isTransient && attempt.headers["X-Maintenance"] == nil || attempt.status == 409
///     }
public struct FailedAttempt: Sendable {
    /// The number of the attempt, from 1.
    public let number: Int
    /// The status of the response, 400 or more; `nil` if there is no response.
    public let status: Int?
    /// The header fields of the response, unredacted.
    public let headers: HTTPHeaders
    /// The body of the response, unredacted.
    public let body: Data
    /// The error; `nil` if there is a response.
    public let error: ServiceError?
    /// Whether the policy would repeat the attempt if it had no closure: its statuses contain that of the response, or
    /// the connection failed. A server that says `x-should-retry: true` or `false` decides instead of the statuses.
    public let isTransient: Bool
    /// The pause that the policy would make before the next attempt: a random part of its backoff, or `Retry-After` if
    /// that is longer.
    public let pause: Duration

    /// Creates an attempt that failed with a response, for a test of your own closure.
    public init(
        number: Int = 1, status: Int, headers: HTTPHeaders = [:], body: Data = Data(), isTransient: Bool,
        pause: Duration = .zero
    ) {
        self.number = number
        self.status = status
        self.headers = headers
        self.body = body
        error = nil
        self.isTransient = isTransient
        self.pause = pause
    }

    /// Creates an attempt that failed without a response, for a test of your own closure.
    public init(number: Int = 1, error: ServiceError, isTransient: Bool = true, pause: Duration = .zero) {
        self.number = number
        status = nil
        headers = [:]
        body = Data()
        self.error = error
        self.isTransient = isTransient
        self.pause = pause
    }
}

extension FailedAttempt: OpaqueReflectable {
    /// The number of the attempt, and its status or error, without secrets.
    public var description: String {
        "attempt \(number): \(status.map { "status \($0)" } ?? error.map { "\($0)" } ?? "no response")"
    }
}
