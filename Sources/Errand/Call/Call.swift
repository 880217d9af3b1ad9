/// A running call: its fixed settings, and its state.
final class Call: PhaseReporter, Stoppable {
    struct State: Sendable {
        var phase = Phase.preparing
        var attempts = 0
        /// The last request that was given to the transport.
        var sent: HTTPRequest?
        /// The first request that was given to the transport, if there has been another since: a redirect drops a body
        /// that may hold a password.
        var sentFirst: HTTPRequest?
        /// Whether the server may have acted on an earlier send of the call: on an attempt that failed, or on a request
        /// that was redirected. Every later error says so, including a deadline's.
        var mayHaveActed = false
        /// How far a redirect may take the identifier of an event stream's last event.
        var eventIDReach = EventIDReach.ownOrigin
        /// The access tokens that were sent, kept so that errors can be redacted.
        var accessTokens: (last: String?, before: String?)
        /// The reason why the call was stopped from outside.
        var stop: ServiceError?
        /// The outermost scope that the call is in now.
        var scope: CallScope?
        /// The end of the last reading of the request's body.
        var bodyRead: Flight<Void, Never>?
        /// A further closure to call at a stop.
        var onStop: (@Sendable () -> Void)?
        var isOver = false
    }

    let id: Int
    let method: HTTPMethod
    let path: EndpointPath
    /// How the caller wants to receive the body of the response.
    let delivery: TransportContext.Delivery
    let rules: CallRules
    let started: Instant
    let deadline: Instant
    let time: any TimeSource
    let events: EventHub
    /// Tells how much of the body has been sent, if the caller wants to know.
    let upload: UploadProgress?
    /// The name, if anybody listens to the events: each event has it.
    private let knownName: String?
    /// The refresh of a token store that makes the call; `nil` if none does.
    let refreshRun = TokenStore.refreshing.flatMap { $0.isUnderWay ? $0 : nil }

    private let state = Lock(State())

    init(
        id: Int, method: HTTPMethod, path: EndpointPath, delivery: TransportContext.Delivery = .whole, rules: CallRules,
        time: any TimeSource, events: EventHub, onUpload: UploadProgress.Tell? = nil, started: Instant? = nil
    ) {
        self.id = id
        self.method = method
        self.path = path
        self.delivery = delivery
        self.rules = rules
        self.time = time
        self.events = events
        upload = onUpload.map { UploadProgress(time: time, $0) }
        knownName = events.hasListeners ? "\(method) \(path)" : nil
        self.started = started ?? time.now
        deadline = rules.deadline.map(self.started.advanced(by:)) ?? .distantFuture
    }

    /// The method and the path of the call, without the query. Built once if the events have listeners.
    var name: String { knownName ?? "\(method) \(path)" }

    /// Whether a token store makes the call to refresh its token. Such a call goes to the front of the limiter's queue.
    var isRefreshCall: Bool { refreshRun != nil }

    /// The time since the call began.
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

    /// Returns a redactor that hides values with those names, and the secrets that the call has sent.
    func redactor(_ names: SecretNames) -> Redactor {
        let (sent, tokens) = read { state in
            (
                [state.sentFirst, state.sent].compactMap(\.self),
                [state.accessTokens.last, state.accessTokens.before].compactMap(\.self)
            )
        }
        return Redactor(names, hiding: tokens + sent.flatMap { SentSecrets(of: $0, by: names).texts })
    }

    /// The headers of the request that was sent first since `forgetSent()`, before any redirect.
    var sentHeaders: HTTPHeaders { read { ($0.sentFirst ?? $0.sent)?.headers ?? [:] } }

    /// Forgets what was sent, before another request of the call that has nothing to do with it.
    func forgetSent() {
        update { ($0.sentFirst, $0.sent) = (nil, nil) }
    }

    /// Records a token that is about to be sent.
    func noteSent(_ token: Token) {
        update { state in
            // The wait for the token does not explain what happens from now on.
            state.phase = .preparing
            state.accessTokens = (token.access, state.accessTokens.last)
        }
    }

    /// Reports the current phase.
    func note(_ phase: Phase) {
        state.withLock { $0.phase = phase }
    }

    /// Begins to tell the caller how much of a body has been sent, if the caller wants to know.
    func beginUpload(of length: Int?) -> (@Sendable (Int) -> Void)? {
        upload?.begin(of: length)
    }

    /// Begins to read the stream of the request's body, until `end` lands. Returns the end of the reading before.
    func beginReading(until end: Flight<Void, Never>) -> Flight<Void, Never>? {
        exchange { state in
            defer { state.bodyRead = end }
            return state.bodyRead
        }
    }

    /// Whether the client's events have listeners.
    var isHeard: Bool { events.hasListeners }

    /// Sends an event to the listeners; it is created only if there are any.
    func tell(_ event: @autoclosure () -> ClientEvent.Kind) {
        guard events.hasListeners else { return }
        events.send(ClientEvent(call: id, endpoint: name, at: time.now, kind: event().withoutContent))
    }
}
