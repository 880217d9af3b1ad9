/// The servers of a client, and what is known about them.
final class ServerPool: Sendable {
    let list: ServerList
    let rules: ServerRules
    private let records: Lock<ServerRecords>

    init(_ list: ServerList, rules: ServerRules, breaker: CircuitBreaker) {
        (self.list, self.rules) = (list, rules)
        records = Lock(ServerRecords(count: list.addresses.count, choice: rules.choice, breaker: breaker))
    }

    /// Looks at what is known now.
    func read<Value: Sendable>(_ look: (ServerRecords) -> Value) -> Value { records.withLock { look($0) } }

    func choose(for asker: ServerRecords.Asker, at now: Instant) -> ServerRecords.Decision {
        records.withLock { $0.choose(for: asker, at: now) }
    }

    func end(
        _ index: Int, _ ticket: ServerHealth.Ticket, _ outcome: ServerHealth.Outcome, by time: any TimeSource
    ) -> ServerHealth.Change? {
        let (now, jitter) = (time.now, outcome.isBad ? time.randomFraction() : 0)
        return records.withLock { $0.end(index, ticket, outcome, at: now, jitter: jitter) }
    }
}

extension ServerHealth.Outcome {
    fileprivate var isBad: Bool {
        if case .bad = self { true } else { false }
    }
}
