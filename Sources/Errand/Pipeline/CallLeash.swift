/// How a call is stopped: by `cancelAll()`, by `shutdown()`, at its deadline, at the timeout of an attempt.
///
/// A call runs in its caller's own task, which is not ours to cancel. So whatever may take long is on a leash: the
/// network, each wait, and the user's middlewares. All else ends by itself within microseconds.
extension Call {
    /// Stops the call from outside. What hangs on a leash ends at once, the rest when it would take the next.
    func stop(_ reason: ServiceError) {
        let (leash, onStop) = exchange { state in
            state.stop = state.stop ?? reason
            return (state.leash, state.onStop)
        }
        leash?.stop(reason)
        onStop?()
    }

    /// Has `stopped` called when the call is stopped from outside, or at once if it was.
    func onStop(_ stopped: @escaping @Sendable () -> Void) {
        let isStopped = exchange { state in
            state.onStop = stopped
            return state.stop != nil
        }
        if isStopped { stopped() }
    }

    /// Stops the call because its time is up, whether it waits for something or not.
    func stopAtDeadline() {
        stop(timedOut(.deadline))
    }

    /// Runs something that may take long in a child task, and sees to it that it ends with the call, and at `timeout`
    /// if that comes before the deadline.
    func leashed<Value: Sendable>(
        timeout: Instant = .distantFuture, _ operation: @escaping @Sendable () async throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        try await held(timeout: timeout) { (leash: Leash) async throws(ServiceError) in try await leash.run(operation) }
    }

    /// Runs something that puts each of its waits on the leash by itself, and so needs no child task.
    func held<Value: Sendable>(
        timeout: Instant = .distantFuture, _ operation: (Leash) async throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        // Nothing is begun for a caller who has left, least of all a send.
        if Task.isCancelled { throw .cancelled }
        let (end, bound) = timeout < deadline ? (timeout, Timeout.Bound.attempt) : (deadline, .deadline)
        let leash = Leash()
        var alarm: Alarm?
        if end < .distantFuture {
            guard end > time.now else { throw timedOut(bound) }
            alarm = time.schedule(at: end, for: .watch) { leash.stop(self.timedOut(bound)) }
        }
        defer { alarm?.cancel() }
        let isOutermost = try hang(on: leash)
        defer { if isOutermost { update { $0.leash = nil } } }
        return try await leash.hold(operation)
    }

    private func timedOut(_ bound: Timeout.Bound) -> ServiceError {
        let limit = bound == .attempt ? rules.timeout : rules.deadline ?? .zero
        let (phase, mayHaveActed) = read { ($0.phase, $0.mayHaveActed) }
        return .timedOut(
            Timeout(bound, limit: limit, phase: phase, mayHaveReachedServer: mayHaveActed ? true : nil))
    }

    /// Notes the leash, unless the call hangs on one already: a stop of that one reaches this one too.
    private func hang(on leash: Leash) throws(ServiceError) -> Bool {
        let (stop, isOutermost) = exchange { state in
            guard state.stop == nil, state.leash == nil else { return (state.stop, false) }
            state.leash = leash
            return (nil, true)
        }
        if let stop { throw stop }
        return isOutermost
    }
}
