/// When a request is sent a second time, and how often that may happen. A value that knows no clock, no lock and no
/// task.
struct Hedges: Sendable, Hashable {
    /// How many repetitions are free at the beginning, and may be saved up.
    static let most = 10.0
    /// More endpoints are not told apart at a time: one of them is forgotten.
    static let mostEndpoints = 1000
    /// So many responses have to be known.
    static let leastResponses = 20

    private let limits: HedgingPolicy.Limits
    private var latencies: [Int: LatencySketch] = [:]
    private(set) var budget = Hedges.most

    init(_ limits: HedgingPolicy.Limits) {
        self.limits = limits
    }

    /// Returns after which delay a request of that endpoint is sent a second time; `nil` for never.
    func delay(of endpoint: Int) -> Duration? {
        guard budget >= 1 else { return nil }
        switch limits.delay.kind {
        case .fixed(let duration): return duration
        case .percentile(let percent):
            guard let latency = latencies[endpoint], latency.total >= Self.leastResponses else { return nil }
            return latency.duration(ofShare: percent / 100)
        }
    }

    /// Pays for a second request. Returns whether there was enough left.
    mutating func spend() -> Bool {
        guard budget >= 1 else { return false }
        budget -= 1
        return true
    }

    /// Pays a share of a second request, for a success.
    mutating func earn() { budget = min(budget + limits.budget, Self.most) }

    /// Notes how long a response of that endpoint took.
    mutating func note(_ latency: Duration, of endpoint: Int) {
        guard case .percentile = limits.delay.kind else { return }
        if latencies[endpoint] == nil, latencies.count >= Self.mostEndpoints {
            latencies.remove(at: latencies.startIndex)
        }
        latencies[endpoint, default: LatencySketch()].add(latency)
    }
}
