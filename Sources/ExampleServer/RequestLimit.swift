import Errand

extension ExampleServer {
    /// How many requests each backend takes in how long a time. A rolling window: it begins anew nowhere.
    public struct RequestLimit: Sendable, Hashable {
        /// So many requests.
        public var requests: Int
        /// In so long a time, wherever it begins.
        public var period: Duration
        /// How much closer together requests may arrive than they were sent: the first of them had to connect, the
        /// later ones found the way free. Without it a client that keeps to the limit exactly is refused now and then.
        public var tolerance: Duration

        /// Makes a limit; five requests a second unless told otherwise.
        public init(requests: Int = 5, period: Duration = .seconds(1), tolerance: Duration = .milliseconds(100)) {
            self.requests = requests
            self.period = period
            self.tolerance = tolerance
        }
    }
}

/// What a backend remembers of the requests that it took. Those that it refused do not count.
struct RequestWindow: Sendable {
    let limit: ExampleServer.RequestLimit?
    private var taken: [Instant] = []

    init(_ limit: ExampleServer.RequestLimit?) {
        self.limit = limit
    }

    /// Takes a request, or says how long it will be until it would.
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
    /// 429, with the wait in whole seconds, since `Retry-After` knows no others.
    static func tooMany(wait: Duration) -> Refusal {
        let (seconds, rest) = wait.components
        let whole = max(1, seconds + (rest > 0 ? 1 : 0))
        return Refusal(
            429, "Too many requests; try again in \(whole) s", code: "too_many_requests",
            headers: ["Retry-After": "\(whole)"])
    }
}
