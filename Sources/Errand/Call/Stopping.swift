// What stops what. The scopes form a tree, in which a stop reaches everything below.
//
//     what                scope                            what stops it
//     call                its own                          its caller's task, `cancelAll()`, `shutdown()`, its
//                                                          deadline, the end of its session
//     transmission        that of its one call             as its call
//       that is shared    its own                          the last call that leaves it, `shutdown()`, the end of its
//                                                          session
//     send                its own, below that              the timeout of an attempt
//     stream              that of its call                 as its call; the reader that drops it
//     wait for a piece    its own, below that              the timeout of an attempt
//     other waits         that of call or transmission     as those
//     one of two sends    that of its one call             as its call; a response to the other cancels its task
//     wait for a sign-in  its own                          its caller's task, its limit, `OAuth.shutdown()`
//     LatestOnly          its own                          its caller's task, the next operation, `cancel()`
//
// Exceptions: `cancelAll()` spares the calls of a token refresh, whose token would be lost, and transmissions without a
// caller, such as a refresh of the cache. `shutdown()` waits for the former and stops the latter. The end of a session
// spares a call whose endpoint is `outlivingSession()` and whose request was sent, and the transmission that it shares;
// it spares no stream.
//
// A stop has a reason, and the first counts. A wait that knows scopes ends at once. A user's middleware, a closure and
// a foreign transport run in a child task, which is canceled. A body that is being decoded is given up soon after.
//
// The mechanism is `StopScope`, below everything that waits; `CallScope` is the one whose reasons are `ServiceError`s.
// Each part that stops something is where it learns that it has to, so that no folder uses what is above it:
//
//     Call/Call                    the deadline of a call
//     Call/SharedTransmission      the last call that leaves a transmission
//     Call/Stopping                the timeout of an attempt that waits for a piece of a stream
//     Transport/Send               the timeout of an attempt that sends
//     Streams/ResponseStream       the reader of a stream, and a stop between two of its reads
//     Client/CallsInFlight         `cancelAll()`, `shutdown()`, the end of a session
//     Auth/OAuth/SignInsUnderWay   the shutdown of the clients that a sign-in uses

/// What can be stopped from outside: a call or a transmission.
///
/// A call runs in its caller's own task, which is not ours to cancel. So everything that may take long runs in a scope.
/// Everything else ends by itself within microseconds.
protocol Interruptible: AnyObject, Sendable {
    var settings: CallSettings { get }
    var scope: CallScope { get }
    var phase: Phase { get }
    /// Whether the server may have acted on an earlier send.
    var mayHaveActed: Bool { get }
    /// Reports the current phase.
    func note(_ phase: Phase)
}

extension Interruptible {
    var time: any TimeSource { settings.time }
    var rules: CallRules { settings.rules }
    var deadline: Instant { settings.deadline }

    /// Sends an event to the listeners; it is created only if there are any.
    func report(_ event: @autoclosure () -> ClientEvent.Kind) {
        settings.report(event())
    }

    /// Stops it from outside. Waits end at once, the rest when it comes to the next wait.
    ///
    /// The first stop counts. Its reason comes from outside, so what the server may have received is added here.
    func stop(_ reason: ServiceError) {
        let mayHaveActed = mayHaveActed || phase.comesAfterSending
        scope.stop(mayHaveActed ? reason.markedAsSent(settings.method) : reason)
    }

    /// Whether it goes on although the session that signs it has ended: its request was sent, and its endpoint asks for
    /// that. Not if the body is a stream, which has no end that could be waited for.
    var outlivesSession: Bool {
        rules.outlivesSession && settings.delivery == .whole && phase.comesAfterSending
    }

    /// Throws if it was stopped, or its deadline has passed, while it did something that cannot be stopped.
    func throwIfStopped() throws(ServiceError) {
        try throwIfStopped(at: nil)
    }

