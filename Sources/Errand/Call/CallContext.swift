/// Information about the call that a request belongs to.
public struct CallContext: Sendable {
    let transmission: Transmission
    /// Whether a redirect has led to another origin: do not add secrets to the request. It stays `true` if a later
    /// redirect leads back.
    public internal(set) var hasLeftOrigin = false
    /// Whether the request is already in a user's middleware: further middleware runs in its child task.
    var isInMiddleware = false
    /// Whether the send follows another one of its attempt, and goes to the front of the limiter's queue.
    var isUrgent = false
    /// Whether the request follows a redirect.
    var isRedirected = false
    /// Whether one of the client's servers has redirected it to another.
    var isBound = false
    /// Whether it is sent a second time because the first response is late: then it waits for nothing.
    var isHedge = false
    /// The token that the call has waited for before this send; `nil` if it has not waited.
    var awaited: AwaitedToken?
    /// The permit of this send.
    var permit: Permit?
    /// The access token that signs this send; `nil` if none does.
    var accessToken: String?
    /// Chooses the server of this send; `nil` if there is nothing to choose.
    var way: (any SendWay)?

    init(_ transmission: Transmission) {
        self.transmission = transmission
    }

    /// Creates a context without a client, to test a middleware by itself.
    public init(
        id: Int = 1, _ method: HTTPMethod = .get, _ path: EndpointPath = "", rules: CallRules = CallRules(),
        hasLeftOrigin: Bool = false, time: any TimeSource = .system
    ) {
        self.init(
            Transmission(
                CallSettings(
                    id: id, method: method, path: path, rules: BoxedRules(rules), time: time, events: EventHub())))
        self.hasLeftOrigin = hasLeftOrigin
    }

    /// The number of the call, unique within its client.
    public var id: Int { transmission.settings.id }
    /// The method and the path of the call, without the query: `GET users/7/friends`.
    public var endpoint: String { transmission.settings.name }
    /// The rules of the call, including those from the client's configuration.
    public var rules: CallRules { transmission.rules }
    /// The instant at which the whole call must have ended; `distantFuture` if it has no deadline.
    public var deadline: Instant { transmission.deadline }
    /// The client's time source.
    public var time: any TimeSource { transmission.time }
    /// The number of attempts that have begun, including the current one; 0 before the first.
    public var attempts: Int { transmission.attempts }
}

extension CallContext {
    /// The origin that its send went to, or the last one of its transmission; `nil` if nothing was sent.
    var server: Origin? { way.map { $0.sent?.url.origin } ?? transmission.server }
}

/// A token that a call has waited for. A separate object, because layers pass the context along and few calls wait.
final class AwaitedToken: Sendable {
    let token: Token

    init(_ token: Token) {
        self.token = token
    }
}
