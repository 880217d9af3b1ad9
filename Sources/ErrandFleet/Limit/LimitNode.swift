import Errand

/// One node's part in a shared limit, as a value over explicit instants: it neither waits, nor reads a clock, nor talks
/// to the store.
///
/// The record says who owns which permits. It is changed by compare-and-swap alone, so every permit is in one place:
/// - A node that needs permits takes free ones. If there are none, it writes how many it wants.
/// - A node with more than its part then gives permits away. It stops using them first, gives them one period after
///   their last use, and never takes them back by itself: they are the other node's when the write succeeds.
/// - What a node owned whose lifetime is over becomes free one period after the end.
///
/// States of a write: none; under way; unknown (its response was lost). While it is unknown, it may still be made, so
/// the node neither uses what it was giving away, nor decides anything new. It repeats the write until the record has
/// another revision: from then on the old write can no longer be made, and the record says what is true.
struct LimitNode {
    /// What the node itself needs now.
    struct Need: Hashable, Sendable {
        /// The permits that are out.
        var out = 0
        /// The permits that are not out, so that they can be given away.
        var unused = 0
        /// The total cost of the waiters.
        var waiting = 0
        /// The cost of the first waiter.
        var cost = 1
        /// The permits that were taken in the last lifetime.
        var recent = 0
        /// The permits that come back soon enough for calls to wait for them.
        var dueSoon = 0
        /// The same for calls of a node that has asked others a short while ago.
        var dueLater = 0
        /// When the next permits come back; `nil` if none are out.
        var nextReturn: Instant?
        /// The end of the limiter's pause; `nil` if there is none.
        var pausedUntil: Instant?
        /// Whether a server has refused a request because of a rate limit, for or during that pause.
        var isRefused = false
    }

    /// What the node does next.
    struct Step: Hashable, Sendable {
        /// The record to write in place of the one that was seen; `nil` for none.
        var write: LimitRecord?
        /// How many permits the node may have out.
        var share = Int.max
        /// What has become of the fleet's pause.
        var pause: SharedPause.Change?
        /// When to look again, if nothing happens before; `nil` for never.
        var due: Instant?

        mutating func look(at instant: Instant?) {
            due = [due, instant].compactMap { $0 }.min()
        }
    }

    private(set) var id: String
    private(set) var settings: SharedLimitSettings

    /// The record that was seen last; `nil` before the first, and if there is none.
    private(set) var record: LimitRecord?
    private(set) var revision: FleetRevision?
    /// Whether the store has been read.
    private(set) var hasRead = false
    /// Whether the store has had a record that could not be read, since it was last known to have none.
    private var wasDamaged = false
    /// The write whose outcome is not known yet.
    private var attempt: LimitRecord?
    private var hasJoined = false
    /// Until when the node creates no record, because it saw that the record was removed, or uses none, because the
    /// store has lost writes.
    private(set) var emptyUntil = Instant(nanoseconds: .min)
    /// Whether the store has an older record than this node has seen, so that what it says is not true yet.
    private(set) var isOutdated = false
    private var pause = SharedPause()
    /// The pause as it was known before the write that is under way.
    private var pauseBefore = SharedPause()
    private var lowering = LoweredLimit()
    private var moves = PermitMoves()
    /// A record with another period by which no node owns anything, and since when this one has known it.
    private var unowned: (revision: FleetRevision?, since: Instant)?
    /// When permits have moved last, from or to any node, as far as this one has seen.
    private var lastMove = Instant.zero
    /// Since when this node has owned too few permits for its first call that waits, as the others know.
    private var shortSince: Instant?
    /// Whether that has been so for two periods, and no permit has moved: the owners may be gone.
    private(set) var isStarving = false

    init(id: String, settings: SharedLimitSettings) {
        self.id = id
        self.settings = settings
    }

    /// What the node owns for certain: without what a write that is under way gives away.
    var owned: Int {
        guard !isOutdated else { return 0 }
        let owned = record?.owned(by: id) ?? 0
        return attempt.map { min(owned, $0.owned(by: id)) } ?? owned
    }

    /// Whether a write is under way, or may still be made.
    var isWriting: Bool { attempt != nil }

