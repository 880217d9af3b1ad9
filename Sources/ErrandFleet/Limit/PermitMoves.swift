import Errand

/// How many permits a node takes, asks for and gives away: a value over explicit instants.
///
/// A store that is asked for each permit is asked more often than a central limiter would be. So permits move rarely,
/// and several at a time:
/// - Calls wait for the node's own permits, if enough of them come back soon. After the node has asked the others, they
///   wait for longer: the others have little to spare.
/// - The node with the most permits gives first. If it does not within a moment, the next one does: nodes that write at
///   the same time hinder each other.
/// - A node keeps somewhat more than it uses, until the others have waited for a while.
/// - If the period is longer than a lifetime, a node owns what it may use in a lifetime: when it is killed, nobody can
///   use that for a period.
struct PermitMoves {
    /// The most nodes that a node lets go first.
    private static let mostRanks = 10
    /// For so many graces after a node has asked the others, its calls wait for its own permits for longer.
    private static let patience = 8
    /// For so many graces, a node keeps somewhat more than it uses, and one that no longer needs more still asks.
    private static let hold = 2

    /// How many of the permits the node may have out, as decided last.
    var share = Int.max
    /// Since when the node has had its place in the order of the nodes.
    private var turnStart = Instant.zero
    private var lastGift = Instant(nanoseconds: .min)
    /// Since when the calls of other nodes have waited, as far as this node has seen.
    private var shortages: [String: Instant] = [:]
    /// Since when the record has said that this node's calls wait, and when this node has written that last.
    private var askedSince: Instant?
    private var lastAsk = Instant(nanoseconds: .min)
    /// When this node has made permits free last that it did not need.
    private var lastReturn = Instant(nanoseconds: .min)

    /// Accepts another record. The node owned so many permits before.
    mutating func see(_ record: LimitRecord, of id: String, owned before: Int, at now: Instant) {
        if before == 0, record.owned(by: id) > 0 { turnStart = now }
        let others = record.nodes.filter { $0.id != id && $0.isShort }.map { ($0.id, shortages[$0.id] ?? now) }
        shortages = Dictionary(others) { first, _ in first }
        askedSince = record.node(id)?.isShort == true ? askedSince ?? now : nil
    }

    /// Takes free permits, writes how many more the node needs, and gives away what others are to have.
    mutating func apply(
        _ need: LimitNode.Need, of id: String, _ settings: SharedLimitSettings, in next: inout LimitRecord,
        replacing record: LimitRecord?, _ step: inout LimitNode.Step, at now: Instant
    ) {
        let hasAsked = lastAsk.advanced(by: settings.grace * Self.patience) > now
        let part = Part(id: id, need: need, settings: settings, now: now, hasAsked: hasAsked)
        let needed = part.needed(in: next)
        ask(for: needed, part, in: &next, &step)
        let owned = next.owned(by: id)
        giveAway(needed, part, in: &next, replacing: record, &step)
        // What was given away is not there to be made free.
        let unused = need.unused - (owned - next.owned(by: id))
        makeFree(unused, besides: needed, part, in: &next, &step)
        share = step.share
    }
}

extension PermitMoves {
    /// What a decision is about.
    private struct Part {
        let id: String
        let need: LimitNode.Need
        let settings: SharedLimitSettings
        let now: Instant
        /// Whether the node has asked the others a short while ago.
        let hasAsked: Bool

        /// The permits that the node should own: those that are out, and those for calls that would wait for too long.
        func needed(in record: LimitRecord) -> Int {
            let canWait = record.owned(by: id) >= need.cost
            let due = !canWait ? 0 : hasAsked ? need.dueLater : need.dueSoon
            return min(record.permits, need.out + max(0, need.waiting - due))
        }

        /// The permits that the node may use in a lifetime, besides those that it needs now.
        func reserve(in record: LimitRecord) -> Int {
            guard settings.period > settings.lifetime else { return record.permits }
            let lifetimes = settings.period.inSeconds / settings.lifetime.inSeconds
            return max(need.recent, Int((Double(record.permits) / 4 / lifetimes).rounded(.up)))
        }
    }

    /// Takes free permits, and writes how many more are needed.
    private mutating func ask(for needed: Int, _ part: Part, in next: inout LimitRecord, _ step: inout LimitNode.Step) {
        let (id, need, settings) = (part.id, part.need, part.settings)
        let mine = next.owned(by: id)
        guard needed > mine else {
            // A node that looks as if its calls waited is given what it does not need. But it often needs that again.
            guard let node = next.node(id), node.isShort else { return }
            let end = (askedSince ?? part.now).advanced(by: settings.grace * Self.hold)
            if end <= part.now { next.update(id) { $0.wants = needed } } else { step.look(at: end) }
            return
        }
        let othersWait = next.nodes.contains { $0.id != id && $0.isShort }
        // More than is needed now, so that growing demand does not ask for permits one by one. Others get what they
        // need when they need it.
        var wish = min(max(needed * 2 - mine, next.free / 4), needed - mine + part.reserve(in: next))
        if othersWait, next.free > 0 {
            var probe = next
            probe.update(id) { node in
                node.wants = needed
                node.cost = max(1, need.cost)
                node.weight = settings.weight
            }
            wish = min(wish, probe.target(of: id) - mine)
        }
        let taken = max(0, min(next.free, wish))
        let missing = needed > mine + taken
        guard taken > 0 || missing else { return }
        let permits = next.permits
        if missing { lastAsk = part.now }
        next.free -= taken
        next.update(id) { node in
            node.owned += taken
            // Others decide by it only while the node has less than that. Each call of another cost would change the
            // record if it were always written.
            if node.owned < max(node.cost, need.cost) { node.cost = max(1, need.cost) }
            node.weight = settings.weight
            // Rounded, so that each further waiter does not change the record.
            if !missing {
                node.wants = 0
            } else if node.wants < needed || node.wants / 4 > needed {
                node.wants = needed.roundedUp(to: permits)
            }
        }
    }

