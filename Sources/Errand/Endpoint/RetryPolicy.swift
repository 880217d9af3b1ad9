/// A policy that determines when a call is retried, how often, and how long it waits in between.
///
/// Whatever the policy says, a call is retried only if that is safe: its method is idempotent, it has an idempotency
/// key, or it certainly was not sent. A refused certificate, a body that can be streamed only once and a response that
/// cannot be decoded are never retried. A replay after a 401 is not a retry: the server has refused the request.
public struct RetryPolicy: Sendable, Hashable {
    /// The number of attempts, including the first: at least 1, and 3 in the standard policy.
    public var attempts: Int
    /// The longest `Retry-After` that a call waits for, 60 seconds by default. A longer one fails the call at once,
    /// with its duration.
    public var maximumRetryAfter: Duration
    /// The statuses after which a call is retried: 408, 429, 500, 502, 503 and 504 by default. A 403 whose headers name
    /// a rate limit counts as 429.
    public var statuses: Set<Int>
    /// How often a call is retried because an attempt timed out after its request was sent: once by default.
    ///
    /// The server may still be processing the request, and each repetition adds to its work. One is enough if the
    /// connection has fallen silent, because the next attempt uses another.
    public var timeoutRetries: Int
    var backoff: Backoff
    /// Decides about each failed attempt. Comparisons ignore it.
    private(set) var condition = Uncompared<@Sendable (FailedAttempt) -> Verdict>()

    /// What a closure says about a failed attempt.
    enum Verdict: Sendable {
        case isFinal
        /// It is repeated, after the pause of the policy or after another one.
        case isRepeated(after: Duration?)
    }

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - attempts: The number of attempts, including the first; at least 1.
    ///   - base: The longest pause before the first retry, 200 milliseconds by default. It doubles with each retry.
    ///   - cap: The limit on that pause, 20 seconds by default. The pause itself is a random part of it.
    ///   - maximumRetryAfter: The longest `Retry-After` that a call waits for, 60 seconds by default.
    ///   - statuses: The statuses after which a call is retried.
    ///   - timeoutRetries: How often a call is retried because an attempt timed out after its request was sent.
    public init(
        attempts: Int, base: Duration = .milliseconds(200), cap: Duration = .seconds(20),
        maximumRetryAfter: Duration = .seconds(60), statuses: Set<Int> = usualStatuses, timeoutRetries: Int = 1
    ) {
        self.attempts = attempts
        self.statuses = statuses
        self.maximumRetryAfter = maximumRetryAfter
        self.timeoutRetries = timeoutRetries
        backoff = Backoff(base: base, cap: cap)
    }

    /// Returns the same policy with a closure that decides which failed attempts are repeated.
    ///
    ///     let policy = RetryPolicy.standard.retrying { $0.isTransient || $0.status == 409 }
    ///
    /// It replaces the policy's own decision, which it finds in ``FailedAttempt/isTransient``. It is asked about
    /// responses with a status of 400 or more, and about failures of the connection, if another attempt is safe and the
    /// policy has one left. It is called on no actor, and the call waits for it. Comparisons of policies ignore it.
    /// A download that resumes after a broken connection does not ask it.
    public func retrying(_ condition: @escaping @Sendable (FailedAttempt) -> Bool) -> RetryPolicy {
        var policy = self
        policy.condition.value = { condition($0) ? .isRepeated(after: nil) : .isFinal }
        return policy
    }

    /// Returns the same policy with a closure that decides which failed attempts are repeated, and after which pause;
    /// `nil` means that the attempt is not repeated.
    ///
    ///     let impatient = RetryPolicy.standard.retrying(after: { attempt in
    ///         guard attempt.isTransient else { return nil }
    ///         return attempt.number == 1 ? .zero : attempt.pause
    ///     })
    ///
    /// It replaces the policy's own decision and its own pause, which it finds in ``FailedAttempt/isTransient`` and
    /// ``FailedAttempt/pause``. What a server asks for in `Retry-After` is part of that pause, and the limiter of the
    /// client keeps to it in any case. Otherwise this is like the closure that returns a Boolean.
    public func retrying(after pause: @escaping @Sendable (FailedAttempt) -> Duration?) -> RetryPolicy {
        var policy = self
        policy.condition.value = { pause($0).map { Verdict.isRepeated(after: max($0, .zero)) } ?? .isFinal }
        return policy
    }

    /// The statuses after which a call is usually retried: 408, 429, 500, 502, 503 and 504.
    public static let usualStatuses: Set<Int> = HTTPStatus.transient

    /// Three attempts, with a random pause of up to 200 milliseconds, then of up to 400 milliseconds.
    public static let standard = RetryPolicy(attempts: 3)
    /// One attempt.
    public static let never = RetryPolicy(attempts: 1)

    /// Whether a closure decides about retries.
    var hasCondition: Bool { condition.value != nil }

    var problem: String? {
        if let status = statuses.min(), status < 400 {
            return "a retry policy for the status \(status); it must be 400 or more"
        }
        if attempts < 1 { return "a retry policy of \(attempts) attempts; it must be 1 or more" }
        if timeoutRetries < 0 { return "a retry policy with \(timeoutRetries) retries after a timeout" }
        if backoff.base < .zero || backoff.cap < .zero { return "a retry policy with a negative pause" }
        return maximumRetryAfter < .zero ? "a retry policy with a negative maximum for Retry-After" : nil
    }
}
