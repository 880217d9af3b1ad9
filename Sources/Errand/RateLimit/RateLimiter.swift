/// Grants permission to send: bursts up to the limit, but never more permits than the limit in any rolling period.
///
/// Waiters are served in the order they arrived; urgent ones go to the front of the queue. A task that is cancelled
/// while it waits gives up its place, so a cancelled call never slows down the calls behind it. One limiter may serve
/// many clients, and a pause that one server asks for then stops all of them. A client creates its own limiter unless
/// you give it one to share.
///
/// It is a class with a lock and not an actor, because alarms and cancellations come from outside any task: they take
/// effect at once, and a call that need not wait does not change threads.
public final class RateLimiter: Sendable {
    /// The longest pause for whose end calls wait: 60 seconds. If the server asks for a longer one, they fail at once
    /// with `.rateLimited` and its duration: a longer wait is reported as an error.
    package static let longestPause = Duration.seconds(60)

    /// The limit.
    public let limit: RateLimit

    private let time: any TimeSource
    private let problem: String?
    private let largestCost: Int
    private let state: Lock<State>

    /// Creates a limiter with a full bucket.
    public convenience init(_ limit: RateLimit, time: any TimeSource = .system) {
        self.init(limit, of: TokenBucket(limit.problem == nil ? limit : .unlimited), time: time)
    }

    /// Creates a limiter whose permits come from that source. No call may cost more than the limit.
    package init(_ limit: RateLimit, of source: any PermitSource, time: any TimeSource) {
        self.limit = limit
        self.time = time
        problem = limit.problem
        largestCost = limit.largestCost
        state = Lock(State(source))
    }

    /// Waits for `cost` permits and takes them. Returns how long it waited.
    ///
    /// Throws `.rateLimited` at once if the permits cannot be available before `deadline`, and `.invalidRequest` if
    /// they never can. If the task is cancelled, it leaves the queue at once, throws `.cancelled` and has taken no
    /// permits. Without a deadline, a waiter may wait without limit.
    @discardableResult
    public func acquire(
        cost: Int = 1, isUrgent: Bool = false, before deadline: Instant = .distantFuture
    ) async throws(ServiceError) -> Duration {
        let grant = try await take(cost: cost, isUrgent: isUrgent, before: deadline)
        return grant.asked.duration(to: grant.taken)
    }

    /// The instants at which permits were requested and taken.
    struct Grant {
        var asked: Instant
        var taken: Instant
    }

    /// Waits for the permits and takes them.
    func take(
        cost: Int, isUrgent: Bool, before deadline: Instant, in scope: CallScope = CallScope()
    ) async throws(ServiceError) -> Grant {
        let cost = try permits(for: cost)
        if scope.isStopped { throw .cancelled }
        let arrival = time.now
        let admission = state.withLock { state in
            state.acquire(cost: cost, isUrgent: isUrgent, deadline: deadline, at: arrival)
        }
        switch admission {
        case .granted: return Grant(asked: arrival, taken: arrival)
        case .refused(let wait): throw .waitTooLong(wait)
        case .waiting(let waiter): return Grant(asked: arrival, taken: try await permit(for: waiter, in: scope))
        }
    }

    /// Takes the permits if no wait is necessary. Returns the instant at which it took them; otherwise `nil`.
    func takeAtOnce(cost: Int, isUrgent: Bool) throws(ServiceError) -> Instant? {
        let cost = try permits(for: cost)
        let now = time.now
        return state.withLock { $0.takeAtOnce(cost, isUrgent: isUrgent, at: now) } ? now : nil
    }

    /// Counts permits that were taken at `instant` as taken now. Returns `false` if they have come back already, or if
    /// a pause has begun since.
    func renew(cost: Int, takenAt instant: Instant, at now: Instant? = nil) -> Bool {
        let now = now ?? time.now
        return state.withLock { $0.renew(cost, takenAt: instant, at: now) }
    }

    /// Returns unused permits that were taken at `instant`.
    func giveBack(cost: Int, takenAt instant: Instant) {
        state.withLock { $0.giveBack(cost, takenAt: instant) }
        serve()
    }

    /// Changes what the source has, and serves the waiters that can be served then. The change may be made twice:
    /// during a pause also to the source as it would be without it.
    package func changeSource(_ change: (inout any PermitSource) -> Void) {
        state.withLock { $0.changeSource(change) }
        serve()
    }

    /// Pauses the limiter until `instant`, by the clock of its time source: it grants no permits until then. A pause
    /// that ends before the current one changes nothing.
    ///
    /// Afterwards permits come back one by one at the pace of the limit, so that waiters do not all send at once.
    /// Waiters that would not wait that long fail at once with `.rateLimited`.
    public func pause(until instant: Instant) {
        let now = time.now
        let unservable = state.withLock { $0.pause(until: instant, at: now) }
        for waiter in unservable { waiter.admission.complete(.failure(.waitTooLong(now.duration(to: instant)))) }
        serve()
    }

