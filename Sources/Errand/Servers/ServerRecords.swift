/// What is known about the servers of a client, and which of them is asked. A value that knows no clock, no lock and no
/// task.
struct ServerRecords: Sendable, Hashable {
    /// What a request is like.
    struct Asker: Sendable, Hashable {
        /// The servers that have failed its call.
        var failed: Set<Int> = []
        /// The server that it has to go to; `nil` if it may go to any.
        var bound: Int?
        /// Whether it can be sent again if the server fails, so that it may try one.
        var mayTry = true
    }

    enum Decision: Sendable, Hashable {
        case ask(Int, ServerHealth.Ticket)
        /// None is asked before that instant; `nil` if it is tried now.
        case none(Int, ServerHealth.Cause, until: Instant?)
    }

    private(set) var servers: [ServerHealth]
    private let choice: ServerChoice.Kind
    private let rules: ServerHealth.Rules
    /// Where a choice begins among those that are equal.
    private var turn = 0

    init(count: Int, choice: ServerChoice, breaker: CircuitBreaker) {
        self.choice = choice.kind
        rules = ServerHealth.Rules(breaker: breaker.limits, hasOthers: count > 1)
        servers = Array(repeating: ServerHealth(rules), count: count)
    }

    /// Chooses a server for a request, and begins that.
    mutating func choose(for asker: Asker, at now: Instant) -> Decision {
        switch look(for: asker, at: now) {
        case .success(let index):
            turn = index + 1
            return .ask(index, servers[index].begin(at: now))
        case .failure(let refusal):
            return .none(refusal.index, refusal.cause, until: refusal.until)
        }
    }

    struct Refusal: Error, Hashable {
        let index: Int
        let cause: ServerHealth.Cause
        let until: Instant?
    }

    /// Returns the server that a request would ask.
    func look(for asker: Asker, at now: Instant) -> Result<Int, Refusal> {
        if let bound = asker.bound {
            return refusal(of: bound, at: now).map { .failure($0) } ?? .success(bound)
        }
        // The usual case.
        if case .inOrder = choice, servers[0].isInUse, !servers[0].isAiling, !asker.failed.contains(0) {
            return .success(0)
        }
        let order = order
        let fresh = order.filter { !asker.failed.contains($0) }
        let usual = fresh.first { servers[$0].isInUse && !servers[$0].isAiling }
        if asker.mayTry, let due = fresh.first(where: { isToBeTried($0, before: usual, at: now) }) {
            return .success(due)
        }
        if let usual { return .success(usual) }
        for group in [fresh, order] {
            let due = group.first { servers[$0].isDue(at: now) }
            if let found = due ?? group.first(where: { servers[$0].isInUse }) { return .success(found) }
        }
        guard let last = order.lazy.compactMap({ refusal(of: $0, at: now) }).first else { return .success(order[0]) }
        return .failure(Refusal(index: last.index, cause: last.cause, until: servers.compactMap(\.asideUntil).min()))
    }

    /// Whether another server than those may be asked at once.
    func hasAnother(than failed: Set<Int>, at now: Instant) -> Bool {
        servers.indices.contains { index in
            !failed.contains(index) && (servers[index].isDue(at: now) || servers[index].isInUse)
                && !servers[index].isAiling
        }
    }

    /// Whether no other server than that is in use.
    func isLast(_ index: Int) -> Bool {
        !servers.indices.contains { $0 != index && servers[$0].isInUse }
    }

    /// Ends a request.
    mutating func end(
        _ index: Int, _ ticket: ServerHealth.Ticket, _ outcome: ServerHealth.Outcome, at now: Instant, jitter: Double
    ) -> ServerHealth.Change? {
        let isLast = isLast(index)
        return servers[index].end(ticket, outcome, at: now, isLast: isLast, jitter: jitter, by: rules)
    }

    /// The servers in the order in which they are considered.
    private var order: [Int] {
        let count = servers.count
        let rotated = (0..<count).map { ($0 + turn) % count }
        return switch choice {
        case .inOrder: Array(0..<count)
        case .roundRobin: rotated
        // The sort is stable.
        case .leastBusy: rotated.sorted { servers[$0].active < servers[$1].active }
        }
    }

    /// Whether a request tries a server that was set aside, although another could be asked.
    private func isToBeTried(_ index: Int, before usual: Int?, at now: Instant) -> Bool {
        guard case .inOrder(let pause) = choice else { return servers[index].isDue(at: now) }
        guard let usual else { return servers[index].isDue(at: now) }
        return index < usual && servers[index].isDue(at: now, after: pause)
    }

    /// Returns why a server is not asked, even if there is no other; `nil` if it is.
    private func refusal(of index: Int, at now: Instant) -> Refusal? {
        switch servers[index].standing {
        case .inUse: nil
        case .aside(_, let until, let cause):
            cause.isFinal && now < until ? Refusal(index: index, cause: cause, until: until) : nil
        case .tried(_, let cause):
            cause.isFinal ? Refusal(index: index, cause: cause, until: nil) : nil
        }
    }
}
