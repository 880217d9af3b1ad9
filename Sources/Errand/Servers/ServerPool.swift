/// The servers of a client, and what is known about them.
final class ServerPool: Sendable {
    let list: ServerList
    let rules: ServerRules
    private let records: Lock<ServerRecords>
    private let hedges: Lock<Hedges?>
    /// Whether requests may be sent twice.
    let isHedging: Bool

    init(_ list: ServerList, rules: ServerRules, breaker: CircuitBreaker, hedging: HedgingPolicy) {
        (self.list, self.rules) = (list, rules)
        hedges = Lock(hedging.limits.map(Hedges.init))
        isHedging = hedging.limits != nil
        records = Lock(ServerRecords(count: list.addresses.count, choice: rules.choice, breaker: breaker))
    }

    /// Looks at what is known now.
    func read<Value: Sendable>(_ look: (ServerRecords) -> Value) -> Value { records.withLock { look($0) } }

    func choose(
        for asker: ServerRecords.Asker, at now: Instant
    ) -> Result<(index: Int, ticket: ServerHealth.Ticket), ServerRecords.Refusal> {
        records.withLock { $0.choose(for: asker, at: now) }
    }

    func end(
        _ index: Int, _ ticket: ServerHealth.Ticket, _ outcome: ServerHealth.Outcome, by time: any TimeSource
    ) -> ServerHealth.Change? {
        let (now, jitter) = (time.now, outcome.isBad ? time.randomFraction() : 0)
        return records.withLock { $0.end(index, ticket, outcome, at: now, jitter: jitter) }
    }
}

extension ServerPool {
    /// Returns after which delay a request of that endpoint is sent a second time; `nil` for never.
    func hedgeDelay(of endpoint: Int) -> Duration? { hedges.withLock { $0?.delay(of: endpoint) } }

    /// Pays for a second request. Returns whether there was enough left.
    func spendOnHedge() -> Bool { hedges.withLock { $0?.spend() ?? false } }

    /// Notes a response of that endpoint.
    func note(_ latency: Duration, of endpoint: Int) { hedges.withLock { $0?.note(latency, of: endpoint) } }
}

extension ServerHealth.Outcome {
    fileprivate var isBad: Bool {
        if case .bad = self { true } else { false }
    }
}
