/// One send: its scope, its timeout, its permit and its phases.
///
/// It is stopped when it has been silent for as long as its timeout, if it has one. The deadline of its call has an
/// alarm of its own, and Call/Stopping.swift says what else stops it.
///
/// Silence is the time to the head of the response, and each pause while a body arrives or leaves. An alarm for each
/// piece of a body would cost more than the piece. So progress only records the time, and an alarm that fires after
/// some progress is set again. While the transport has not begun to send, because all connections are in use or the
/// permit has to be taken anew, the timeout does not run.
///
/// States: not begun, running, over.
final class Send: Sendable {
    private struct State {
        var alarm: Alarm?
        var start = Instant.zero
        var lastProgress = Instant.zero
        /// Whether it waits for a connection or a permit.
        var isQueued = false
        /// Whether it has waited since it began, so that its permit counts from later.
        var hasWaited = false
        /// Whether the transport is still to get the permit that its client has used.
        var hasUsedPermit: Bool
        /// From when the permit counts; `nil` before its use.
        var permitUse: Instant?
        /// When the body of the response began to arrive; `nil` before that.
        var head: Instant?
        var isOver = false
    }

    /// A delay of the first byte up to which the permit counts from its use: nearly all requests leave that soon.
    private static let tolerance = Duration.milliseconds(1)

    let scope = CallScope()
    let timeout: Duration?
    let time: any TimeSource
    private let deadline: Instant
    let reporter: any PhaseReporter
    private let permit: (any SendPermit)?
    /// The lock of the refresh that sends; `nil` if none does. Nothing is sent when the lock is lost.
    private let lock: (any SendLock)?
    /// What the transport does by itself; its client has done the rest, or does it.
    let features: TransportFeatures
    private let state: Lock<State>

    init(
        timeout: Duration?, until deadline: Instant = .distantFuture, time: any TimeSource, reporter: any PhaseReporter,
        permit: (any SendPermit)? = nil, under lock: (any SendLock)? = nil,
        features: TransportFeatures = [.usesPermits, .countsUploads]
    ) {
        self.timeout = timeout
        self.deadline = deadline
        self.time = time
        self.reporter = reporter
        self.permit = permit
        self.lock = lock
        self.features = features
        state = Lock(State(hasUsedPermit: !features.contains(.usesPermits)))
    }

    /// Begins the timeout. Throws if it is zero.
    func begin(at start: Instant? = nil) throws(ServiceError) {
        let start = start ?? time.now
        state.withLock { state in
            state.start = start
            state.lastProgress = start
        }
        guard let timeout else { return }
        guard timeout > .zero else { throw reporter.timedOut(.attempt) }
        setAlarm(at: start.advanced(by: timeout))
    }

    func end() {
        let alarm = state.withLock { state in
            state.isOver = true
            return state.alarm.take()
        }
        alarm?.cancel()
    }

    func note(_ phase: Phase) {
        reporter.note(phase)
        if phase == .waitingForConnection || phase == .waitingForPermit {
            return state.withLock { state in (state.isQueued, state.hasWaited) = (true, true) }
        }
        let wasQueued = state.withLock { state in
            defer { state.isQueued = false }
            return state.isQueued
        }
        guard wasQueued || phase == .receiving else { return }
        let now = time.now
        state.withLock { state in
            state.lastProgress = now
            if phase == .receiving { state.head = state.head ?? now }
        }
    }

    /// When the body of the response began to arrive; `nil` if the transport has not said that.
    var head: Instant? { state.withLock { $0.head } }

    /// Notes that it has waited for something else than a connection or a permit. The timeout runs during such a wait.
    func noteWait() {
        state.withLock { $0.hasWaited = true }
    }

    /// Uses the permit at this instant. Returns `false` if another one has to be taken, with `takePermit()`, which
    /// throws if nothing may be sent any more.
    func usePermit() -> Bool {
        if lock?.isLost == true { return false }
        guard let permit else { return true }
        let (start, hasWaited) = state.withLock { ($0.start, $0.hasWaited) }
        guard let use = permit.use(at: hasWaited || permit.hasEnd ? time.now : start) else { return false }
        state.withLock { $0.permitUse = use }
        return true
    }

    /// Uses the permit for the transport, likewise. If the transport does not say that it does so, the client has used
    /// the permit before: then the first send beneath it has that one, unless it has ended in the meantime.
    func usePermitInTransport() -> Bool {
        let hasUsed = state.withLock { state in
            defer { state.hasUsedPermit = false }
            return state.hasUsedPermit
        }
        guard hasUsed, let permit, lock?.isLost != true else { return usePermit() }
        return !permit.hasEnd || time.now < permit.end
    }

