@testable import Errand
import ErrandTestSupport
import Testing

@Suite("What is known about servers") struct ServerRecordsTests {
    private let free = ServerRecords.Asker()

    private func records(_ count: Int, breaker: CircuitBreaker = .none) -> ServerRecords {
        ServerRecords(count: count, choice: .inOrder(returningAfter: .zero), breaker: breaker)
    }

    @Test(
        "B2: a late failure of the old server does not move the client twice, and a late answer does not move it back")
    func late() {
        var records = records(2)
        let early = (0..<4).map { _ in records.begin(free, at: .zero) }
        #expect(early.allSatisfy { $0?.index == 0 })
        #expect(records.end(early[0], .bad(.silence), at: .ms(1)) != nil)
        let next = records.begin(free, at: .ms(2))
        #expect(next?.index == 1)
        #expect(records.end(early[1], .bad(.silence), at: .ms(3)) == nil)
        #expect(records.end(early[2], .good, at: .ms(4)) == nil)
        #expect(records.end(early[3], .bad(.silence), at: .ms(5)) == nil)
        #expect(records.servers[1].isInUse && !records.servers[0].isInUse)
        #expect(records.servers.map(\.active) == [0, 1])
    }

    @Test("B7: one slow request among others that are answered does not set a server aside; three failures in a row do")
    func slow() {
        var records = records(2)
        let slow = records.begin(free, at: .zero)
        let quick = records.begin(free, at: .ms(1))
        #expect(records.end(quick, .good, at: .ms(2)) == nil)
        #expect(records.end(slow, .bad(.silence), at: .ms(30_000)) == nil)
        let others = (0..<2).map { _ in records.begin(free, at: .ms(30_001)) }
        #expect(records.end(others[0], .bad(.refusal), at: .ms(30_002)) == nil)
        #expect(records.end(others[1], .bad(.refusal), at: .ms(30_003)) != nil)
    }