    /// Begins again under another name: what belonged to the old one is for others to release.
    mutating func rename(to id: String) {
        self.id = id
        if attempt != nil { pause = pauseBefore }
        (attempt, hasJoined, moves.share) = (nil, false, .max)
    }

    /// Accepts other settings. The node joins again with them.
    mutating func change(_ settings: SharedLimitSettings) {
        guard settings != self.settings else { return }
        (self.settings, hasJoined) = (settings, false)
    }

    /// How long this node waits from when it saw that another one is gone, until that one's permits are free. While the
    /// record has another period, the longer of the two counts.
    var takeover: Duration {
        settings.takeover(
            after: max(settings.lifetime, .nanoseconds(record?.lifetime ?? 0)), within: longerPeriod)
    }

    private var longerPeriod: Duration { max(settings.period, .nanoseconds(record?.period ?? 0)) }

    /// Accepts a record that was read, or that a watch reported. One that is not newer than the record that was seen
    /// last is ignored.
    mutating func see(_ seen: LimitRecord, _ seenRevision: FleetRevision, at now: Instant) {
        if let revision, seenRevision <= revision { return }
        let before = owned
        if let attempt, seen != attempt {
            pause.restore(pauseBefore, announcing: attempt.pause, found: seen.pause)
        }
        if record?.owners != seen.owners { lastMove = now }
        (hasRead, attempt) = (true, nil)
        (record, revision) = (seen, seenRevision)
        moves.see(seen, of: id, owned: before, at: now)
        lowering.see(seen, at: now)
    }

    /// Accepts that what the store has cannot be read: nobody knows who owns what.
    mutating func seeDamage() { wasDamaged = true }

    /// Accepts that there was no record when the store was read, after the record that was seen last. If there was one
    /// before, its nodes may still use their permits for a while, so this node does not create another at once.
    mutating func seeNone(at now: Instant) {
        if revision != nil || wasDamaged { emptyUntil = now.advanced(by: takeover) }
        wasDamaged = false
        if record != nil || attempt != nil {
            // Nobody has ended the pause: it is written again.
            pause = SharedPause()
        }
        hasRead = true
        (record, revision, attempt) = (nil, nil, nil)
    }

    /// Accepts that the store has an older record than this node has seen, as after a restored backup. What it says
    /// counts only when all that was used under later records is back.
    private mutating func seeOlder(_ seen: LimitRecord?, _ seenRevision: FleetRevision, at now: Instant) {
        seeNone(at: now)
        isOutdated = true
        if let seen { see(seen, seenRevision, at: now) }
    }

    /// Accepts the outcome of the write; `nil` if it is not known. `changed` is the record that another node has
    /// written.
    mutating func wrote(_ outcome: FleetWrite?, _ changed: LimitRecord?, at now: Instant) {
        guard let outcome, let written = attempt else { return }
        switch outcome {
        case .written(let newRevision?): see(written, newRevision, at: now)
        case .changed(let other?):
            // A store that responds to a write knows all that came before.
            if let revision, other.revision <= revision { return seeOlder(changed, other.revision, at: now) }
            if let changed { see(changed, other.revision, at: now) }
        case .written(nil), .changed(nil): seeNone(at: now)
        }
    }

