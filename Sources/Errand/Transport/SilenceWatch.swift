/// Stops a send that is silent for as long as its timeout, or that lasts beyond the deadline of its call.
///
/// Silence is the time to the head of the response, and each pause while a body arrives or leaves. An alarm for each
/// piece of a body would cost more than the piece. So progress only records the time, and an alarm that fires after
/// some progress is set again. While the transport has not begun to send, because all connections are in use, the
/// timeout does not run.
///
/// States: not begun, running, over.
final class SilenceWatch: Sendable {
    private struct State {
        var alarm: Alarm?
        var start = Instant.zero
        var lastProgress = Instant.zero
        var isQueued = false
        var isOver = false
    }

    let scope = CallScope()
    let timeout: Duration
    let time: any TimeSource
    private let deadline: Instant
    let reporter: any PhaseReporter
    private let permit: (any SendPermit)?
    private let state = Lock(State())

    init(
        timeout: Duration, until deadline: Instant = .distantFuture, time: any TimeSource, reporter: any PhaseReporter,
        permit: (any SendPermit)? = nil
    ) {
        self.timeout = timeout
        self.deadline = deadline
        self.time = time
        self.reporter = reporter
        self.permit = permit
    }

    /// Begins to watch. Throws if no time is left.
    func begin(at start: Instant? = nil) throws(ServiceError) {
        let start = start ?? time.now
        state.withLock { state in
            state.start = start
            state.lastProgress = start
        }
        let limit = limit(after: start)
        guard limit.end > start else { throw reporter.timedOut(limit.bound) }
        setAlarm(at: limit.end)
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
        guard phase != .waitingForConnection else { return state.withLock { $0.isQueued = true } }
        let now = time.now
        state.withLock { state in
            if state.isQueued || phase == .receiving { state.lastProgress = now }
            state.isQueued = false
        }
    }

    /// Has the permit of the send count from now on, because the send has waited since it began.
    func renewPermit() async throws(ServiceError) {
        let start = state.withLock { $0.start }
        try await permit?.renew(usedAt: start, before: deadline, in: scope)
    }

    func noteProgress() {
        let now = time.now
        state.withLock { $0.lastProgress = now }
    }

    private func limit(after progress: Instant) -> (end: Instant, bound: Timeout.Bound) {
        let end = progress.advanced(by: timeout)
        return end < deadline ? (end, .attempt) : (deadline, .deadline)
    }

    private func setAlarm(at instant: Instant) {
        let purpose: Alarm.Purpose =
            instant == deadline ? .watch("the deadline of a call") : .watch("the timeout of an attempt")
        let alarm = time.schedule(at: instant, for: purpose) { self.fire() }
        let isOver = state.withLock { state in
            if !state.isOver { state.alarm = alarm }
            return state.isOver
        }
        if isOver { alarm.cancel() }
    }

    private func fire() {
        let now = time.now
        let limit: (end: Instant, bound: Timeout.Bound)? = state.withLock { state in
            guard !state.isOver else { return nil }
            return self.limit(after: state.isQueued ? now : state.lastProgress)
        }
        guard let limit else { return }
        if limit.end > now { setAlarm(at: limit.end) } else { scope.stop(reporter.timedOut(limit.bound)) }
    }
}

/// The receiver of a send's phases and progress: usually the call itself.
protocol PhaseReporter: AnyObject, Sendable {
    func note(_ phase: Phase)
    /// Begins to tell how much of a body of that length has been sent; `nil` if nobody wants to know.
    func beginUpload(of length: Int?) -> (@Sendable (Int) -> Void)?
    /// Begins to read the stream of the request's body, until `end` lands. Returns the end of the reading before.
    func beginReading(until end: Flight<Void, Never>) -> Flight<Void, Never>?
    /// The error of a send whose time is up.
    func timedOut(_ bound: Timeout.Bound) -> ServiceError
}

/// The permission that a send was begun with.
protocol SendPermit: Sendable {
    /// Has the permission count from now on. Waits for another one if it has come back since.
    func renew(usedAt start: Instant, before deadline: Instant, in scope: CallScope) async throws(ServiceError)
}
