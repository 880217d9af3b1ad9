import Errand

/// How long a node may use what it owns, and how others find out that it no longer does: a value over explicit
/// instants.
///
/// A node renews its record every third of a lifetime, by compare-and-swap, and may use what it owns until one lifetime
/// after it *sent* the last renewal that succeeded. Another node looks at the record now and then. When it has seen it
/// unchanged for a lifetime of its own clock, it removes it: from then on no renewal can succeed, and the last one that
/// did was sent before the record was first seen. So nothing rests on the store's clock, or on clocks that agree; only
/// rates must differ by less than 1 %. Lifetimes may differ: the longest of those that the limits' records name counts.
struct NodeLife: Sendable {
    /// What a node knows of another one.
    private struct Sighting: Sendable {
        /// The revision of its record; `nil` if it has none.
        var revision: FleetRevision?
        /// Since when the record has been like that.
        var since: Instant
        /// Whether it had another one before, so that the node has lived until shortly before then.
        var isRenewed = false
    }

    /// What to do about another node.
    enum Inspection: Hashable, Sendable {
        case none
        /// Remove its record, if it still has that revision.
        case remove(FleetRevision)
    }

    let lifetime: Duration
    /// The longest lifetime of the nodes that this one inspects, and of its own.
    private(set) var longest: Duration
    private(set) var revision: FleetRevision?
    /// Until when this node may use what it owns.
    private(set) var end = Instant(nanoseconds: .min)
    private var sightings: [String: Sighting] = [:]

    /// While calls of a node get nothing and no node is late, a node that was seen to live is looked at again after so
    /// many lifetimes.
    private static let patience = 5

    init(lifetime: Duration) {
        self.lifetime = lifetime
        longest = lifetime
    }

    /// The time between two renewals: two of them may fail.
    var renewal: Duration { lifetime / 3 }
    /// The time between two looks at another node.
    var inspection: Duration { lifetime / 2 }
    /// How long another node's record must not have changed for it to be removed.
    var longestSilence: Duration { SharedLimitSettings.lengthened(longest) }

    /// Accepts that a renewal sent at that instant has succeeded.
    mutating func renewed(_ newRevision: FleetRevision, sentAt instant: Instant) {
        revision = newRevision
        end = max(end, instant.advanced(by: lifetime))
    }

    /// Accepts that others have removed this node's record: it owns nothing any more.
    mutating func removed() {
        (revision, end) = (nil, Instant(nanoseconds: .min))
    }

    /// Accepts what another node's record was when it was read, and returns what to do about it.
    mutating func inspected(_ id: String, _ revision: FleetRevision?, at now: Instant) -> Inspection {
        guard let sighting = sightings[id], sighting.revision == revision else {
            sightings[id] = Sighting(revision: revision, since: now, isRenewed: sightings[id]?.revision != nil)
            return .none
        }
        guard let revision, sighting.since.advanced(by: longestSilence) <= now else { return .none }
        return .remove(revision)
    }

    /// Accepts that this node has removed another one's record. It was unchanged for a lifetime, which counts.
    mutating func removedOther(_ id: String) {
        sightings[id]?.revision = nil
    }

    /// Returns since when another node's record has been gone, or had been unchanged before it was removed.
    func gone(_ id: String) -> Instant? {
        sightings[id].flatMap { $0.revision == nil ? $0.since : nil }
    }

    /// Whether another node has missed a renewal, as far as this one can see after a look at it.
    private func isLate(_ id: String, at now: Instant) -> Bool {
        sightings[id].map { $0.revision == nil || $0.since.advanced(by: longest / 2) <= now } ?? false
    }

    /// Returns when the record of another node is due to be removed, if it does not change.
    func dueRemoval(of id: String) -> Instant? {
        sightings[id].flatMap { $0.revision == nil ? nil : $0.since.advanced(by: longestSilence) }
    }

    /// Forgets nodes that are in no record any more, and notes the longest lifetime of the others.
    mutating func keep(_ ids: Set<String>, longest: Duration) {
        sightings = sightings.filter { ids.contains($0.key) }
        self.longest = max(lifetime, longest)
    }

    /// Returns the nodes that this one inspects: of each limit's, the one before it in the order of their names. So
    /// each node is inspected by one other.
    func predecessors(in limits: [[String]], of own: String) -> Set<String> {
        Set(limits.compactMap { nodes in nodes.filter { $0 < own }.max() ?? nodes.filter { $0 != own }.max() })
    }

    /// Returns the other nodes to look at, after this node has looked at its predecessors.
    ///
    /// Nodes often end together. So when one of those is late, or when the calls of this node get nothing, it looks at
    /// all that it has not seen to live a short while ago.
    func suspects(in limits: [[String]], of own: String, isStarving: Bool, at now: Instant) -> Set<String> {
        let predecessors = predecessors(in: limits, of: own)
        let hasLate = predecessors.contains { isLate($0, at: now) }
        guard hasLate || isStarving else { return [] }
        let patience = hasLate ? longest : longest * Self.patience
        return Set(limits.joined()).subtracting(predecessors).filter { id in
            id != own && !(sightings[id].map { $0.isRenewed && $0.since.advanced(by: patience) > now } ?? false)
        }
    }
}
