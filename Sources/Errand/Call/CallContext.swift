#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Information about the call that a request belongs to.
public struct CallContext: Sendable {
    let call: Call
    /// The session whose tokens sign the call; `nil` for a call that is not signed.
    let session: UUID?
    /// Whether a redirect has led to another origin: do not add secrets to the request. It stays `true` if a later
    /// redirect leads back.
    public internal(set) var hasLeftOrigin = false
    /// Whether the request is already in a user's middleware: further middleware runs in its child task.
    var isInMiddleware = false
    /// Whether the send follows another one of its attempt, and goes to the front of the limiter's queue.
    var isUrgent = false
    /// The token that the call has waited for before this send; `nil` if it has not waited.
    var awaited: AwaitedToken?
    /// The permit of this send.
    var permit: Permit?

    init(call: Call, session: UUID?) {
        self.call = call
        self.session = session
    }

    /// Creates a context without a client, to test a middleware by itself.
    public init(
        id: Int = 1, _ method: HTTPMethod = .get, _ path: EndpointPath = "", rules: CallRules = CallRules(),
        hasLeftOrigin: Bool = false, time: any TimeSource = .system
    ) {
        let call = Call(id: id, method: method, path: path, rules: rules, time: time, events: EventHub())
        self.init(call: call, session: nil)
        self.hasLeftOrigin = hasLeftOrigin
    }

    /// The number of the call, unique within its client.
    public var id: Int { call.id }
    /// The method and the path of the call, without the query: `GET users/7/friends`.
    public var endpoint: String { call.name }
    /// The rules of the call, including those from the client's configuration.
    public var rules: CallRules { call.rules }
    /// The instant at which the whole call must have ended; `distantFuture` if it has no deadline.
    public var deadline: Instant { call.deadline }
    /// The client's time source.
    public var time: any TimeSource { call.time }
    /// The number of attempts that have begun, including the current one; 0 before the first.
    public var attempts: Int { call.read { $0.attempts } }
}

/// A token that a call has waited for. A separate object, because layers pass the context along and few calls wait.
final class AwaitedToken: Sendable {
    let token: Token

    init(_ token: Token) {
        self.token = token
    }
}

/// The rules of a call: its own options, or the client's where it has none.
public struct CallRules: Sendable {
    /// Whether the call is signed.
    public let authentication: CallOptions.Authentication
    /// The longest silence within each send.
    public let timeout: Duration
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
        authentication: CallOptions.Authentication = .none, timeout: Duration = .seconds(30),
        deadline: Duration? = nil, retry: RetryPolicy = .standard, idempotencyKey: String? = nil, permits: Int = 1
    ) {
        self.init(
            authentication: authentication, timeout: timeout, deadline: deadline, retry: retry,
            idempotencyKey: idempotencyKey, permits: permits, problem: nil)
    }

    init(
        authentication: CallOptions.Authentication, timeout: Duration, deadline: Duration?, retry: RetryPolicy,
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
