import Errand

/// A pause that all nodes keep: the node that hears of it writes it, the others apply it when they see it.
///
/// The record says how long the pause lasts, since clocks do not agree on instants. A node counts from when it first
/// saw it, so it pauses somewhat longer than the server has asked for.
struct SharedPause: Sendable {
    /// What a node's limiter does about the fleet's pause.
    enum Change: Hashable, Sendable {
        case pause(until: Instant)
        /// Another node has ended the one that ends at that instant.
        case resume(from: Instant)
    }

    private struct Known: Sendable {
        let id: UInt64
        let end: Instant
        /// Whether the limit has been lowered for it, or need not be, because another node has written it.
        var isCounted: Bool
    }

    /// The pause that the node knows.
    private var known: Known?
    /// The last pause that the node knew, which it neither begins again nor takes for a new one.
    private var past: UInt64?
    /// Whether this node has written the last pause, and so removes it from the record.
    private var isOwn = false

    /// Applies the record's pause, or writes the limiter's own. Returns whether a server's refusal, which has not been
    /// counted, is the reason for the limiter's own.
    mutating func step(
        _ own: Instant?, isRefused: Bool, in record: inout LimitRecord, _ change: inout Change?, at now: Instant,
        random: UInt64
    ) -> Bool {
        change = follow(record.pause, own, at: now)
        if case .resume = change { return false }
        let isCounted = known?.isCounted ?? false
        if let own, own > known?.end ?? now {
            record.pause = LimitRecord.Pause(id: random, milliseconds: Self.milliseconds(from: now, to: own))
            (known, isOwn) = (Known(id: random, end: own, isCounted: isCounted || isRefused), true)
            return isRefused && !isCounted
        }
        if known != nil, own == nil, change == nil {
            // The program has ended it.
            forget()
            record.pause = nil
        }
        guard isRefused, !isCounted, known != nil else { return false }
        known?.isCounted = true
        return true
    }

    /// Applies the record's pause: returns what the limiter, which has paused until `own`, does about it.
    mutating func follow(_ pause: LimitRecord.Pause?, _ own: Instant?, at now: Instant) -> Change? {
        if let known, known.end <= now { forget() }
        if let known, pause == nil {
            forget()
            if own == known.end { return .resume(from: known.end) }
        }
        guard let pause, pause.id != known?.id, pause.id != past else { return nil }
        let end = now.advanced(by: .milliseconds(pause.milliseconds))
        (known, isOwn) = (Known(id: pause.id, end: end, isCounted: true), false)
        return end > own ?? now ? .pause(until: end) : nil
    }

    /// Takes back what a step has noted that led to a write, after a newer record was found in its place. If that has
    /// the pause which the write announced, the write was made before.
    mutating func restore(_ before: SharedPause, announcing announced: LimitRecord.Pause?, found: LimitRecord.Pause?) {
        // The write only repeated a pause of another node.
        if !isOwn, let known, known.id == announced?.id { return }
        guard let announced, announced.id != before.known?.id, announced.id == found?.id else {
            self = before
            return
        }
    }

    /// Removes a pause that is over from the record, if the record is written anyway or the pause was this node's.
    func removePast(from record: inout LimitRecord, isWritten: Bool) {
        guard let pause = record.pause, pause.id == past, known == nil, isWritten || isOwn else { return }
        record.pause = nil
    }

    private mutating func forget() {
        past = known?.id ?? past
        known = nil
    }

    private static func milliseconds(from now: Instant, to end: Instant) -> Int {
        Int((now.duration(to: end).wholeNanoseconds + 999_999) / 1_000_000)
    }
}