    /// Decides what to do next. A write that it returns is under way from then on, until `see` or `wrote` ends it.
    ///
    /// - Parameters:
    ///   - gone: The nodes whose permits have become free, because their lifetime and a period are over.
    ///   - random: Marks a pause that this node announces.
    mutating func step(_ need: Need, gone: Set<String> = [], at now: Instant, random: UInt64 = 0) -> Step {
        guard hasRead else { return Step() }
        if let attempt { return Step(write: attempt, share: moves.share) }
        isStarving = false
        if now < emptyUntil, record == nil || isOutdated { return Step(share: 0, due: emptyUntil) }
        isOutdated = false
        let before = record ?? LimitRecord(permits: settings.permits, period: settings.period)
        guard before.version <= LimitRecord.currentVersion else { return Step(share: 0) }
        guard before.period == settings.period.wholeNanoseconds else {
            return replace(before, need, gone: gone, at: now)
        }
        let known = pause
        var next = before
        var step = Step()
        next.release(gone.subtracting([id]))
        if need.out + need.waiting > 0 { join(&next) }
        let isRefused = pause.step(
            need.pausedUntil, isRefused: need.isRefused, in: &next, &step.pause, at: now, random: random)
        if let settings = settings.lowering {
            step.look(at: lowering.step(settings, isRefused: isRefused, of: id, in: &next, at: now))
        }
        moves.apply(need, of: id, settings, in: &next, replacing: record, &step, at: now)
        noteStarving(need, in: next, &step, at: now)
        next.note(settings.lifetime, of: id)
        let isWritten = next != before
        pause.removePast(from: &next, isWritten: isWritten)
        if next != before {
            step.write = next
            (attempt, pauseBefore) = (next, known)
        }
        return step
    }

    /// Decides what to do about a record with another period. It is replaced when no node owns anything by it any more,
    /// and the longer of the two periods has passed since then.
    private mutating func replace(_ old: LimitRecord, _ need: Need, gone: Set<String>, at now: Instant) -> Step {
        var next = old
        next.release(gone.subtracting([id]))
        var due: Instant?
        // Nodes without calls would replace each other's records again and again.
        if next.nodes.isEmpty, need.out + need.waiting > 0 {
            // Any change means that somebody may have used permits by it.
            let since = unowned.flatMap { $0.revision == revision ? $0.since : nil } ?? now
            let end = since.advanced(by: SharedLimitSettings.lengthened(longerPeriod))
            if end <= now {
                next = LimitRecord(permits: settings.permits, period: settings.period)
                next.pause = old.pause
            } else {
                (unowned, due) = ((revision, since), end)
            }
        }
        moves.share = 0
        guard next != old else { return Step(share: 0, due: due) }
        (attempt, pauseBefore) = (next, pause)
        return Step(write: next, share: 0, due: due)
    }

    /// Returns what has become of the fleet's pause, which a node that leaves keeps as well: what it still sends with
    /// its permits waits.
    mutating func followPause(_ own: Instant?, at now: Instant) -> SharedPause.Change? {
        guard attempt == nil, let record else { return nil }
        return pause.follow(record.pause, own, at: now)
    }

    /// Returns the record that a node leaves behind whose limiter is no longer used; `nil` if there is nothing to
    /// return. What is out remains with it until it is back, or until the others know that its lifetime is over.
    mutating func leave(_ need: Need, at now: Instant) -> LimitRecord? {
        if let attempt { return attempt }
        isStarving = false
        if now >= emptyUntil { isOutdated = false }
        guard hasRead, !isOutdated, var next = record, let node = next.node(id),
            next.version <= LimitRecord.currentVersion
        else { return nil }
        let unused = min(need.unused, node.owned)
        next.free += unused
        next.update(id) { node in
            node.owned -= unused
            node.wants = 0
        }
        guard next != record else { return nil }
        (attempt, pauseBefore) = (next, pause)
        return next
    }
}

extension LimitNode {
    /// The node that joined last decides how many permits there are.
    private mutating func join(_ next: inout LimitRecord) {
        guard !hasJoined else { return }
        hasJoined = next.permits == settings.permits
        next.free += settings.permits - next.permits
        next.permits = settings.permits
        let restored = next.aside - min(next.aside, settings.permits - 1)
        next.aside -= restored
        next.free += restored
    }

    /// Notes whether nothing comes for the first call that waits.
    private mutating func noteStarving(_ need: Need, in next: LimitRecord, _ step: inout Step, at now: Instant) {
        // Only if the others know of it: a node that cannot write gets nothing, wherever the permits are.
        let isKnown = record?.node(id)?.isShort ?? false
        guard isKnown, need.waiting > 0, next.owned(by: id) < need.cost else {
            (isStarving, shortSince) = (false, nil)
            return
        }
        let since = shortSince ?? now
        shortSince = since
        let end = max(since, lastMove).advanced(by: settings.period * 2)
        isStarving = end <= now
        if !isStarving { step.look(at: end) }
    }
}
