#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One call while it runs: what was fixed when it began, and what has happened to it since.
final class Call: PhaseReporter {
    struct State: Sendable {
        var phase = Phase.preparing
        var attempts = 0
        /// The session whose tokens sign the call; `nil` for a call that is not signed.
        var session: UUID?
        /// What the transport was last asked to send.
        var sent: HTTPRequest?
        /// When the permits were taken with which nothing has been sent yet.
        var permit: Instant?
        /// Whether the present attempt ended because no token could be had: another attempt would only ask again.
        var lacksToken = false
        /// Whether the server may have acted on something that the call has sent before what it does now: on a request that
        /// was redirected, or on an earlier attempt.
        var mayHaveActed = false
        /// The access tokens that were sent, so that they can be kept out of errors.
        var accessTokens: (last: String?, before: String?)
        /// Why the call has been stopped from outside.
        var stop: ServiceError?
        /// The outermost leash on which the call hangs at this moment.
        var leash: Leash?
    }

    let id: Int
    let method: HTTPMethod
    let path: Path
    let rules: CallRules
    let started: Instant
    let deadline: Instant
    let time: any TimeSource
    let events: EventHub
    /// Whether a token store has made the call to refresh its token: it goes to the head of the limiter's line.
    let isOfRefresh = TokenStore.refreshing?.isUnderWay ?? false

    private let state = Lock(State())

    init(
        id: Int, method: HTTPMethod, path: Path, rules: CallRules, time: any TimeSource, events: EventHub
    ) {
        self.id = id
        self.method = method
        self.path = path
        self.rules = rules
        self.time = time
        self.events = events
        started = time.now
        deadline = rules.deadline.map(started.advanced(by:)) ?? .distantFuture
    }

    /// The call by its method and path, without the query.
    var name: String { "\(method) \(path)" }

    func read<Value: Sendable>(_ body: (borrowing State) -> Value) -> Value {
        state.withLock { body($0) }
    }

    func exchange<Value: Sendable>(_ body: (inout State) -> Value) -> Value {
        state.withLock { body(&$0) }
    }

    func update(_ change: (inout State) -> Void) {
        state.withLock { change(&$0) }
    }

    /// The secrets that the call has sent, so that an error shows none of them.
    func secrets(by redactor: Redactor) -> [String] {
        let (sent, tokens) = read { ($0.sent, [$0.accessTokens.last, $0.accessTokens.before].compactMap(\.self)) }
        guard let sent else { return tokens }
        return tokens + SentSecrets(of: sent, by: redactor).texts
    }

    /// Says what the call is doing now.
    func note(_ phase: Phase) {
        state.withLock { $0.phase = phase }
    }

    /// Tells those who listen; the event is made only if there are any.
    func tell(_ event: @autoclosure () -> ClientEvent.Kind) {
        guard events.hasListeners else { return }
        events.send(ClientEvent(call: id, endpoint: name, at: time.now, kind: event()))
    }
}