    /// Gives away what others are to have, and finds out how much the node may use.
    private mutating func giveAway(
        _ needed: Int, _ part: Part, in next: inout LimitRecord, replacing record: LimitRecord?,
        _ step: inout LimitNode.Step
    ) {
        let (id, need, settings, now) = (part.id, part.need, part.settings, part.now)
        let mine = next.owned(by: id)
        let isOwed = next.free < 0
        let rivals = next.nodes.filter { $0.id != id && $0.isShort }
        // Waiters that leave do not report it.
        let recheck = now.advanced(by: max(settings.period, .milliseconds(200)))
        guard mine > 0, isOwed || !rivals.isEmpty else {
            // The record should not say for long that there are any.
            if next.node(id)?.isShort == true { step.look(at: recheck) }
            return
        }
        let since = rivals.compactMap { shortages[$0.id] }.min() ?? now
        let due = since.advanced(by: settings.rankDelay * rank(of: id, in: next))
        guard isOwed || due <= now else { return step.look(at: due) }
        // What the others can have is what this node does not need, and at first not what it may need soon.
        let holdEnd = since.advanced(by: settings.grace * Self.hold)
        let mayWait = !isOwed && holdEnd > now && rivals.allSatisfy { $0.owned >= $0.cost }
        let kept = min(mine, needed + (mayWait ? needed.squareRoot : 0))
        if kept > needed { step.look(at: holdEnd) }
        var view = next
        view.update(id) { node in
            node.owned = kept
            node.wants = needed > mine ? max(needed, node.wants) : kept
            node.cost = max(1, need.cost)
        }
        // Most of the work of a step, so it is done once.
        var targets = view.targets()
        let turn = turnLength(of: part, in: view, targets)
        let isOver = turn.map { now >= turnStart.advanced(by: $0) } ?? false
        if isOver {
            view.moveToEnd(id)
            targets = view.targets()
        }
        let mayKeep = view.nodes.firstIndex { $0.id == id }.map { targets[$0] } ?? 0
        step.share = mayKeep
        let surplus = mine - mayKeep
        let giveable = min(surplus, need.unused)
        if surplus > 0 {
            step.look(at: need.nextReturn)
        } else if let turn {
            // Once it is over, a node that still has less than it may keep waits for the others to change the record,
            // or for its own waiters to leave.
            step.look(at: isOver ? recheck : turnStart.advanced(by: turn))
        }
        guard giveable > 0 else { return }
        // Small gifts are collected for a fifth of a period, unless somebody has nothing.
        let rest = lastGift.advanced(by: settings.period / 5)
        let isWorthwhile =
            giveable == surplus || giveable > next.permits / 10 || now >= rest
            || rivals.contains { $0.owned < $0.cost }
        guard isWorthwhile else { return step.look(at: rest) }
        // Whoever gives does not ask.
        if needed <= mine { next.update(id) { $0.wants = 0 } }
        next.give(giveable, of: id, towards: targets, of: view)
        if isOver, next.node(id) != nil { next.moveToEnd(id) }
        if next != record { (lastGift, turnStart) = (now, isOver ? now : turnStart) }
    }

    /// Makes permits free that the node does not need, if they would be lost for long if it were killed.
    private mutating func makeFree(
        _ unused: Int, besides needed: Int, _ part: Part, in next: inout LimitRecord, _ step: inout LimitNode.Step
    ) {
        guard part.settings.period > part.settings.lifetime else { return }
        let reserve = part.reserve(in: next)
        let owned = next.owned(by: part.id)
        // Not for a few, which it would take again.
        guard owned > 2 * reserve else { return }
        let surplus = min(unused, owned - needed - reserve)
        guard surplus > reserve else { return step.look(at: part.now.advanced(by: part.settings.lifetime)) }
        let due = lastReturn.advanced(by: part.settings.lifetime)
        guard due <= part.now else { return step.look(at: due) }
        lastReturn = part.now
        next.free += surplus
        next.update(part.id) { $0.owned -= surplus }
    }

    /// Returns how many nodes give before this one.
    private func rank(of id: String, in record: LimitRecord) -> Int {
        let mine = record.owned(by: id)
        let before = record.nodes.count { $0.owned > mine || $0.owned == mine && $0.id < id }
        return min(Self.mostRanks, before)
    }

    /// Returns how long this node keeps its place when others with waiters have less; `nil` if none of them do.
    private func turnLength(of part: Part, in view: LimitRecord, _ targets: [Int]) -> Duration? {
        guard let mine = view.nodes.firstIndex(where: { $0.id == part.id }), targets[mine] > 0 else { return nil }
        let rivals = view.nodes.indices.filter { view.nodes[$0].id != part.id && view.nodes[$0].isShort }
        let hasStarving = rivals.contains { targets[$0] < min(view.nodes[$0].cost, view.nodes[$0].wants) }
        if hasStarving { return part.settings.period }
        let isAhead = rivals.contains { index in
            view.nodes[index].weight == view.nodes[mine].weight && targets[index] < targets[mine]
                && targets[index] < view.nodes[index].wants
        }
        return isAhead ? max(part.settings.period * 30, .seconds(30)) : nil
    }
}

extension Int {
    /// The square root, rounded up: how much more than usual may be needed by chance.
    fileprivate var squareRoot: Int { Int(Double(self).squareRoot().rounded(.up)) }
}