    /// Returns how long the first byte may still be sent from the moment of the call, because the permit ends then, or
    /// the lock of the refresh; `nil` if that has no end.
    var permitEnd: (() -> Duration)? {
        let end = permit.flatMap { $0.hasEnd ? $0.end : nil }
        guard end != nil || lock?.timeLeft != nil else { return nil }
        return { [time, lock] in
            [end.map { time.now.duration(to: $0) }, lock?.timeLeft].compactMap(\.self).min() ?? .zero
        }
    }

    /// Takes another permit, ahead of the queue, and uses it.
    func takePermit() async throws(ServiceError) {
        try checkLock()
        guard let permit else { return }
        guard reporter.mayWait else { throw .cancelled }
        note(.waitingForPermit)
        let (wait, use) = try await permit.takeAnother(in: scope)
        state.withLock { $0.permitUse = use }
        reporter.noteWait(forPermit: wait)
        try checkLock()
        note(.preparing)
    }

    /// Notes that the first byte leaves now: the permit counts from this instant. One with an end counts from its use,
    /// because others have it after the end, and the request does not leave any more.
    func noteFirstByte() {
        guard let permit, !permit.hasEnd else { return }
        let now = time.now
        let use: Instant? = state.withLock { state in
            guard let use = state.permitUse, now > use.advanced(by: Self.tolerance) else { return nil }
            state.permitUse = now
            return use
        }
        if let use { permit.delay(from: use, to: now) }
    }

    /// Throws if the refresh that sends has lost its lock.
    func checkLock() throws(ServiceError) { try lock?.checkLock() }

    func noteProgress() {
        let now = time.now
        state.withLock { $0.lastProgress = now }
    }

    private func setAlarm(at instant: Instant) {
        guard instant < deadline else { return }
        let alarm = time.schedule(at: instant, for: .watch("the timeout of an attempt")) { self.fire() }
        let isOver = state.withLock { state in
            if !state.isOver { state.alarm = alarm }
            return state.isOver
        }
        if isOver { alarm.cancel() }
    }

    private func fire() {
        let now = time.now
        let end: Instant? = state.withLock { state in
            guard let timeout, !state.isOver else { return nil }
            return (state.isQueued ? now : state.lastProgress).advanced(by: timeout)
        }
        guard let end else { return }
        if end > now { setAlarm(at: end) } else { scope.stop(reporter.timedOut(.attempt)) }
    }
}

/// The receiver of a send's phases and progress: usually the call itself.
protocol PhaseReporter: AnyObject, Sendable {
    func note(_ phase: Phase)
    /// Begins to report how much of a body of that length has been sent; `nil` if the caller has no handler for it.
    func beginUpload(of length: Int?) -> (@Sendable (Int) -> Void)?
    /// Begins to read the stream of the request's body, until `end` completes. Returns the end of the reading before.
    func beginReading(until end: Latch) -> Latch?
    /// Whether the send may wait for another permit.
    var mayWait: Bool { get }
    /// Reports how long the send has waited for another permit.
    func noteWait(forPermit wait: Duration)
    /// Reports something to the developer of the program. The text is asked for only if somebody listens.
    func tell(_ event: () -> ClientEvent.Kind?)
    /// The error of a send whose time is up.
    func timedOut(_ bound: Timeout.Bound) -> ServiceError
}

extension PhaseReporter {
    var mayWait: Bool { true }
}

/// The lock under which a send is made.
protocol SendLock: AnyObject, Sendable {
    /// Whether somebody else may have the lock by now.
    var isLost: Bool { get }
    /// How long the lock is still held; `nil` if it has no end.
    var timeLeft: Duration? { get }
    /// Throws if the lock is lost.
    func checkLock() throws(ServiceError)
}

/// The permission for a send.
protocol SendPermit: AnyObject, Sendable {
    /// Whether the permission has an end, because somebody else may have it then.
    var hasEnd: Bool { get }
    /// The end, as it is now.
    var end: Instant { get }
    /// Uses the permission for a send at that instant. Returns from when it counts; `nil` if its time is over.
    func use(at instant: Instant) -> Instant?
    /// Takes and uses another permission. Returns how long it waited, and from when it counts.
    func takeAnother(in scope: CallScope) async throws(ServiceError) -> (wait: Duration, use: Instant)
    /// Counts a permission without an end from another instant than that of its use.
    func delay(from use: Instant, to instant: Instant)
}
