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
        records = Lock(
            ServerRecords(
                count: list.addresses.count, choice: rules.choice, breaker: breaker, isProbed: rules.probe != nil))
    }

    /// What is known about each server.
    var servers: [ServerHealth] { records.withLock { $0.servers } }

    /// Returns the server that a request would ask now.
    func look(for asker: ServerRecords.Asker, at now: Instant) -> Result<Int, ServerRecords.Refusal> {
        records.withLock { $0.look(for: asker, at: now) }
    }

    /// Whether no other server is in use.
    func isLast(_ index: Int) -> Bool { records.withLock { $0.isLast(index) } }

    /// Whether another server than those may be asked at once.
    func hasAnother(than failed: Set<Int>, at now: Instant) -> Bool {
        records.withLock { $0.hasAnother(than: failed, at: now) }
    }

    /// Chooses a server for a request, and begins that.
    func choose(
        for asker: ServerRecords.Asker, at now: Instant
    ) -> Result<(index: Int, ticket: ServerHealth.Ticket), ServerRecords.Refusal> {
        records.withLock { $0.choose(for: asker, at: now) }
    }

    /// Returns the server that a probe would try; `nil` if there is none.
    func dueForProbe(at now: Instant) -> Int? { records.withLock { $0.dueForProbe(at: now) } }

    /// Begins to probe a server; `nil` if it need not be tried any more.
    func beginProbe(of index: Int, at now: Instant) -> ServerHealth.Ticket? {
        records.withLock { $0.beginProbe(of: index, at: now) }
    }

    /// Lets requests try servers, because no probe can be sent.
    func giveUpProbing() { records.withLock { $0.giveUpProbing() } }

    /// Whether the server is in use.
    func isInUse(_ index: Int) -> Bool { records.withLock { $0.servers[index].isInUse } }

    /// Ends a request, and reports what has changed.
    func end(
        _ index: Int, _ ticket: ServerHealth.Ticket, _ outcome: ServerHealth.Outcome, in transmission: Transmission
    ) {
        let time = transmission.time
        let (now, jitter) = (time.now, outcome.isBad ? time.randomFraction() : 0)
        guard let change = records.withLock({ $0.end(index, ticket, outcome, at: now, jitter: jitter) }) else { return }
        transmission.tell {
            let server = list.addresses[index].text
            return switch change {
            case .setAside(let pause, let cause):
                cause.isFinal ? .breakerOpened(server, for: pause) : .serverSetAside(server, for: pause)
            case .returned: .serverReturned(server)
            }
        }
    }
}

extension ServerPool {
    /// Returns after which delay a request of that endpoint is sent a second time; `nil` for never.
    func hedgeDelay(of endpoint: Int) -> Duration? { hedges.withLock { $0?.delay(of: endpoint) } }

    /// Pays for a second request. Returns whether there was enough left.
    func spendOnHedge() -> Bool { hedges.withLock { $0?.spend() ?? false } }

    /// Pays a share of a second request, for a success.
    func payForHedge() { hedges.withLock { $0?.earn() } }

    /// Notes how long a response of that endpoint took.
    func note(_ latency: Duration, of endpoint: Int) { hedges.withLock { $0?.note(latency, of: endpoint) } }
}

extension ServerHealth.Outcome {
    fileprivate var isBad: Bool {
        if case .bad = self { true } else { false }
    }
}