    @Test("B8: the breaker opens at half of 20 within 30 seconds, and not for what is older")
    func breaker() {
        var records = records(1, breaker: .standard)
        func send(_ outcome: ServerHealth.Outcome, at now: Instant) -> ServerHealth.Change? {
            let send = records.begin(free, at: now)
            return records.end(send, outcome, at: now)
        }
        for _ in 0..<10 { #expect(send(.bad(.silence), at: .zero) == nil) }
        for _ in 0..<9 { #expect(send(.good, at: .ms(29_000)) == nil) }
        // The failures are too old now.
        #expect(send(.bad(.refusal), at: .ms(31_000)) == nil)
        for _ in 0..<7 { #expect(send(.bad(.refusal), at: .ms(32_000)) == nil) }
        // Nine of eighteen, but not yet twenty.
        #expect(send(.bad(.refusal), at: .ms(32_000)) == nil)
        #expect(send(.good, at: .ms(32_000)) == nil)
        #expect(send(.bad(.refusal), at: .ms(32_000)) == .setAside(.seconds(10), .breaker))
        let refusal = ServerRecords.Refusal(index: 0, cause: .breaker, until: .ms(42_000))
        #expect(throws: refusal) { try records.choose(for: free, at: .ms(33_000)).get() }
    }

    @Test("B8: after the pause one request tries, and the others wait for its end; a failure doubles the pause")
    func halfOpen() throws {
        var records = records(1, breaker: .opening(at: 1, ofAtLeast: 1, within: .seconds(1), for: .seconds(10)))
        let first = records.begin(free, at: .zero)
        #expect(records.end(first, .bad(.refusal), at: .zero) == .setAside(.seconds(10), .breaker))
        let trial = records.begin(free, at: .ms(10_000))
        #expect(trial != nil && records.begin(free, at: .ms(10_001)) == nil)
        #expect(records.end(trial, .bad(.refusal), at: .ms(10_002)) == .setAside(.seconds(20), .breaker))
        let second = records.begin(free, at: .ms(30_002))
        #expect(records.end(second, .good, at: .ms(30_003)) == .returned)
        #expect(records.begin(free, at: .ms(30_004)) != nil)
    }

    @Test("B7: a network that is gone opens no breaker, and sets the last server aside never")
    func noWay() {
        var records = records(2, breaker: .standard)
        for number in 0..<200 {
            let now = Instant.ms(Int64(number) * 10)
            let send = records.begin(free, at: now)
            #expect(send != nil)
            _ = records.end(send, .bad(.noWay), at: now)
        }
        #expect(records.servers.count { $0.isInUse } == 1)
    }

    @Test("B7: the last server that has failed is asked like the others when one of them is back")
    func ailing() {
        var records = ServerRecords(count: 2, choice: .roundRobin, breaker: .none)
        for _ in 0..<2 {
            let send = records.begin(free, at: .zero)
            _ = records.end(send, .bad(.noWay), at: .zero)
        }
        let trial = records.begin(free, at: .ms(10_000))
        #expect(trial?.ticket.isTrial == true && records.end(trial, .good, at: .ms(10_001)) == .returned)
        let asked = (0..<4).compactMap { _ in records.begin(free, at: .ms(10_002))?.index }
        #expect(Set(asked) == [0, 1])
    }

    @Test("B7: calls for one server do not disturb the order of the others")
    func rotation() {
        var records = ServerRecords(count: 2, choice: .roundRobin, breaker: .none)
        let bound = ServerRecords.Asker(bound: 0)
        let asked = (0..<6).compactMap { _ in
            _ = records.begin(bound, at: .zero)
            return records.begin(free, at: .zero)?.index
        }
        #expect(asked.count { $0 == 0 } == 3)
    }

    @Test("B8: a pause of a breaker is its own, and one that is longer than five minutes holds")
    func breakerPauses() {
        let breaker = CircuitBreaker.opening(at: 1, ofAtLeast: 2, within: .seconds(30), for: .seconds(600))
        var records = ServerRecords(count: 2, choice: .inOrder(), breaker: breaker)
        let first = records.begin(free, at: .zero)
        #expect(records.end(first, .bad(.silence), at: .zero) == .setAside(.seconds(10), .failure))
        for _ in 0..<2 {
            let send = records.begin(free, at: .zero)
            if let change = records.end(send, .bad(.silence), at: .zero) {
                #expect(change == .setAside(.seconds(600), .breaker))
            }
        }
        #expect(records.servers[1].cause == .breaker)
    }

    @Test("B1, B2, B4, B7, B8: whatever happens, the rules hold", arguments: 0..<60)
    func walk(seed: Int) throws {
        var walk = Walk(seed: UInt64(seed))
        for _ in 0..<3000 { try walk.step() }
        try walk.end()
    }
}

extension ServerRecords {
    fileprivate typealias Begun = (index: Int, ticket: ServerHealth.Ticket)

    /// Begins a request; `nil` if it is refused.
    fileprivate mutating func begin(_ asker: Asker, at now: Instant) -> Begun? {
        try? choose(for: asker, at: now).get()
    }

    /// Ends a request, without jitter.
    fileprivate mutating func end(
        _ begun: Begun?, _ outcome: ServerHealth.Outcome, at now: Instant
    ) -> ServerHealth.Change? {
        begun.flatMap { end($0.index, $0.ticket, outcome, at: now, jitter: 0) }
    }
}

/// Requests that begin and end at random, beside a model that keeps all of their history.
private struct Walk {
    private struct Sent {
        let index: Int
        let ticket: ServerHealth.Ticket
    }

    /// What has happened to a server, and which request has tried it since it last changed.
    private struct Model {
        var active = 0
        var failures = 0
        var generation = 0
        var trials = 0
    }

    private var random: SeededRandom
    private var records: ServerRecords
    private var models: [Model]
    private var sent: [Sent] = []
    private var now = Instant.zero
    private let count: Int
    private let choice: ServerChoice
    private let hasBreaker: Bool
    private let isProbed: Bool

    init(seed: UInt64) {
        random = SeededRandom(seed)
        count = Int.random(in: 1...4, using: &random)
        let choices = [ServerChoice.inOrder(), .inOrder(returningAfter: .zero), .leastBusy, .roundRobin]
        choice = choices[Int.random(in: 0..<choices.count, using: &random)]
        hasBreaker = Bool.random(using: &random) || count == 1
        isProbed = Bool.random(using: &random)
        records = ServerRecords(
            count: count, choice: choice, breaker: hasBreaker ? .standard : .none, isProbed: isProbed)
        models = Array(repeating: Model(), count: count)
    }

    mutating func step() throws {
        now = now.advanced(by: .milliseconds(Int.random(in: 0...2000, using: &random)))
        if sent.count < 12, Bool.random(using: &random) {
            if Int.random(in: 0..<3, using: &random) == 0 { try probe() }
            try begin()
        } else if !sent.isEmpty {
            try endOne()
        }
        try check()
    }

    /// Everything ends, and nothing is left under way.
    mutating func end() throws {
        while !sent.isEmpty { try endOne() }
        #expect(records.servers.allSatisfy { $0.active == 0 })
    }

    /// A probe begins only where a server is due, another is in use, and requests do not try it.
    private mutating func probe() throws {
        let before = records
        guard let index = records.dueForProbe(at: now) else { return }
        let begun = records.beginProbe(of: index, at: now)
        let ticket = try #require(begun)
        try #require(isProbed && ticket.isTrial && before.servers[index].isDue(at: now))
        try #require(before.servers.contains { $0.isInUse })
        try begin(index, ticket)
    }

    private mutating func begin(_ index: Int, _ ticket: ServerHealth.Ticket) throws {
        if ticket.isTrial {
            models[index].trials += 1
            try #require(models[index].trials == 1)
        }
        models[index].active += 1
        sent.append(Sent(index: index, ticket: ticket))
    }

    private mutating func begin() throws {
        let isBound = Int.random(in: 0..<8, using: &random) == 0
        var asker = ServerRecords.Asker(mayTry: Bool.random(using: &random))
        if isBound {
            asker.bound = Int.random(in: 0..<count, using: &random)
        } else {
            asker.failed = Set((0..<count).filter { _ in Int.random(in: 0..<4, using: &random) == 0 })
        }
        let before = records
        switch records.choose(for: asker, at: now) {
        case .success((let index, let ticket)):
            if let bound = asker.bound { try #require(bound == index) }
            let old = before.servers[index]
            // Unless it has to, no request goes to a server that is set aside.
            try #require(old.isInUse || old.isDue(at: now) || isBound)
            try #require(ticket.isTrial == old.isDue(at: now))
            if isProbed, !isBound, ticket.isTrial {
                let others = before.servers.indices.filter { !asker.failed.contains($0) }.map { before.servers[$0] }
                try #require(others.allSatisfy { !$0.isInUse || $0.isAiling })
            }
            try begin(index, ticket)
        case .failure(let refusal):
            try #require(refusal.cause.isFinal || !isBound)
            if !isBound { try #require(before.servers.allSatisfy { !$0.isInUse && !$0.isDue(at: now) }) }
            try #require(records == before)
        }
    }

    private mutating func endOne() throws {
        let sent = sent.remove(at: Int.random(in: 0..<sent.count, using: &random))
        let outcomes: [ServerHealth.Outcome] = [
            .good, .good, .good, .neutral, .turnedAway, .bad(.refusal), .bad(.silence), .bad(.silence), .bad(.noWay),
            .pause(.seconds(3)),
        ]
        let outcome = outcomes[Int.random(in: 0..<outcomes.count, using: &random)]
        let (before, wasLast) = (records.servers[sent.index], records.isLast(sent.index))
        let change = records.end(
            sent.index, sent.ticket, outcome, at: now, jitter: Double.random(in: 0..<1, using: &random))
        models[sent.index].active -= 1
        let after = records.servers[sent.index]
        let isLate = sent.ticket.generation != before.generation
        if isLate { try #require(change == nil && after.standing == before.standing) }
        if change != nil || !isLate && sent.ticket.isTrial { models[sent.index].trials = 0 }
        if !isLate {
            switch outcome {
            case .good: models[sent.index].failures = 0
            case .bad(.noWay), .neutral, .turnedAway, .pause: break
            case .bad: models[sent.index].failures += 1
            }
        }
        try check(change, after: outcome, of: sent, from: before, to: after, wasLast: wasLast)
    }

    private mutating func check(
        _ change: ServerHealth.Change?, after outcome: ServerHealth.Outcome, of sent: Sent, from before: ServerHealth,
        to after: ServerHealth, wasLast: Bool
    ) throws {
        switch change {
        case nil: try #require(after.generation == before.generation)
        case .returned: try #require(outcome == .good && after.isInUse && !before.isInUse)
        case .setAside(let pause, let cause):
            try #require(after.generation == before.generation + 1)
            let until = try #require(after.asideUntil)
            try #require(until == now.advanced(by: pause) && pause > .zero && pause <= .seconds(300))
            if case .pause = outcome {
                try #require(sent.ticket.isTrial || cause == .pause && count > 1)
            } else {
                guard case .bad = outcome else { throw Unexpected(change: change) }
                // The last one stays, unless it fails always or its breaker opens, or it was not in use.
                if wasLast, before.isInUse { try #require(cause.isFinal) }
                if cause == .failsAlways, before.isInUse { try #require(models[sent.index].failures >= 20) }
                if cause == .breaker { try #require(hasBreaker) }
                if cause == .failure { try #require(count > 1) }
            }
        }
    }

    private func check() throws {
        for (server, model) in zip(records.servers, models) {
            try #require(server.active == model.active && server.failuresInRow == model.failures)
            // Somebody tries it, or else nobody would for ever.
            if case .tried = server.standing { try #require(model.trials == 1) }
        }
        // There is always one to ask, unless those that are not asked at all are all that is left.
        if !records.servers.contains(where: \.isInUse) {
            try #require(
                records.servers.contains { server in
                    switch server.standing {
                    case .inUse: true
                    case .aside(_, _, let cause), .tried(_, let cause): cause.isFinal
                    }
                })
        }
    }

    private struct Unexpected: Error {
        let change: ServerHealth.Change?
    }
}
