/// The settings and the reporting of one send.
public struct TransportContext: Sendable {
    /// How the caller wants to receive the body.
    public struct Delivery: Sendable, Hashable, CustomStringConvertible {
        package enum Kind: Sendable, Hashable { case whole, stream }

        package let kind: Kind

        /// Completely: the transport may collect up to `bodyLimit` bytes itself.
        public static let whole = Delivery(kind: .whole)
        /// In pieces: the transport returns the response as soon as its head is complete.
        public static let stream = Delivery(kind: .stream)

        /// The delivery's name.
        public var description: String { "\(kind)" }
    }

    /// The identity of a client, for a transport that several clients share. A client that is created after this one is
    /// released may have the same.
    public struct Client: Sendable, Hashable {
        private let id: ObjectIdentifier

        /// Creates the identity of the client that has that object.
        init(_ object: AnyObject) {
            id = ObjectIdentifier(object)
        }
    }

    /// How the caller wants to receive the body.
    public var delivery: Delivery
    /// The limit on the body in decompressed bytes. A larger body is `.transport` of the kind `.tooLarge`.
    public var bodyLimit: Int
    /// The limit on the silence of this send; `nil` if there is none. The client stops a send that exceeds it, so a
    /// transport need not.
    public var timeout: Duration? { send.timeout }
    /// The client's time source.
    public var time: any TimeSource { send.time }
    private let send: Send
    /// The client that has created the context, and limits the time of the send; `nil` for a send without a client.
    public let client: Client?
    /// The scope of the send. A send without a client has a scope of its own, which only its timeout stops.
    package var scope: CallScope { send.scope }

    /// Creates a context. A client creates one for each send; your own code needs this only to call a transport itself.
    public init(
        delivery: Delivery = .whole, bodyLimit: Int = 64 << 20, timeout: Duration? = .seconds(30),
        time: any TimeSource = .system, report: @escaping @Sendable (Phase) -> Void = { _ in }
    ) {
        self.delivery = delivery
        self.bodyLimit = bodyLimit
        send = Send(timeout: timeout, time: time, reporter: PhaseClosure(timeout: timeout, report: report))
        client = nil
    }

    init(delivery: Delivery, bodyLimit: Int, send: Send, client: Client) {
        self.delivery = delivery
        self.bodyLimit = bodyLimit
        self.send = send
        self.client = client
    }

    /// Runs a send, and stops it at its timeout if no client does.
    package func bounded<Value>(_ operation: () async throws -> Value) async throws -> Value {
        guard client == nil else { return try await operation() }
        try send.begin()
        defer { send.end() }
        do {
            return try await operation()
        } catch {
            throw scope.reason ?? error
        }
    }

    // MARK: Stops

    /// Whether the send has to end: its time is up, its call was canceled, or its client has shut down. Ask in the task
    /// of the send; another task does not know whether that was canceled.
    public var isStopped: Bool { scope.isStopped }

    /// Runs an operation in the task of the send, and calls `onStop` as soon as the send is stopped.
    ///
    /// `onStop` has to end the operation. It may be called twice, on any thread, before the operation begins, and after
    /// it has ended: an operation that begins something asks ``isStopped`` afterwards. What the transport returns or
    /// throws after a stop does not matter: the client throws the reason of the stop.
    public func withStopHandler<Value: Sendable>(
        _ operation: () async -> Value, onStop: @escaping @Sendable () -> Void
    ) async -> Value {
        await scope.wait(during: operation, onStop: onStop)
    }

    // MARK: Permits

    /// Uses the permit of the rate limit for this send: the last act before the first byte, for a transport with
    /// ``TransportFeatures/usesPermits``.
    ///
    /// If the request has waited for so long that its permit has come back to the limiter, this takes another one,
    /// ahead of the calls that wait for theirs. Throws if nothing may be sent any more.
    public func usePermit() async throws(ServiceError) {
        if !usePermitAtOnce() { try await takePermit() }
    }

