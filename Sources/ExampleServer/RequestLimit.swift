import Errand

extension ExampleServer {
    /// How many requests each backend accepts in any rolling period.
    public struct RequestLimit: Sendable, Hashable {
        /// The number of requests.
        public var requests: Int
        /// The period, wherever it begins.
        public var period: Duration
        /// How much closer together requests may arrive than they were sent: some are delayed more than others. Without
        /// a tolerance, a client that keeps to the limit exactly would be refused now and then.
        public var tolerance: Duration

        /// Creates a limit; five requests a second by default.
        public init(requests: Int = 5, period: Duration = .seconds(1), tolerance: Duration = .milliseconds(100)) {
            self.requests = requests
            self.period = period
            self.tolerance = tolerance
        }
    }
}

/// The requests that a backend has accepted recently. Refused requests do not count.
struct RequestWindow: Sendable {
    let limit: ExampleServer.RequestLimit?
    private var taken: [Instant] = []

    init(_ limit: ExampleServer.RequestLimit?) {
        self.limit = limit
    }

    /// Accepts a request, or returns how long the client has to wait.
    mutating func take(at now: Instant) -> Duration? {
        guard let limit else { return nil }
        taken.removeAll { $0.duration(to: now) >= limit.period - limit.tolerance }
        guard taken.count >= limit.requests else {
            taken.append(now)
            return nil
        }
        return now.duration(to: (taken.first ?? now).advanced(by: limit.period))
    }
}

extension Refusal {
    /// The refusal with status 429. The wait is in whole seconds, because `Retry-After` has no fractions.
    static func tooMany(wait: Duration) -> Refusal {
        let (seconds, rest) = wait.components
        let whole = max(1, seconds + (rest > 0 ? 1 : 0))
        return Refusal(
            429, "Too many requests; try again in \(whole) s", code: "too_many_requests",
            headers: ["Retry-After": "\(whole)"])
    }
}