    /// Throws if it was stopped, or its deadline has passed.
    ///
    /// - Parameters:
    ///   - now: The present, if it is known already: a look at the clock takes longer than the rest of this.
    func throwIfStopped(at now: Instant?) throws(ServiceError) {
        if Task.isCancelled { throw .cancelled }
        if let reason = scope.reason { throw reason }
        if deadline < .distantFuture, now ?? time.now >= deadline { throw timedOut(.deadline) }
    }

    /// Runs an operation in a child task, which ends along with it.
    func runInChild<Value: Sendable>(
        _ operation: @escaping @Sendable () async throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        // Nothing begins for a caller that has been canceled, least of all a send.
        try throwIfStopped()
        return try await scope.runInChild(operation)
    }

    /// Runs an operation in the caller's own task: each of its waits uses the scope, so it needs no child task. It ends
    /// along with it.
    func run<Value: Sendable>(
        _ operation: (CallScope) async throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        try throwIfStopped()
        return try await scope.run(operation)
    }

    /// Runs an operation in a scope of its own, which ends along with it.
    func run<Value: Sendable>(
        in inner: CallScope, at now: Instant? = nil, _ operation: (CallScope) async throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        try throwIfStopped(at: now)
        return try await scope.run(in: inner, operation)
    }

    /// Runs an operation that ends along with it or when the timeout, if there is one, has passed.
    func run<Value: Sendable>(
        timeout: Duration?, _ operation: (CallScope) async throws(ServiceError) -> Value
    ) async throws(ServiceError) -> Value {
        guard let timeout else { return try await run(in: CallScope(), operation) }
        let (inner, now) = (CallScope(), time.now)
        let end = now.advanced(by: timeout)
        guard end > now else { throw Task.isCancelled ? .cancelled : timedOut(.attempt) }
        // The deadline has an alarm of its own.
        guard end < deadline else { return try await run(in: inner, operation) }
        let alarm = time.schedule(at: end, for: .watch("the timeout of an attempt")) {
            inner.stop(self.timedOut(.attempt))
        }
        defer { alarm.cancel() }
        return try await run(in: inner, operation)
    }

    /// Returns the pause before another attempt, after that many: as the policy's backoff says, and at least `wait`.
    /// `nil` if the policy allows no other attempt, or if the deadline would come first.
    func pause(after attempts: Int, atLeast wait: Duration = .zero, exactly own: Duration? = nil) -> Duration? {
        guard attempts < rules.retry.attempts else { return nil }
        let pause = own ?? usualPause(after: attempts, atLeast: wait)
        return time.now.advanced(by: pause) < deadline ? pause : nil
    }

    /// Returns a random part of the backoff after that number of attempts, or that wait if it is longer.
    func usualPause(after attempts: Int, atLeast wait: Duration = .zero) -> Duration {
        let backoff = rules.retry.backoff.pause(beforeRetry: max(attempts, 1), random: time.randomFraction())
        return max(wait, backoff)
    }

    /// Reports a pause before another attempt, and returns its end.
    func beginPause(of pause: Duration, after reason: ClientEvent.RetryReason) -> Instant {
        report(.retrying(after: reason, pause: pause))
        note(.backingOff)
        return time.now.advanced(by: pause)
    }

    /// Waits for the end of a pause before another attempt.
    ///
    /// Not inlined: a layer would hold what this needs while it waits for a response.
    @inline(never)
    func pause(until end: Instant) async throws(ServiceError) {
        try await run { (scope: CallScope) async throws(ServiceError) in
            try await time.sleep(until: end, for: .sleeper("the pause before a retry"), in: scope)
        }
    }

    func timedOut(_ bound: Timeout.Bound) -> ServiceError {
        let limit = bound == .attempt ? rules.timeout : settings.deadlineLimit
        return .timedOut(
            Timeout(bound, limit: limit ?? .zero, phase: phase, mayHaveReachedServer: mayHaveActed ? true : nil))
    }
}