    /// Ends a pause now. Does nothing if there is none.
    ///
    /// Waiters continue at the pace of the limit, as after a pause that has run out. Permits that were taken before the
    /// pause come back when they would have without it, so the limit holds in every rolling period. If the server still
    /// refuses calls, its next response begins another pause.
    public func resume() {
        let now = time.now
        state.withLock { $0.resume(at: now) }
        serve()
    }

    /// The state of a limiter at one moment.
    public struct Snapshot: Sendable, Hashable {
        /// The number of permits available now; `nil` without a limit.
        public let available: Int?
        /// The number of waiters in the queue.
        public let waiters: Int
        /// When the next waiter receives its permits; without waiters, when a new call would.
        public let nextGrant: Instant
        /// The end of the current pause; `nil` if there is none.
        public let pausedUntil: Instant?
    }

    /// The current state of the limiter.
    public var snapshot: Snapshot {
        let now = time.now
        return state.withLock { $0.snapshot(at: now) }
    }

    /// Returns why that cost can never be granted; `nil` if it can.
    func problem(withCost cost: Int) -> String? {
        if let problem { return problem }
        if cost <= 0 { return "a cost of \(cost) permits; it must be 1 or more" }
        return cost <= largestCost ? nil : "a cost of \(cost) permits exceeds the limit of \(limit)"
    }

    /// Returns the number of permits for that cost. Throws if the cost makes no sense.
    private func permits(for cost: Int) throws(ServiceError) -> Int {
        if let problem = problem(withCost: cost) { throw .badSetting(problem) }
        // Without a limit the cost has no effect, and may be too large to add up.
        return limit.windows.isEmpty ? 1 : cost
    }

    /// Waits until the waiter is served, and returns when that was.
    private func permit(for waiter: WaitingLine.Waiter, in scope: CallScope) async throws(ServiceError) -> Instant {
        let alarm = time.schedule(at: waiter.deadline, for: .sleeper("a permit of the rate limiter")) { [time] in
            waiter.admission.complete(.failure(.waitTooLong(time.now.duration(to: waiter.deadline))))
        }
        defer { alarm.cancel() }
        serve()
        // Everything that ends the wait completes the promise, including a cancellation. So the outcome of the promise
        // alone decides whether the permits were taken, even if it completes before the wait begins.
        await scope.wait {
            await waiter.admission.completion()
        } onStop: {
            _ = waiter.admission.complete(.failure(.cancelled))
        }
        let outcome = waiter.admission.outcome ?? .failure(.cancelled)
        if case .success(let instant) = outcome, !scope.isStopped { return instant }
        // Cancelled, or too late. If the waiter was served just before, its permits go to the next one.
        state.withLock { state in
            state.line.leave(waiter)
            if case .success(let instant) = outcome { state.giveBack(waiter.cost, takenAt: instant) }
        }
        serve()
        _ = try outcome.get()
        throw .cancelled
    }

    /// Serves all waiters whose permits are available, and sets the alarm for the next one.
    private func serve() {
        let now = time.now
        var unclaimed: [WaitingLine.Waiter] = []
        repeat {
            let served = state.withLock { state in
                for waiter in unclaimed { state.giveBack(waiter.cost, takenAt: now) }
                return state.serve(at: now)
            }
            // A cancelled waiter takes no permits, even before its task has resumed.
            unclaimed = served.filter { $0.admission.complete(.success(now)) == nil }
        } while !unclaimed.isEmpty
        setAlarm()
    }

    private func setAlarm() {
        let now = time.now
        // No waiters, no alarm: so a deallocated limiter leaves no alarm behind, because each waiter keeps it alive.
        let (replaced, instant) = state.withLock { state -> (Alarm?, Instant?) in
            let next = state.nextService(at: now)
            guard state.service?.instant != next else { return (nil, nil) }
            defer { state.service = next.map { ($0, nil) } }
            return (state.service?.alarm, next)
        }
        replaced?.cancel()
        guard let instant else { return }
        // The time source may be user code, so it is not called under the lock.
        let alarm = time.schedule(at: instant, for: .watch("the rate limiter's next permit")) { [weak self] in
            self?.alarmFired(for: instant)
        }
        let isWanted = state.withLock { state in
            guard state.service?.instant == instant, state.service?.alarm == nil else { return false }
            state.service?.alarm = alarm
            return true
        }
        if !isWanted { alarm.cancel() }
    }

    private func alarmFired(for instant: Instant) {
        state.withLock { state in
            if state.service?.instant == instant { state.service = nil }
        }
        serve()
    }
}

extension ServiceError {
    fileprivate static func waitTooLong(_ wait: Duration) -> ServiceError {
        .rateLimited(RateLimited(retryAfter: max(wait, .zero)))
    }
}
