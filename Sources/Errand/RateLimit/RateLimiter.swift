/// Hands out permission to send: bursts up to the limit, never more than the limit in any rolling period.
///
/// Waiters are served in the order they came; urgent ones go to the head of the line. A task that is cancelled while it
/// waits gives its place back, so a cancelled call never slows the calls behind it. One limiter may serve many clients.
/// A client makes its own limiter unless it is given one to share.
///
/// It is a class with a lock and not an actor, because alarms and cancellations come from outside any task: what they
/// change is changed at once, at their very instant, and a call that need not wait does not change threads.
public final class RateLimiter: Sendable {
    /// How long a pause may be for calls to wait for its end. They fail at once with `.rateLimited`, and the figure,
    /// when the server asks for a longer one: nobody wants to look at a spinner for an hour.
    package static let patience = Duration.seconds(60)

    /// The limit that is kept.
    public let limit: RateLimit

    private let time: any TimeSource
    private let problem: String?
    private let largestCost: Int
    private let state: Lock<State>

    /// Makes a limiter whose bucket is full.
    public init(_ limit: RateLimit, time: any TimeSource = .system) {
        self.limit = limit
        self.time = time
        problem = limit.problem
        largestCost = limit.largestCost
        state = Lock(State(limit.problem == nil ? limit : .unlimited))
    }

    /// Waits for `cost` permits and takes them. Returns how long it has waited.
    ///
    /// Fails at once with `.rateLimited` if the permits cannot come before `deadline`, and with `.invalidRequest` if
    /// they never can. Cancelled, it leaves the line at once with `.cancelled` and has taken nothing.
    @discardableResult
    public func acquire(
        cost: Int = 1, isUrgent: Bool = false, before deadline: Instant = .distantFuture
    ) async throws(ServiceError) -> Duration {
        let grant = try await take(cost: cost, isUrgent: isUrgent, before: deadline)
        return grant.asked.duration(to: grant.taken)
    }

    /// When permits were asked for, and when they were taken.
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
        case .waiting(let waiter): return Grant(asked: arrival, taken: try await turn(of: waiter, in: scope))
        }
    }

    /// Takes the permits if nobody has to wait for them; returns when, or `nil` if it has not.
    func takeAtOnce(cost: Int, isUrgent: Bool) throws(ServiceError) -> Instant? {
        let cost = try permits(for: cost)
        let now = time.now
        return state.withLock { $0.takeAtOnce(cost, isUrgent: isUrgent, at: now) } ? now : nil
    }

    /// Takes permits back that were taken at `instant` and not used.
    func giveBack(cost: Int, takenAt instant: Instant) {
        state.withLock { $0.giveBack(cost, takenAt: instant) }
        serve()
    }

    /// Lets nobody through before `instant`, by the clock of the limiter's time source. A shorter pause than the
    /// present one changes nothing.
    ///
    /// Afterwards permits come back one by one at the limit's pace, so that those who waited do not all rush in
    /// together. Who waits, and would not wait that long, fails at once with `.rateLimited`.
    public func pause(until instant: Instant) {
        let now = time.now
        let unservable = state.withLock { $0.pause(until: instant, at: now) }
        for waiter in unservable { waiter.turn.land(.failure(.waitTooLong(now.duration(to: instant)))) }
        serve()
    }

    /// Ends a pause now. Does nothing if there is none.
    ///
    /// Waiters go on at the limit's pace, as after a pause that has run out, and permits that were taken before the
    /// pause come back when they would have without it: the limit holds in every rolling period. The server is not
    /// asked: if it still refuses calls, its next response begins another pause.
    public func resume() {
        let now = time.now
        state.withLock { $0.resume(at: now) }
        serve()
    }

    /// What a limiter looks like at some moment.
    public struct Snapshot: Sendable, Hashable {
        /// How many permits could be taken at once; `nil` without a limit.
        public let available: Int?
        /// How many wait in line.
        public let waiters: Int
        /// When the next who waits gets its permits, or when a newcomer would.
        public let nextGrant: Instant
        /// Until when the server has asked to pause.
        public let pausedUntil: Instant?
    }

    /// What the limiter looks like now.
    public var snapshot: Snapshot {
        let now = time.now
        return state.withLock { $0.snapshot(at: now) }
    }

    /// Why that cost can never be met, if it cannot.
    func problem(withCost cost: Int) -> String? {
        if let problem { return problem }
        if cost <= 0 { return "a cost of \(cost) permits; it must be 1 or more" }
        return cost <= largestCost ? nil : "a cost of \(cost) permits can never be met by a limit of \(limit)"
    }

    /// How many permits are taken for that cost; throws if it makes no sense.
    private func permits(for cost: Int) throws(ServiceError) -> Int {
        if let problem = problem(withCost: cost) { throw .badSetting(problem) }
        // Without a limit the cost is only a number, and may be one that cannot be added up.
        return limit.windows.isEmpty ? 1 : cost
    }

    /// Waits until the waiter is served, and returns when that was.
    private func turn(of waiter: WaitingLine.Waiter, in scope: CallScope) async throws(ServiceError) -> Instant {
        let alarm = time.schedule(at: waiter.deadline, for: .sleeper) { [time] in
            waiter.turn.land(.failure(.waitTooLong(time.now.duration(to: waiter.deadline))))
        }
        defer { alarm.cancel() }
        serve()
        // Whatever ends the wait lands the flight, a cancellation too: so there is one word on whether the permits
        // were taken, whoever asks, and however early the word came.
        await scope.wait {
            await waiter.turn.landed()
        } onStop: {
            _ = waiter.turn.land(.failure(.cancelled))
        }
        let outcome = waiter.turn.outcome ?? .failure(.cancelled)
        if case .success(let instant) = outcome, !scope.isStopped { return instant }
        // Cancelled, or too late. If it had been served just before, what it took goes to the next.
        state.withLock { state in
            state.line.leave(waiter)
            if case .success(let instant) = outcome { state.giveBack(waiter.cost, takenAt: instant) }
        }
        serve()
        _ = try outcome.get()
        throw .cancelled
    }

    /// Serves all whose turn has come, and sees to it that it is called again for the next.
    private func serve() {
        let now = time.now
        var unclaimed: [WaitingLine.Waiter] = []
        repeat {
            let served = state.withLock { state in
                for waiter in unclaimed { state.giveBack(waiter.cost, takenAt: now) }
                return state.serve(at: now)
            }
            // One who has been cancelled, but has not come back to leave the line, takes nothing.
            unclaimed = served.filter { $0.turn.land(.success(now)) == nil }
        } while !unclaimed.isEmpty
        setAlarm()
    }

    private func setAlarm() {
        let now = time.now
        // Nobody in line, no alarm: so a limiter that goes leaves none behind, because each waiter keeps it alive.
        let (replaced, instant) = state.withLock { state -> (Alarm?, Instant?) in
            let next = state.nextService(at: now)
            guard state.service?.instant != next else { return (nil, nil) }
            defer { state.service = next.map { ($0, nil) } }
            return (state.service?.alarm, next)
        }
        replaced?.cancel()
        guard let instant else { return }
        // The clock may be a user's own, so it is not called under the lock.
        let alarm = time.schedule(at: instant, for: .watch) { [weak self] in self?.alarmFired(for: instant) }
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
