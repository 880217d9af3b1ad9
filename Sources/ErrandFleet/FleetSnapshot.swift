extension Fleet {
    /// What one node knows of its fleet at one moment.
    public struct Snapshot: Sendable, Hashable {
        /// The name of this node.
        public let node: String
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
        /// How many permits this node has received or given away in the last minute.
        public let movedInLastMinute: Int
        /// What keeps the limit from working; `nil` if nothing does.
        public let problem: String?

        init(
            name: String, key: String, record: LimitRecord?, node: String, isValid: Bool, movedInLastMinute: Int,
            problem: String?
        ) {
            self.name = name
            self.key = key
            permits = record?.permits
            owners = Dictionary((record?.nodes ?? []).map { ($0.id, $0.owned) }) { first, _ in first }
            waitingNodes = (record?.nodes ?? []).filter(\.isShort).map(\.id)
            free = max(0, record?.free ?? 0)
            setAside = record?.aside ?? 0
            owned = isValid ? record?.owned(by: node) ?? 0 : 0
            self.movedInLastMinute = movedInLastMinute
            self.problem = problem
        }
    }
}
