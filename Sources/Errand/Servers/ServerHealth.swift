/// What is known about one server: whether it may be asked, and how it has answered. A value that knows no clock, no
/// lock and no task.
///
/// ```text
/// in use ──► set aside ──► tried ──► in use
///                ▲           │
///                └───────────┘
/// ```
///
/// What it learns from a request counts against what was known when that began: the generation in its ticket. So fifty
/// requests that fail together change it once.
struct ServerHealth: Sendable, Hashable {
    enum Standing: Sendable, Hashable {
        case inUse
        /// Not to be asked before `until`. Then one request tries it.
        case aside(since: Instant, until: Instant, Cause)
        /// One request tries it. It was set aside at `since`.
        case tried(since: Instant, Cause)
    }

    enum Cause: Sendable, Hashable {
        /// It failed, and others were left.
        case failure
        /// It was the last, and kept failing.
        case failsAlways
        /// Its breaker has opened.
        case breaker
        /// It has asked for a pause.
        case pause

        /// Whether it is not even asked by calls that can go to no other server.
        var isFinal: Bool { self == .failsAlways || self == .breaker }
    }

    /// What was known when a request began.
    struct Ticket: Sendable, Hashable {
        let generation: Int
        let began: Instant
        let isTrial: Bool
    }

    /// What the end of a request says about its server.
    enum Outcome: Sendable, Hashable {
        case good
        /// It says nothing: the request was not sent, or was canceled.
        case neutral
        /// The connection ended before the server processed the request. That says nothing either, because connections
        /// end after a time, but the request is better sent elsewhere: the server may be about to end.
        case turnedAway
        case bad(Sign)
        /// It asks for a pause.
        case pause(Duration)
    }

    enum Sign: Sendable, Hashable {
        /// The server has answered that it cannot.
        case refusal
        /// The connection failed or was dropped, or nothing came in time.
        case silence
        /// There is no way to the server, which may be the network's fault.
        case noWay
    }

    enum Change: Sendable, Hashable {
        case setAside(Duration, Cause)
        case returned
    }

    /// What the rules of a client say about each of its servers.
    struct Rules: Sendable, Hashable {
        var breaker: CircuitBreaker.Limits?
        /// Whether there are others.
        var hasOthers: Bool
        /// How many failures in a row set a server aside that has responded since the failing request began.
        var failures = 3
        /// How many failures in a row set the last server aside.
        var failuresOfLast = 20
        var pause = Duration.seconds(10)
        var longestPause = Duration.seconds(300)
    }

    private(set) var standing = Standing.inUse
    private(set) var generation = 0
    /// The number of requests under way.
    private(set) var active = 0
    private(set) var failuresInRow = 0
    /// Whether it would be set aside if it were not the last.
    private(set) var isAiling = false
    private(set) var timesAside = 0
    private var lastSuccess: Instant?
    private var lastReturn: Instant?
    private var window: OutcomeWindow?

    init(_ rules: Rules) {
        window = rules.breaker.map { OutcomeWindow($0.window) }
    }

    var isInUse: Bool { standing == .inUse }

    /// Why it is not in use; `nil` if it is.
    var cause: Cause? {
        switch standing {
        case .inUse: nil
        case .aside(_, _, let cause), .tried(_, let cause): cause
        }
    }

    /// How long it is set aside; zero if it is not.
    var pause: Duration {
        if case .aside(let since, let until, _) = standing { since.duration(to: until) } else { .zero }
    }

    /// Until when it is not asked; `nil` if it is in use or tried.
    var asideUntil: Instant? {
        if case .aside(_, let until, _) = standing { until } else { nil }
    }

    /// Whether a request may try it, if it has been aside for at least that long.
    func isDue(at now: Instant, after wait: Duration = .zero) -> Bool {
        guard case .aside(let since, let until, _) = standing else { return false }
        return now >= max(until, since.advanced(by: wait))
    }

