@testable import Errand
@testable import ErrandFleet

/// A process of a walk: the values of a node, between which it passes what `Member` and `SharedLimit` pass in a
/// program.
struct WalkProcess {
    enum Phase: Hashable {
        case running
        /// It returns its permits, until that instant of its own clock at the latest.
        case leaving(until: Instant)
        /// It has left the fleet; what it has prepared is still sent.
        case left
        case dead
    }

    /// A renewal of the node's record.
    struct Renewal {
        let id: String
        let bytes: [UInt8]
        let replacing: FleetRevision?
        let sent: Instant
    }

    /// What became of a renewal.
    enum Outcome {
        case renewed
        /// Another renewal follows at once.
        case again
    }

    let machine: Int
    private let name: String
    private var names = 1
    private(set) var id: String
    private(set) var life: NodeLife
    private(set) var limit: LimitNode
    private(set) var limiter: RateLimiter.State
    private(set) var phase = Phase.running
    private var renewals = 0
    private var attempts: [Renewal] = []
    /// Whether a write of the limit's record is under way.
    var isWriting = false
    /// The record that it has seen, and acts upon when no write is under way.
    var unread: [UInt8]?
    /// How many writes in a row had no response.
    private(set) var failures = 0
    /// When its alarm is due, in true time.
    var alarm = Int64.max

    init(_ name: String, on machine: Int, _ settings: SharedLimitSettings) {
        (self.name, self.machine, id) = (name, machine, name)
        life = NodeLife(lifetime: settings.lifetime)
        limit = LimitNode(id: name, settings: settings)
        limiter = RateLimiter.State(OwnedPermits(settings, owner: name))
    }

    var isRunning: Bool { phase == .running }
    var isPresent: Bool { phase != .left && phase != .dead }
    var owned: Int { phase == .dead ? 0 : limit.owned }
    var waiting: Int { limiter.line.count }

    /// The permits that the process owns and could use now, while its first call waits for more of them, and the cost
    /// of that call.
    mutating func idle(at now: Instant) -> (permits: Int, cost: Int) {
        var unused = Int.max
        limiter.changeSource { source in unused = (source as? OwnedPermits)?.unused(at: now) ?? .max }
        return (unused, limiter.line.first?.cost ?? 0)
    }

    /// Ends the process.
    mutating func die() { phase = .dead }

    mutating func leave(until end: Instant) {
        guard isRunning else { return }
        phase = .leaving(until: end)
    }

    // MARK: The limiter

    /// Takes permits, or waits for them. Returns whether it has them.
    mutating func acquire(_ cost: Int, isUrgent: Bool = false, at now: Instant) -> Bool {
        guard phase != .left else { return false }
        let admission = limiter.acquire(cost: cost, isUrgent: isUrgent, deadline: .distantFuture, at: now)
        if case .granted = admission { return true }
        return false
    }

    /// Returns the costs of the waiters that are served now.
    mutating func serve(at now: Instant) -> [Int] { limiter.serve(at: now).map(\.cost) }

    /// Uses permits that were taken at that instant. Returns whether a request may leave.
    mutating func use(_ cost: Int, takenAt instant: Instant, at now: Instant) -> Bool {
        limiter.renew(cost, takenAt: instant, at: now).map { $0 > now } ?? false
    }

    mutating func pause(until end: Instant, at now: Instant) { _ = limiter.pause(until: end, isRefusal: true, at: now) }
    mutating func resume(at now: Instant) { limiter.resume(at: now) }

    mutating func forgetWaiters() {
        for waiter in limiter.line.all { limiter.line.leave(waiter) }
    }

    // MARK: The node's own record

