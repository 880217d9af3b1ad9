/// Ways to stop a call: `cancelAll()`, `shutdown()`, its deadline, the timeout of a send.
///
/// A call runs in its caller's own task, which is not ours to cancel. So everything that may take long runs in a stop
/// scope: the network, each wait, and the user's middleware. Everything else ends by itself within microseconds.
extension Call {
    /// Stops the call from outside. Work in a scope ends at once, the rest when it enters the next scope.
    ///
    /// The first stop counts. Its reason comes from outside, so what the server may have received is added here.
    func stop(_ reason: ServiceError) {
        let (stop, scope, onStop) = exchange { state in
            let mayHaveActed = state.mayHaveActed || state.phase.comesAfterSending
            let stop = state.stop ?? (mayHaveActed ? reason.markedAsSent(method) : reason)
            state.stop = stop
            return (stop, state.scope, state.onStop)
        }
        scope?.stop(stop)
        onStop?()
    }

    /// Calls `stopped` when the call is stopped from outside, or at once if it already was.
    func onStop(_ stopped: @escaping @Sendable () -> Void) {
        let isStopped = exchange { state in
            state.onStop = stopped
            return state.stop != nil
        }
        if isStopped { stopped() }
    }

    /// Stops the call because its deadline has passed, whether it waits for something or not.
    func stopAtDeadline() {
        stop(timedOut(.deadline))
    }

    /// Throws if the call was stopped, or its deadline has passed, while it did something that cannot be stopped.
    func throwIfStopped() throws(ServiceError) {
        if Task.isCancelled { throw .cancelled }
        if let stop = read({ $0.stop }) { throw stop }
        if deadline < .distantFuture, time.now >= deadline { throw timedOut(.deadline) }
    }

    /// Runs an operation in a child task, which ends with the call.
    func runInChild<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        try await run { (scope: CallScope) async throws(ServiceError) in
            try await scope.runInChild(operation)
        }
    }

    /// Runs an operation in the caller's own task: each of its waits uses the scope, so it needs no child task. It ends
    /// with the call or, if there is a timeout, when that has passed.
    func run<Value: Sendable>(
        timeout: Duration? = nil, _ operation: (CallScope) async throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        let scope = CallScope()
        var alarm: Alarm?
        if timeout != nil || deadline < .distantFuture {
            let start = time.now
            let timeout = timeout.map(start.advanced(by:)) ?? .distantFuture
            let (end, bound) = timeout < deadline ? (timeout, Timeout.Bound.attempt) : (deadline, .deadline)
            guard end > start else { throw Task.isCancelled ? .cancelled : timedOut(bound) }
            let purpose: Alarm.Purpose =
                bound == .deadline ? .watch("the deadline of a call") : .watch("the timeout of an attempt")
            alarm = time.schedule(at: end, for: purpose) { scope.stop(self.timedOut(bound)) }
        }
        defer { alarm?.cancel() }
        return try await run(in: scope, operation)
    }

    /// Runs an operation in that scope, which ends with the call.
    func run<Value: Sendable>(
        in scope: CallScope, _ operation: (CallScope) async throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        // Nothing begins for a caller that has been cancelled, least of all a send.
        if Task.isCancelled { throw .cancelled }
        let isOutermost = try enter(scope)
        defer { if isOutermost { update { $0.scope = nil } } }
        return try await scope.run(operation)
    }

    /// Reports a pause before another attempt, and returns its end.
    func beginPause(of pause: Duration, after reason: ClientEvent.RetryReason) -> Instant {
        tell(.retrying(after: reason, pause: pause))
        note(.backingOff)
        return time.now.advanced(by: pause)
    }

    /// Waits for the end of a pause before another attempt.
    func pause(until end: Instant) async throws(ServiceError) {
        try await run { (scope: CallScope) async throws(ServiceError) in
            try await time.sleep(until: end, for: .sleeper("the pause before a retry"), in: scope)
        }
    }

    func timedOut(_ bound: Timeout.Bound) -> ServiceError {
        let limit = bound == .attempt ? rules.timeout : rules.deadline ?? .zero
        let (phase, mayHaveActed) = read { ($0.phase, $0.mayHaveActed) }
        return .timedOut(
            Timeout(bound, limit: limit, phase: phase, mayHaveReachedServer: mayHaveActed ? true : nil))
    }

    /// Stores the scope, unless the call is already in one: a stop of the outer scope reaches this one too.
    private func enter(_ scope: CallScope) throws(ServiceError) -> Bool {
        let (stop, isOutermost) = exchange { state in
            guard state.stop == nil, state.scope == nil else { return (state.stop, false) }
            state.scope = scope
            return (nil, true)
        }
        if let stop { throw stop }
        return isOutermost
    }
}
