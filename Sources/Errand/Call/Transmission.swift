#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One way of a request to its answer: the attempts, what was sent, with which tokens, and whether the server may have
/// acted.
///
/// It usually belongs to one call, and runs in the call's task and scope. A ``SharedTransmission`` belongs to several
/// calls or to none. What was sent is recorded in one place, where a request is handed to the transport, and read at
/// the edges.
final class Transmission: Interruptible, PhaseReporter {
    private struct Record {
        var phase = Phase.preparing
        var attempts = 0
        /// The session that signs the requests; `nil` if none does.
        var session: UUID?
        /// The last request that was given to the transport.
        var sent: HTTPRequest?
        /// The number of requests that were given to the transport.
        var sends = 0
        /// When the last send that was answered began; `nil` if nobody asks for it.
        var answeredSend: Instant?
        /// The first request that was given to the transport, if there has been another since: a redirect drops a body
        /// that may hold a password.
        var sentFirst: HTTPRequest?
        /// Whether the server may have acted on an earlier send: on one that failed, or on a request that was
        /// redirected. Every later error says so, including a deadline's.
        var mayHaveActed = false
        /// The same, when the last attempt began.
        var mayHaveActedBefore = false
        /// The access tokens that were sent, kept so that errors can be redacted.
        var accessTokens: (last: String?, before: String?)
        /// The end of the last reading of the request's body.
        var bodyRead: Latch?
        /// The transmission whose response is awaited in place of an own one, or was.
        var followed: Transmission?
        /// Which of several servers were asked.
        var servers = ServerMemory()
    }

    /// Which of several servers were asked, by their numbers.
    struct ServerMemory: Sendable {
        /// The one that was asked last.
        var last: Int?
        /// Those that have failed. When all have, none of them counts any more.
        var failed: Set<Int> = []
        /// Whether the next attempt goes to another server at once.
        var goesOn = false
    }

    let settings: CallSettings
    let scope: CallScope
    /// Whether the server is asked although a response is stored, because that one could not be decoded.
    let isReload: Bool
    /// What compares the requests with those that reach the attempt middleware; `nil` if nothing does.
    let watch: SendWatch?

    private let record: Lock<Record>

    /// Creates a transmission. It goes on with what an earlier one of its call has counted.
    init(
        _ settings: CallSettings, in scope: CallScope = CallScope(), signedIn session: UUID? = nil,
        after earlier: Transmission? = nil, isReload: Bool = false, watch: SendWatch? = nil
    ) {
        self.settings = settings
        self.scope = scope
        self.isReload = isReload
        self.watch = watch
        var record = Record()
        if let earlier {
            record = earlier.record.withLock { $0 }
            (record.phase, record.sent, record.sentFirst, record.followed) = (.preparing, nil, nil, nil)
            // What came from the cache was sent by no attempt.
            record.attempts = isReload && !earlier.wasSent ? 0 : earlier.attempts
        }
        if let session { record.session = session }
        self.record = Lock(record)
    }

    /// Goes on as another transmission, which several calls share or which runs beside the call: what is asked about
    /// this one, that one answers. With `nil`, it goes on by itself.
    func follow(_ other: Transmission?) {
        record.withLock { $0.followed = other }
    }

    /// Returns a part of the record, or of that of the transmission that it goes on as.
    private func read<Value: Sendable>(_ part: (Record) -> Value) -> Value {
        let (value, followed) = record.withLock { (part($0), $0.followed) }
        return followed?.read(part) ?? value
    }

    /// The current phase.
    var phase: Phase { read(\.phase) }

    /// Reports the current phase.
    func note(_ phase: Phase) {
        record.withLock { $0.phase = phase }
    }

    /// The number of attempts that have begun. Those of a transmission that is followed are the last one of this.
    var attempts: Int {
        let (own, followed) = record.withLock { ($0.attempts, $0.followed) }
        return followed.map { max(own, max(own - 1, 0) + $0.attempts) } ?? own
    }

    /// Begins an attempt.
    func beginAttempt() {
        record.withLock { record in
            record.attempts += 1
            record.mayHaveActedBefore = record.mayHaveActed
            record.servers.goesOn = false
        }
    }

    /// Sets the number of attempts to zero. Returns what it was.
    func forgetAttempts() -> Int {
        record.withLock { record in
            defer { record.attempts = 0 }
            return record.attempts
        }
    }

    /// The session that signs the requests; `nil` if none does, or if it is not known yet.
    var session: UUID? { record.withLock { $0.session } }

    /// Sets the session that signs the requests.
    func sign(in session: UUID?) {
        record.withLock { $0.session = session }
    }

    // MARK: What was sent

