/// When a call is tried again, how often, and how long it waits between.
///
/// Whatever the policy says, a call is sent a second time only if that can do no harm: its method is idempotent, it
/// has an idempotency key, or it is certain that nothing was sent. A refused certificate, a body that can be streamed
/// only once and an answer that cannot be decoded are never tried again.
public struct RetryPolicy: Sendable, Hashable {
    /// How many attempts a call has, the first included.
    public var attempts: Int
    /// The longest `Retry-After` that is waited for; a longer one fails the call at once, with the figure.
    public var patience: Duration
    /// The statuses after which a call is tried again: 408, 429, 500, 502, 503 and 504 by default. A 403 that its
    /// headers make a limit counts as 429.
    public var statuses: Set<Int>
    var backoff: Backoff

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - attempts: How many attempts a call has, the first included; at least 1.
    ///   - base: The longest pause before the first retry; it doubles with each.
    ///   - cap: The longest pause of all.
    ///   - patience: The longest `Retry-After` that is waited for.
    ///   - statuses: The statuses after which a call is tried again.
    public init(
        attempts: Int, base: Duration = .milliseconds(200), cap: Duration = .seconds(20),
        patience: Duration = .seconds(60), statuses: Set<Int> = [408, 429, 500, 502, 503, 504]
    ) {
        self.attempts = attempts
        self.statuses = statuses
        self.patience = patience
        backoff = Backoff(base: base, cap: cap)
    }

    /// Three attempts; a random pause of up to 200 ms, then up to 400 ms.
    public static let standard = RetryPolicy(attempts: 3)
    /// One attempt.
    public static let never = RetryPolicy(attempts: 1)

    var problem: String? {
        if attempts < 1 { return "a retry policy of \(attempts) attempts; it must be 1 or more" }
        if backoff.base < .zero || backoff.cap < .zero { return "a retry policy with a negative pause" }
        return patience < .zero ? "a retry policy with a negative patience" : nil
    }
}
