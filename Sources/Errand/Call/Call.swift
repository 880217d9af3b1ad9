/// One call while it runs: what was fixed when it began, and what has happened to it since.
final class Call: PhaseReporter {
    struct State: Sendable {
        var phase = Phase.preparing
        var attempts = 0
        /// What the transport was last asked to send.
        var sent: HTTPRequest?
        /// What it was asked to send first, if it has sent again since: a redirect drops the body with a password.
        var sentFirst: HTTPRequest?
        /// Whether the server may have acted on an earlier send of the call: on an attempt that failed, or on a request
        /// that was redirected. Every later error says so, a deadline's too.
        var mayHaveActed = false
        /// The access tokens that were sent, so that they can be kept out of errors.
        var accessTokens: (last: String?, before: String?)
        /// Why the call has been stopped from outside.
        var stop: ServiceError?
        /// The outermost scope that the call is in at this moment.
        var scope: CallScope?
        /// What is called at a stop, besides.
        var onStop: (@Sendable () -> Void)?
        var isOver = false
    }

    let id: Int
    let method: HTTPMethod
    let path: EndpointPath
    /// How the caller wants the body of the response.
    let delivery: TransportContext.Delivery
    let rules: CallRules
    let started: Instant
    let deadline: Instant
    let time: any TimeSource
    let events: EventHub
    /// Whether a token store makes the call to refresh its token. Such a call goes to the head of the limiter's queue.
    let isRefreshCall = TokenStore.refreshing?.isUnderWay ?? false

    private let state = Lock(State())

    init(
        id: Int, method: HTTPMethod, path: EndpointPath, delivery: TransportContext.Delivery = .whole, rules: CallRules,
        time: any TimeSource, events: EventHub
    ) {
        self.id = id
        self.method = method
        self.path = path
        self.delivery = delivery
        self.rules = rules
        self.time = time
        self.events = events
        knownName = events.hasListeners ? "\(method) \(path)" : nil
        started = time.now
        deadline = rules.deadline.map(started.advanced(by:)) ?? .distantFuture
    }

    /// The call by its method and path, without the query. It is written down once if anybody listens to the events.
    var name: String { knownName ?? "\(method) \(path)" }
    private let knownName: String?

    /// How long it has been under way.
    var age: Duration { started.duration(to: time.now) }

    func read<Value: Sendable>(_ body: (borrowing State) -> Value) -> Value {
        state.withLock { body($0) }
    }

    func exchange<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        state.withLock { body(&$0) }
    }

    func update(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
    }

    /// Hides what those names say, and the secrets that the call has sent, so that an error shows none of them.
    func redactor(_ names: SecretNames) -> Redactor {
        let (sent, tokens) = read { state in
            (
                [state.sentFirst, state.sent].compactMap(\.self),
                [state.accessTokens.last, state.accessTokens.before].compactMap(\.self)
            )
        }
        return Redactor(names, hiding: tokens + sent.flatMap { SentSecrets(of: $0, by: names).texts })
    }

    /// Remembers a token that is about to be sent.
    func noteSent(_ token: Token) {
        update { state in
            // A wait for the token does not explain what happens from now on.
            state.phase = .preparing
            state.accessTokens = (token.access, state.accessTokens.last)
        }
    }

    /// Says what the call is doing now.
    func note(_ phase: Phase) {
        state.withLock { $0.phase = phase }
    }

    /// Whether anybody listens to the client's events.
    var isHeard: Bool { events.hasListeners }

    /// Tells those who listen; the event is made only if there are any.
    func tell(_ event: @autoclosure () -> ClientEvent.Kind) {
        guard events.hasListeners else { return }
        events.send(ClientEvent(call: id, endpoint: name, at: time.now, kind: event().withoutContent))
    }
}
