#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What is known about the call that a request belongs to.
public struct CallContext: Sendable {
    let call: Call
    /// The session whose tokens sign the call; `nil` for a call that is not signed.
    let session: UUID?
    /// Whether a redirect has led to another origin: what is secret must not be added to the request. It stays so if a
    /// later redirect leads back.
    public internal(set) var hasLeftOrigin = false
    /// Whether a middleware of the user's has the request already: what it calls runs in its child task.
    var isInMiddleware = false
    /// Whether the send follows another of its attempt, and goes to the head of the limiter's queue.
    var isUrgent = false
    /// What the call has waited for before this send, if it has.
    var awaited: AwaitedToken?
    /// What the request may be sent with.
    var permit: Permit?

    init(call: Call, session: UUID?) {
        self.call = call
        self.session = session
    }

    /// Creates the context of a call that no client makes, to test a middleware by itself.
    public init(
        id: Int = 1, _ method: HTTPMethod = .get, _ path: EndpointPath = "", rules: CallRules = CallRules(),
        hasLeftOrigin: Bool = false, time: any TimeSource = .system
    ) {
        let call = Call(id: id, method: method, path: path, rules: rules, time: time, events: EventHub())
        self.init(call: call, session: nil)
        self.hasLeftOrigin = hasLeftOrigin
    }

    /// The number of the call, among those of its client.
    public var id: Int { call.id }
    /// The call by its method and path, without the query: `GET users/7/friends`.
    public var endpoint: String { call.name }
    /// The rules of the call, with the client's configuration filled in.
    public var rules: CallRules { call.rules }
    /// The instant at which the whole call must have ended; `distantFuture` if there is none.
    public var deadline: Instant { call.deadline }
    /// The clock.
    public var time: any TimeSource { call.time }
    /// How many attempts have begun, the present one included; 0 before the first.
    public var attempts: Int { call.read { $0.attempts } }
}

/// A token that a call has waited for. On its own, because a context is handed from layer to layer and few calls wait.
final class AwaitedToken: Sendable {
    let token: Token

    init(_ token: Token) {
        self.token = token
    }
}

/// The rules of a call: its own options, and the client's where it has none.
public struct CallRules: Sendable {
    /// Whether the call is signed.
    public let authentication: CallOptions.Authentication
    /// The limit of one attempt.
    public let timeout: Duration
    /// The limit of the whole call; `nil` if there is none.
    public let deadline: Duration?
    /// When the call is tried again.
    public let retry: RetryPolicy
    /// What makes the call safe to repeat.
    public let idempotencyKey: String?
    /// How many permits an attempt takes.
    public let permits: Int
    /// What is wrong with the rules, if anything is.
    let problem: String?

    /// Creates rules, by default those of a client that is configured with nothing.
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
