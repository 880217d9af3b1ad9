/// The rules of a call: its own options, or the client's where it has none.
public struct CallRules: Sendable {
    /// Whether the call is signed.
    public let authentication: CallOptions.Authentication
    /// The longest silence within each send; `nil` if there is no limit.
    public let timeout: Duration?
    /// The time limit of the whole call; `nil` if there is none.
    public let deadline: Duration?
    /// The policy for retries.
    public let retry: RetryPolicy
    /// The key that makes the call safe to repeat; `nil` if there is none.
    public let idempotencyKey: String?
    /// The number of permits that each send takes.
    public let permits: Int
    /// A description of what is wrong with the rules; `nil` if they are valid.
    let problem: String?

    /// Creates rules. The defaults are those of a client with the default configuration and without tokens.
    public init(
        authentication: CallOptions.Authentication = .none, timeout: Duration? = .seconds(30),
        deadline: Duration? = nil, retry: RetryPolicy = .standard, idempotencyKey: String? = nil, permits: Int = 1
    ) {
        self.init(
            authentication: authentication, timeout: timeout, deadline: deadline, retry: retry,
            idempotencyKey: idempotencyKey, permits: permits, problem: nil)
    }

    /// The same rules without a time limit for the whole call.
    var withoutDeadline: CallRules {
        CallRules(
            authentication: authentication, timeout: timeout, deadline: nil, retry: retry,
            idempotencyKey: idempotencyKey, permits: permits, problem: problem)
    }

    init(
        authentication: CallOptions.Authentication, timeout: Duration?, deadline: Duration?, retry: RetryPolicy,
        idempotencyKey: String?, permits: Int, problem: String?
    ) {
        self.authentication = authentication
        self.timeout = timeout
        self.deadline = deadline
        self.retry = retry
        self.idempotencyKey = idempotencyKey
        self.permits = permits
        self.problem = problem
    }
}
