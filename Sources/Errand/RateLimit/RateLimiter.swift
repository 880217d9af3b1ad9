/// Grants permission to send: bursts up to the limit, but never more permits than the limit in any rolling period.
///
/// Waiters are served in the order they arrived; urgent ones go to the front of the queue. A task that is canceled
/// while it waits gives up its place, so a canceled call never slows down the calls behind it. One limiter may serve
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

    let time: any TimeSource
    /// The limiter that this one is within; `nil` if there is none.
    let shared: RateLimiter?
    let serverPauses: ServerPauses
    /// Whether permits can end before they are used: those of this limiter, or of one that it is within.
    let permitsEnd: Bool
    /// The purpose of the alarms for the next permit.
    private let purpose: Alarm.Purpose
    private let problem: String?
    private let largestCost: Int
    /// Called when calls begin to wait, and when a pause begins or ends, for a source that can get more permits.
    private let onDemand: (@Sendable () -> Void)?
    /// Called at the end of the limiter, with its source and the end of its pause.
    private let onRelease: (@Sendable (any PermitSource, Instant?) -> Void)?
    private let state: Lock<State>

    /// Creates a limiter with a full bucket.
    public convenience init(_ limit: RateLimit, time: any TimeSource = .system) {
        self.init(limit, time: time, isDefault: false)
    }

    /// Creates the limiter of a client that was given none.
    ///
    /// - Parameter isDefault: Whether the limit is the one that every client has. A test's clock reports the time that
    ///   passes for it.
    convenience init(_ limit: RateLimit, time: any TimeSource, isDefault: Bool) {
        self.init(
            limit, of: TokenBucket(limit.problem == nil ? limit : .unlimited), time: time,
            purpose: .nextPermit(ofDefaultLimit: isDefault))
    }

    /// Creates a limiter with a full bucket, each of whose permits also takes one of a shared limiter.
    ///
    /// A server that calls for many users has one limiter for all of them, and one for each:
    ///
    ///     let shared = RateLimiter(.requests(50, per: .seconds(1)))
    ///     let client = APIClient("https://api.example.com") {
    ///         $0.tokens = tokens  // of one user
    ///         $0.limiter = RateLimiter(.requests(5, per: .seconds(1)), within: shared)
    ///     }
    ///
    /// A call waits for its user's permit first, and keeps it while it waits for the shared one. So a user with many
    /// calls takes no more places in the shared queue than that user has permits; urgent calls are counted by
    /// themselves. The period of both permits begins when the call has both. The snapshot, pauses and their end concern
    /// this limiter alone.
    ///
    /// - Parameters:
    ///   - limit: The limit of this limiter. The limits of both apply.
    ///   - shared: The limiter that this one is within. It may itself be within another.
    ///   - serverPauses: What stops when a server asks for a pause: by default only what this limiter serves.
    public convenience init(_ limit: RateLimit, within shared: RateLimiter, serverPauses: ServerPauses = .own) {
        self.init(
            limit, of: TokenBucket(limit.problem == nil ? limit : .unlimited), time: shared.time, within: shared,
            serverPauses: serverPauses)
    }

    /// Creates a limiter whose permits come from that source. No call may cost more than the limit.
    package init(
        _ limit: RateLimit, of source: any PermitSource, time: any TimeSource, within shared: RateLimiter? = nil,
        serverPauses: ServerPauses = .own, purpose: Alarm.Purpose = .nextPermit(),
        onDemand: (@Sendable () -> Void)? = nil,
        onRelease: (@Sendable (any PermitSource, Instant?) -> Void)? = nil
    ) {
        self.limit = limit
        self.time = time
        self.shared = shared
        self.serverPauses = serverPauses
        self.purpose = purpose
        self.onDemand = onDemand
        self.onRelease = onRelease
        permitsEnd = type(of: source).permitsEnd || shared?.permitsEnd == true
        problem = limit.problem
        largestCost = limit.largestCost
        let isSmooth = limit.windows.contains(where: \.isSmooth)
        state = Lock(State(source, holding: shared.map { _ in HeldPermits(isExclusive: isSmooth) }))
    }

    deinit {
        guard let onRelease else { return }
        let (source, pausedUntil) = state.withLock { $0.rest }
        onRelease(source, pausedUntil)
    }

    /// Waits for `cost` permits and takes them. Returns how long it waited.
    ///
    /// Throws `.rateLimited` at once if the permits cannot be available before `deadline`, and `.invalidRequest` if
    /// they never can. If the task is canceled, it leaves the queue at once, throws `.cancelled` and has taken no
    /// permits. Without a deadline, a waiter may wait without limit.
    @discardableResult
    public func acquire(
        cost: Int = 1, isUrgent: Bool = false, before deadline: Instant = .distantFuture
    ) async throws(ServiceError) -> Duration {
        try await take(cost: cost, isUrgent: isUrgent, before: deadline).wait
    }

    /// Waits for the permits of this limiter alone, and takes them; holds them if the limiter is within another. A
    /// call that returns because it has lost permits that it held goes ahead of those that are not urgent.
    func takeOwn(
        cost: Int, isUrgent: Bool, isReturning: Bool = false, before deadline: Instant, in scope: CallScope
    ) async throws(ServiceError) -> Grant {
        let cost = try permits(for: cost)
        if scope.isStopped { throw .cancelled }
        let arrival = time.now
        let admission = state.withLock { state in
            state.acquire(
                cost: cost, isUrgent: isUrgent, isReturning: isReturning, deadline: deadline, at: arrival)
        }
        switch admission {
        case .granted: return Grant(asked: arrival, taken: arrival)
        case .failed(let reason): throw reason
        case .refused(let wait): throw .waitTooLong(wait)
        case .waiting(let waiter):
            onDemand?()
            return Grant(asked: arrival, taken: try await permit(for: waiter, in: scope))
        }
    }

    /// Throws if the permits of this limiter, or of one that it is within, cannot be available before the deadline.
    func checkWait(cost: Int, isUrgent: Bool, before deadline: Instant) throws(ServiceError) {
        let own = try permits(for: cost)
        let now = time.now
        let wait = state.withLock { $0.hopelessWait(for: own, isUrgent: isUrgent, deadline: deadline, at: now) }
        if let wait { throw .waitTooLong(wait) }
        try shared?.checkWait(cost: cost, isUrgent: isUrgent, before: deadline)
    }

    /// Takes the permits of this limiter alone if no wait is necessary; holds them if the limiter is within another.
    /// Returns the instant at which it did; otherwise `nil`.
    func takeOwnAtOnce(cost: Int, isUrgent: Bool) throws(ServiceError) -> Instant? {
        let cost = try permits(for: cost)
        let now = time.now
        return state.withLock { $0.takeAtOnce(cost, isUrgent: isUrgent, at: now) } ? now : nil
    }

    /// Takes permits of this limiter alone that a call holds. Returns `false`, and releases them, if they are gone.
    func takeOwnHeld(cost: Int, isUrgent: Bool, at instant: Instant) -> Bool {
        defer { serve() }
        return state.withLock { $0.takeHeld(permitsHeld(for: cost), isUrgent: isUrgent, at: instant) }
    }

    /// Releases permits of this limiter alone that a call holds.
    func releaseOwn(cost: Int, isUrgent: Bool) {
        state.withLock { $0.release(permitsHeld(for: cost), isUrgent: isUrgent, takenAt: .zero) }
        serve()
    }

    /// Counts permits of this limiter alone that were taken at `instant` as taken now. Returns until when a request may
    /// begin to leave with them; `nil` if they have come back already, or if a pause has begun since.
    func renewOwn(cost: Int, takenAt instant: Instant, at now: Instant) -> Instant? {
        state.withLock { $0.renew(cost, takenAt: instant, at: now) }
    }

    /// Counts permits of this limiter alone that were taken at `instant` as taken now, also if they have come back.
    func delayOwn(cost: Int, takenAt instant: Instant, to now: Instant) {
        state.withLock { $0.delay(cost, takenAt: instant, to: now) }
    }

    /// Returns unused permits of this limiter alone that were taken at `instant`.
    func giveBackOwn(cost: Int, takenAt instant: Instant) {
        state.withLock { $0.giveBack(cost, takenAt: instant) }
        serve()
    }

    /// Changes what the source has, and serves the waiters that can be served then. The change may be made twice:
    /// during a pause also to the source as it would be without it.
    package func changeSource(_ change: (inout any PermitSource) -> Void) {
        state.withLock { $0.changeSource(change) }
        serve()
    }

    /// What waits for permits of a source that can get more of them.
    package struct Demand: Sendable, Hashable {
        /// The total cost of all waiters.
        package var waiting = 0
        /// The cost of the first waiter; 0 without one.
        package var next = 0
        /// The end of the current pause; `nil` if there is none.
        package var pausedUntil: Instant?
        /// Whether the server has refused a request because of a rate limit, for or during that pause.
        package var isRefused = false
    }

    /// What waits now.
    package var demand: Demand {
        let now = time.now
        return state.withLock { $0.demand(at: now) }
    }

    /// Fails calls that would have to wait, until it is called with `nil`. Permits that the source has are granted.
    package func refuse(_ reason: ServiceError?) {
        let refused = state.withLock { $0.refuse(reason) }
        guard let reason else { return }
        for waiter in refused { waiter.admission.complete(.failure(reason)) }
    }

    /// Notes what calls wait for besides the limit, for the error of those whose deadline comes before their permits.
    package func noteHindrance(_ message: String?) { state.withLock { $0.hindrance = message } }

    /// Pauses the limiter until `instant`, by the clock of its time source: it grants no permits until then. A pause
    /// that ends before the current one changes nothing.
    ///
    /// Afterwards permits come back one by one at the pace of the limit, so that waiters do not all send at once.
    /// Waiters that would not wait that long fail at once with `.rateLimited`.
    public func pause(until instant: Instant) {
        pause(until: instant, isRefusal: false)
    }

    func pause(until instant: Instant, isRefusal: Bool) {
        let now = time.now
        let unservable = state.withLock { $0.pause(until: instant, isRefusal: isRefusal, at: now) }
        for waiter in unservable { waiter.admission.complete(.failure(.waitTooLong(now.duration(to: instant)))) }
        serve()
        onDemand?()
    }

    /// Ends a pause now. Does nothing if there is none.
    ///
    /// Waiters continue at the pace of the limit, as after a pause that has run out. Permits that were taken before the
    /// pause come back when they would have without it, so the limit holds in every rolling period. If the server still
    /// refuses calls, its next response begins another pause.
    public func resume() {
        resume(from: nil)
    }

    /// Ends a pause now if it is the one that ends at that instant: a longer one may have begun since.
    package func resume(from end: Instant?) {
        let now = time.now
        state.withLock { $0.resume(from: end, at: now) }
        serve()
        onDemand?()
    }

    /// The state of a limiter at one moment.
    public struct Snapshot: Sendable, Hashable {
        /// The number of permits available now; `nil` without a limit.
        public let available: Int?
        /// The number of waiters in the queue.
        public let waiters: Int
        /// When the next waiter receives its permits; without waiters, when a new call would. It is `.distantFuture`
        /// while that depends on the limiter that this one is within.
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
        if cost > largestCost { return "a cost of \(cost) permits exceeds the limit of \(limit)" }
        return shared?.problem(withCost: cost)
    }

    /// Returns the number of permits for that cost. Throws if the cost makes no sense.
    private func permits(for cost: Int) throws(ServiceError) -> Int {
        if let problem = problem(withCost: cost) { throw .badSetting(problem) }
        return permitsHeld(for: cost)
    }

    /// Returns the number of permits for a cost that makes sense.
    private func permitsHeld(for cost: Int) -> Int {
        // Without a limit the cost has no effect, and may be too large to add up.
        limit.windows.isEmpty ? 1 : cost
    }

    /// Waits until the waiter is served, and returns when that was.
    private func permit(for waiter: WaitingLine.Waiter, in scope: CallScope) async throws(ServiceError) -> Instant {
        let alarm = time.schedule(at: waiter.deadline, for: .sleeper("a permit of the rate limiter")) { [self] in
            let hindrance = state.withLock { $0.hindrance }
            let wait = time.now.duration(to: waiter.deadline)
            waiter.admission.complete(.failure(.waitTooLong(wait, because: hindrance)))
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
        // Canceled, or too late. If the waiter was served just before, its permits go to the next one.
        state.withLock { state in
            state.line.leave(waiter)
            if case .success(let instant) = outcome {
                state.release(waiter.cost, isUrgent: waiter.isUrgent, takenAt: instant)
            }
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
                for waiter in unclaimed {
                    state.release(waiter.cost, isUrgent: waiter.isUrgent, takenAt: now)
                }
                return state.serve(at: now)
            }
            // A canceled waiter takes no permits, even before its task has resumed.
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
        let alarm = time.schedule(at: instant, for: purpose) { [weak self] in
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
    fileprivate static func waitTooLong(_ wait: Duration, because message: String? = nil) -> ServiceError {
        .rateLimited(RateLimited(retryAfter: max(wait, .zero), message: message))
    }
}