    /// Records a request that is given to the transport, and the token that signs it.
    func noteSent(_ request: HTTPRequest, signedWith token: String?) {
        record.withLock { record in
            record.phase = .waitingForResponse
            record.sentFirst = record.sentFirst ?? record.sent
            record.sent = request
            record.sends += 1
            if let token { record.accessTokens = (token, record.accessTokens.last) }
        }
        watch?.noteSent(request)
    }

    /// Records when a send began that was answered.
    func noteAnswered(since start: Instant) { record.withLock { $0.answeredSend = start } }

    /// When the last send that was answered began, with its permit; `nil` if nobody has recorded that.
    var answeredSend: Instant? { record.withLock { $0.answeredSend } }

    /// Records that the server may have acted on a request.
    func noteActed() {
        record.withLock { $0.mayHaveActed = true }
    }

    /// Records which of two requests that were sent for one has brought the response, as if only that one had been
    /// sent.
    func noteWinner(_ request: HTTPRequest?, without sends: Int) {
        record.withLock { record in
            record.sent = request ?? record.sent
            record.sends -= sends
        }
    }

    /// The origin that the last request was sent to; `nil` if none was sent.
    var server: Origin? { read { $0.sent?.url.origin } }

    /// The number of requests that were given to the transport.
    var sends: Int { record.withLock { $0.sends } }

    /// Returns the last request that was given to the transport, if there was one after those.
    func sent(after earlier: Int) -> HTTPRequest? {
        record.withLock { $0.sends > earlier ? $0.sent : nil }
    }

    /// Whether a request was given to the transport.
    var wasSent: Bool { read { $0.sent != nil } }

    /// Whether the server may have acted on an earlier send.
    var mayHaveActed: Bool { read(\.mayHaveActed) }

    /// Whether the server may have acted on an earlier attempt than the last.
    var mayHaveActedBefore: Bool { read(\.mayHaveActedBefore) }

    /// The headers of the request that was sent first, before any redirect.
    var sentHeaders: HTTPHeaders { read { ($0.sentFirst ?? $0.sent)?.headers ?? [:] } }

    /// Returns a redactor that hides values with those names, and the secrets that were sent.
    func redactor(_ names: SecretNames) -> Redactor {
        Redactor(names, hiding: secrets(by: names))
    }

    /// Returns the secrets that were sent, here and by the transmission that is followed: before a redirect led to what
    /// that one has sent, this one may have sent others.
    private func secrets(by names: SecretNames) -> [String] {
        let (sent, tokens, followed) = record.withLock { record in
            (
                [record.sentFirst, record.sent].compactMap(\.self),
                [record.accessTokens.last, record.accessTokens.before].compactMap(\.self), record.followed
            )
        }
        let own = tokens + sent.flatMap { SentSecrets(of: $0, by: names).texts }
        return own + (followed?.secrets(by: names) ?? [])
    }

    /// The servers that were asked.
    var servers: ServerMemory { record.withLock { $0.servers } }

    /// Records the server to which the next request goes.
    func noteServer(_ index: Int) { record.withLock { $0.servers.last = index } }

    /// Records the servers that have failed, and whether the next attempt goes to another one at once.
    func noteFailed(_ servers: Set<Int>, goesOn: Bool) {
        record.withLock { ($0.servers.failed, $0.servers.goesOn) = (servers, goesOn) }
    }

    // MARK: What a send reports

    /// Reports how long a send has waited for a permit.
    func noteWait(forPermit wait: Duration) {
        report(.waitedForPermit(wait))
    }

    /// Reports something to the developer of the program. The text is asked for only if somebody listens.
    func warn(_ text: () -> String?) {
        tell { text().map { .warned($0) } }
    }

    /// Reports an event, which is asked for only if somebody listens.
    func tell(_ event: () -> ClientEvent.Kind?) {
        if settings.isHeard, let event = event() { report(event) }
    }

    /// Begins to report to the caller how much of a body has been sent, if the caller wants to know.
    func beginUpload(of length: Int?) -> (@Sendable (Int) -> Void)? {
        settings.upload?.begin(of: length)
    }

    /// Begins to read the stream of the request's body, until `end` completes. Returns the end of the reading before.
    func beginReading(until end: Latch) -> Latch? {
        record.withLock { record in
            defer { record.bodyRead = end }
            return record.bodyRead
        }
    }
}

extension Transmission {
    /// Waits for a token, and reports how long that took.
    ///
    /// When it fails, the phase stays `.waitingForToken`: a retry sees from it that another attempt would only ask
    /// again.
    func waitForToken(
        _ ask: (CallScope) async throws(ServiceError) -> Token
    ) async throws(ServiceError) -> Token {
        note(.waitingForToken)
        let start = time.now
        let token = try await run(ask)
        // The wait for the token does not explain what happens from now on.
        note(.preparing)
        report(.waitedForToken(start.duration(to: time.now)))
        return token
    }
}