    /// Notes that the first byte of the request leaves now, for a transport that opens a connection after
    /// ``usePermit()``: the permit counts from this instant, so that the server does not get more than the limit when
    /// several connections are ready at once.
    ///
    /// A permit that is shared with other nodes counts from its use all the same. So does one that was used up to a
    /// millisecond ago.
    public func noteFirstByte() {
        send.noteFirstByte()
    }

    /// How long the first byte may still be sent after ``usePermit()``; `nil` if that has no end. It has one if the
    /// permit is shared with other nodes, which get it when that time is over.
    public var permitTimeLeft: Duration? { permitEnd?() }

    /// Notes that the request has waited for something before its first byte, outside of the phases that mean a wait:
    /// its permit counts from the end of that.
    func noteWait() {
        send.noteWait()
    }

    /// Uses the permit of the send. Returns `false` if its time is over, because the request has waited since the
    /// permit was taken; then `takePermit()` takes another one.
    func usePermitAtOnce() -> Bool {
        send.usePermitInTransport()
    }

    /// Returns how long the permit may still be used from the moment of the call; `nil` if it has no end.
    var permitEnd: (() -> Duration)? { send.permitEnd }

    /// Takes another permit, ahead of the calls that wait for theirs, and uses it.
    func takePermit() async throws(ServiceError) {
        try await send.takePermit()
    }

    // MARK: Phases and progress

    /// Reports the current phase, so that a timeout can say what it interrupted.
    ///
    /// The timeout does not run during the phase ``Phase/waitingForConnection``, and begins anew with each phase after
    /// that and with ``Phase/receiving``.
    public func note(_ phase: Phase) {
        send.note(phase)
    }

    /// Begins to report how much of a body of that length has been sent, for a transport with
    /// ``TransportFeatures/countsUploads``. Returns a closure to call with the size of each piece that was sent; `nil`
    /// if the caller has no handler for it, or if the client counts.
    public func uploadProgress(of length: Int?) -> (@Sendable (Int) -> Void)? {
        send.features.contains(.countsUploads) ? send.reporter.beginUpload(of: length) : nil
    }

    /// Reads the stream of the request's body in that operation, after an earlier send of the same call has stopped
    /// reading it: a stream must not be read twice at once.
    ///
    /// A stop does not end the operation by itself. Do not use this around the `send` of another transport, which waits
    /// for the end of the reading before.
    public func readingBody<Value>(_ operation: () async throws -> Value) async rethrows -> Value {
        let end = Latch()
        await beginReading(until: end)?.opened()
        defer { end.open() }
        return try await operation()
    }

    /// Begins to read the stream of the request's body, until `end` completes. Returns the end of the reading before.
    func beginReading(until end: Latch) -> Latch? {
        send.reporter.beginReading(until: end)
    }

    /// Reports something about the transport. The event is asked for only if somebody listens.
    func tell(_ event: () -> ClientEvent.Kind?) {
        send.reporter.tell(event)
    }

    /// Reports that bytes of a body have arrived or left. The timeout begins anew.
    public func noteProgress() {
        send.noteProgress()
    }
}

private final class PhaseClosure: PhaseReporter {
    private let timeout: Duration?
    private let report: @Sendable (Phase) -> Void
    private let phase = Lock(Phase.preparing)

    init(timeout: Duration?, report: @escaping @Sendable (Phase) -> Void) {
        self.timeout = timeout
        self.report = report
    }

    func note(_ phase: Phase) {
        self.phase.withLock { $0 = phase }
        report(phase)
    }

    func beginUpload(of length: Int?) -> (@Sendable (Int) -> Void)? { nil }
    func beginReading(until end: Latch) -> Latch? { nil }

    func noteWait(forPermit wait: Duration) {}
    func tell(_ event: () -> ClientEvent.Kind?) {}

    func timedOut(_ bound: Timeout.Bound) -> ServiceError {
        .timedOut(Timeout(bound, limit: timeout ?? .zero, phase: phase.withLock { $0 }))
    }
}