    mutating func renewal(at now: Instant) -> Renewal {
        renewals += 1
        return Renewal(
            id: id, bytes: Array(#"{"node":"\#(id)","renewal":\#(renewals)}"#.utf8), replacing: life.revision, sent: now
        )
    }

    /// Accepts what became of a renewal; `nil` if that is not known. Returns how long to wait for the next.
    mutating func accept(_ outcome: FleetWrite?, of renewal: Renewal) -> Duration {
        switch outcome {
        case nil:
            attempts.append(renewal)
            return life.renewal / 4
        case .written(let revision?):
            attempts = []
            life.renewed(revision, sentAt: renewal.sent)
            return life.renewal
        case .changed(let record?):
            let made = (attempts + [renewal]).first { $0.bytes == record.bytes }
            attempts = []
            if let made { life.renewed(record.revision, sentAt: made.sent) } else { beginAgain() }
            return made?.bytes == renewal.bytes ? life.renewal : .zero
        case .changed(nil), .written(nil):
            beginAgain()
            return .zero
        }
    }

    /// Others have removed it: it goes on under another name.
    private mutating func beginAgain() {
        attempts = []
        life.removed()
        names += 1
        id = "\(name).\(names)"
    }

    /// Returns the nodes to look at now: those before this one, or, after a look at one of them, the others.
    mutating func inspects(after predecessor: String? = nil, at now: Instant) -> Set<String> {
        guard let record = limit.record else { return [] }
        let ids = record.nodes.map(\.id)
        life.keep(Set(ids), longest: .nanoseconds(record.lifetime))
        let predecessors = life.predecessors(in: [ids], of: id)
        guard let predecessor else { return predecessors }
        guard predecessors.contains(predecessor) else { return [] }
        return life.suspects(in: [ids], of: id, isStarving: limit.isStarving, at: now)
    }

    /// Accepts the revision of another node's record. Returns the one to remove.
    mutating func inspected(_ other: String, _ revision: FleetRevision?, at now: Instant) -> FleetRevision? {
        guard case .remove(let old) = life.inspected(other, revision, at: now) else { return nil }
        return old
    }

    mutating func removedOther(_ other: String) { life.removedOther(other) }

    // MARK: The limit's record

    mutating func see(_ record: LimitRecord?, _ revision: FleetRevision?, at now: Instant) {
        if let record, let revision {
            limit.see(record, revision, at: now)
        } else if limit.revision == nil {
            limit.seeNone(at: now)
        }
    }

    /// Accepts what became of a write; `nil` if that is not known.
    mutating func wrote(_ outcome: FleetWrite?, _ changed: LimitRecord?, at now: Instant) {
        isWriting = false
        failures = outcome == nil ? failures + 1 : 0
        limit.wrote(outcome, changed, at: now)
    }

    /// Decides what to do next. Returns the record to write, and when to look again.
    mutating func next(at now: Instant, random: UInt64) -> (write: LimitRecord?, due: Instant?) {
        if limit.id != id { limit.rename(to: id) }
        let demand = limiter.demand(at: now)
        var gone: Set<String> = []
        var dues: [Instant?] = []
        for other in (limit.record?.nodes ?? []).map(\.id) {
            guard let instant = life.gone(other)?.advanced(by: limit.takeover) else { continue }
            if instant <= now { gone.insert(other) } else { dues.append(instant) }
        }
        var step: LimitNode.Step?
        limiter.changeSource { source in
            guard var permits = source as? OwnedPermits else { return }
            permits.belong(to: id, until: life.end)
            permits.owned = limit.owned
            if now < life.end, step == nil {
                var need = LimitNode.Need(permits, at: now)
                if case .leaving = phase {
                    let pause = limit.followPause(demand.pausedUntil, at: now)
                    step = LimitNode.Step(write: limit.leave(need, at: now), share: 0, due: need.nextReturn)
                    step?.pause = pause
                } else {
                    (need.waiting, need.cost) = (demand.waiting, max(1, demand.next))
                    (need.pausedUntil, need.isRefused) = (demand.pausedUntil, demand.isRefused)
                    step = limit.step(need, gone: gone, at: now, random: random)
                }
            }
            permits.owned = limit.owned
            permits.share = step?.share ?? 0
            source = permits
        }
        switch step?.pause {
        case .pause(let end):
            _ = limiter.pause(until: end, at: now)
            dues.append(now)
        case .resume(let end):
            limiter.resume(from: end, at: now)
            dues.append(now)
        case nil: break
        }
        finishLeaving(step?.write, at: now)
        return (step?.write, (dues + [step?.due]).compactMap { $0 }.min())
    }

    private mutating func finishLeaving(_ write: LimitRecord?, at now: Instant) {
        guard case .leaving(let end) = phase else { return }
        let hasNothing = limit.owned == 0 && !limit.isWriting && !limit.isOutdated
        if write == nil ? hasNothing || end <= now || life.end <= now : failures > 2 { phase = .left }
    }

    /// When the first waiter can be served, if nothing else happens.
    func nextService(at now: Instant) -> Instant? { limiter.nextService(at: now) }
}