    /// Begins a request. One that finds the server due tries it.
    mutating func begin(at now: Instant) -> Ticket {
        active += 1
        let isTrial = isDue(at: now)
        if isTrial, case .aside(let since, _, let cause) = standing { standing = .tried(since: since, cause) }
        return Ticket(generation: generation, began: now, isTrial: isTrial)
    }

    /// Ends a request. `isLast` says that no other server is in use. `jitter` is at least 0 and below 1.
    mutating func end(
        _ ticket: Ticket, _ outcome: Outcome, at now: Instant, isLast: Bool, jitter: Double, by rules: Rules
    ) -> Change? {
        active -= 1
        guard ticket.generation == generation else { return nil }
        switch outcome {
        case .good: return succeed(at: now)
        case .neutral, .turnedAway:
            if case .tried(let since, let cause) = standing, ticket.isTrial {
                standing = .aside(since: since, until: now, cause)
            }
            return nil
        case .bad(let sign):
            return fail(ticket, sign, at: now, isLast: isLast, jitter: jitter, by: rules)
        case .pause(let pause):
            if case .tried(_, let cause) = standing, ticket.isTrial {
                return setAside(for: pause, cause.isFinal ? cause : .pause, at: now)
            }
            return isInUse && rules.hasOthers && !isLast ? setAside(for: pause, .pause, at: now) : nil
        }
    }

    private mutating func succeed(at now: Instant) -> Change? {
        (failuresInRow, isAiling, lastSuccess) = (0, false, now)
        window?.note(failed: false, at: now)
        guard !isInUse else { return nil }
        (standing, lastReturn) = (.inUse, now)
        generation += 1
        window?.clear()
        return .returned
    }

    private mutating func fail(
        _ ticket: Ticket, _ sign: Sign, at now: Instant, isLast: Bool, jitter: Double, by rules: Rules
    ) -> Change? {
        // The network may be gone, and comes back without a pause.
        if sign != .noWay {
            failuresInRow += 1
            window?.note(failed: true, at: now)
        }
        if case .tried(_, let cause) = standing, ticket.isTrial {
            let next = cause == .pause ? Cause.failure : cause
            return setAside(for: nextPause(for: next, at: now, jitter, rules), next, at: now)
        }
        guard isInUse else { return nil }
        if let breaker = rules.breaker, let (sends, failures) = window?.counts(at: now), sends >= breaker.sends,
            Double(failures) >= breaker.share * Double(sends)
        {
            return setAside(for: nextPause(for: .breaker, at: now, jitter, rules), .breaker, at: now)
        }
        guard rules.hasOthers else { return nil }
        // One silence is enough, if it is not that of one slow request among others that are answered.
        let isSilent = sign != .refusal && lastSuccess.map { $0 <= ticket.began } ?? true
        guard isSilent || failuresInRow >= rules.failures else { return nil }
        if !isLast { return setAside(for: nextPause(for: .failure, at: now, jitter, rules), .failure, at: now) }
        isAiling = true
        guard failuresInRow >= rules.failuresOfLast else { return nil }
        return setAside(for: nextPause(for: .failsAlways, at: now, jitter, rules), .failsAlways, at: now)
    }

    /// Returns the next pause, which is longer each time, and begins anew after five good minutes.
    private mutating func nextPause(
        for cause: Cause, at now: Instant, _ jitter: Double, _ rules: Rules
    ) -> Duration {
        if isInUse, let lastReturn, lastReturn.advanced(by: rules.longestPause) <= now { timesAside = 0 }
        timesAside += 1
        let first = cause == .breaker ? rules.breaker?.pause ?? rules.pause : rules.pause
        // A longer pause of the user's own does not grow.
        let longest = max(first, rules.longestPause)
        let pause = timesAside < 1000 ? min(first * timesAside, longest) : longest
        return max(pause - pause / 10 * jitter, .nanoseconds(1))
    }

    private mutating func setAside(for pause: Duration, _ cause: Cause, at now: Instant) -> Change {
        generation += 1
        isAiling = false
        standing = .aside(since: now, until: now.advanced(by: pause), cause)
        return .setAside(pause, cause)
    }
}
