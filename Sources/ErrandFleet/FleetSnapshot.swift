import Errand

extension Fleet {
    /// What one node knows of its fleet at one moment.
    public struct Snapshot: Sendable, Hashable {
        /// The name of this node.
        public let node: String
        /// How long this node may use what it owns if it cannot renew its record any more; `nil` if it may not, or if
        /// it has no record because it owns nothing.
        public let timeLeft: Duration?
        /// How long ago the store has responded last to a request of this node; `nil` if it never has.
        public let sinceContact: Duration?
        /// What an operator should know about the store, as it has said when this node began.
        public let warnings: [String]
        /// The shared limits that this node uses.
        public let limits: [LimitSnapshot]
    }

    /// What one node knows of a shared limit at one moment.
    public struct LimitSnapshot: Sendable, Hashable {
        /// The name of the limit.
        public let name: String
        /// The key of its record in the store.
        public let key: String
        /// The permits of the whole limit; `nil` before the store was read.
        public let permits: Int?
        /// The period after which a permit can be used again, a hundredth longer than the limit's; `nil` before the
        /// store was read.
        public let period: Duration?
        /// The permits that each node owns, by the name of the node.
        public let owners: [String: Int]
        /// The nodes whose calls wait for permits of others.
        public let waitingNodes: [String]
        /// The permits that no node owns.
        public let free: Int
        /// The permits that are set aside because the server has refused calls.
        public let setAside: Int
        /// The permits that this node owns; 0 when its lifetime is over.
        public let owned: Int
        /// Whether calls of this node wait, and no permit has moved for two periods.
        public let isStarving: Bool
        /// How many permits this node has received or given away in the last minute.
        public let movedInLastMinute: Int
        /// How often this node has written the record in the last minute.
        public let writesInLastMinute: Int
        /// How often, in the last minute, another node has written the record just before this one did.
        public let conflictsInLastMinute: Int
        /// How long ago the watch of the record has reported something; `nil` if it never has. Without changes, that
        /// may be long.
        public let sinceReport: Duration?
        /// What keeps the limit from working; `nil` if nothing does.
        public let problem: String?

        init(
            name: String, key: String, record: LimitRecord?, node: String, isValid: Bool, isStarving: Bool,
            activity: LimitActivity, at now: Instant, problem: String?
        ) {
            self.name = name
            self.key = key
            permits = record?.permits
            period = record.map { .nanoseconds($0.period) }
            owners = Dictionary((record?.nodes ?? []).map { ($0.id, $0.owned) }) { first, _ in first }
            waitingNodes = (record?.nodes ?? []).filter(\.isShort).map(\.id)
            free = max(0, record?.free ?? 0)
            setAside = record?.aside ?? 0
            owned = isValid ? record?.owned(by: node) ?? 0 : 0
            self.isStarving = isStarving
            movedInLastMinute = activity.moves.count(at: now)
            writesInLastMinute = activity.writes.count(at: now)
            conflictsInLastMinute = activity.conflicts.count(at: now)
            sinceReport = activity.lastReport.map { $0.duration(to: now) }
            self.problem = problem
        }
    }
}
