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

    /// Why no server is asked.
    struct Refusal: Error, Hashable {
        let index: Int
        let cause: ServerHealth.Cause
        /// When one is asked again; `nil` if a request tries it now.
        let until: Instant?
    }

    private(set) var servers: [ServerHealth]
    private let choice: ServerChoice.Kind
    private let rules: ServerHealth.Rules
    /// Whether a server that was set aside is tried by a probe while another is in use, and not by a request.
    private var isProbed: Bool
    /// Where a choice begins among those that are equal.
    private var turn = 0

    init(count: Int, choice: ServerChoice, breaker: CircuitBreaker, isProbed: Bool = false) {
        self.choice = choice.kind
        self.isProbed = isProbed
        rules = ServerHealth.Rules(breaker: breaker.limits, hasOthers: count > 1)
        servers = Array(repeating: ServerHealth(rules), count: count)
    }

    /// Chooses a server for a request, and begins that.
    mutating func choose(
        for asker: Asker, at now: Instant
    ) -> Result<(index: Int, ticket: ServerHealth.Ticket), Refusal> {
        look(for: asker, at: now).map { index in
            if asker.bound == nil { turn = index + 1 }
            return (index, servers[index].begin(at: now))
        }
    }

    /// Returns the server that a request would ask.
    func look(for asker: Asker, at now: Instant) -> Result<Int, Refusal> {
        if let bound = asker.bound {
            return refusal(of: bound, at: now).map { .failure($0) } ?? .success(bound)
        }
        // The usual case.
        if case .inOrder = choice, servers[0].isInUse, !isAiling(0), !asker.failed.contains(0) {
            return .success(0)
        }
        let order = order
        let fresh = order.filter { !asker.failed.contains($0) }
        let usual = fresh.first { servers[$0].isInUse && !isAiling($0) }
        let tries = usual == nil || !isProbed
        if tries, let due = fresh.first(where: { isToBeTried($0, by: asker, before: usual, at: now) }) {
            return .success(due)
        }
        if let usual { return .success(usual) }
        for group in [fresh, order] {
            let due = group.first { servers[$0].isDue(at: now) }
            if let found = due ?? group.first(where: { servers[$0].isInUse }) { return .success(found) }
        }
        let until = servers.compactMap(\.asideUntil).min()
        return .failure(Refusal(index: order[0], cause: servers[order[0]].cause ?? .failure, until: until))
    }

    /// Returns the server that a probe would try, while another is in use; `nil` if there is none.
    func dueForProbe(at now: Instant) -> Int? {
        guard isProbed, servers.contains(where: { $0.isDue(at: now) }) else { return nil }
        let order = order
        guard let usual = order.first(where: { servers[$0].isInUse && !isAiling($0) }) else { return nil }
        return order.first { isDue($0, before: usual, at: now) }
    }

    /// Begins to probe a server; `nil` if it need not be tried any more.
    mutating func beginProbe(of index: Int, at now: Instant) -> ServerHealth.Ticket? {
        servers[index].isDue(at: now) ? servers[index].begin(at: now) : nil
    }

    /// Lets requests try servers, because no probe can be sent.
    mutating func giveUpProbing() { isProbed = false }

    /// Whether another server than those may be asked at once.
    func hasAnother(than failed: Set<Int>, at now: Instant) -> Bool {
        servers.indices.contains { index in
            !failed.contains(index) && (servers[index].isDue(at: now) || servers[index].isInUse)
                && !isAiling(index)
        }
    }

    /// Whether a server would be set aside if it were not the last.
    private func isAiling(_ index: Int) -> Bool { servers[index].isAiling && isLast(index) }

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

    /// Whether a request tries a server that was set aside, although another could be asked: one that can be sent again
    /// if the try fails or, when none has come for as long again, any.
    private func isToBeTried(_ index: Int, by asker: Asker, before usual: Int?, at now: Instant) -> Bool {
        guard isDue(index, before: usual, at: now) else { return false }
        let pause = max(wait(before: usual), servers[index].pause)
        return asker.mayTry || servers[index].isDue(at: now, after: pause * 2)
    }

    /// Whether a server that was set aside may be tried, although `usual` could be asked.
    private func isDue(_ index: Int, before usual: Int?, at now: Instant) -> Bool {
        if case .inOrder = choice, let usual, index > usual { return false }
        return servers[index].isDue(at: now, after: wait(before: usual))
    }

    /// How long a server stays aside while `usual` can be asked.
    private func wait(before usual: Int?) -> Duration {
        if case .inOrder(let returning) = choice, usual != nil { returning } else { .zero }
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
