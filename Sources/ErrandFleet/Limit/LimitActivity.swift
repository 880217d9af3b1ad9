import Errand

/// What a node has done for a limit.
struct LimitActivity: Sendable {
    /// The permits that it has received or given away.
    var moves = RecentCounts()
    /// Its writes of the record.
    var writes = RecentCounts()
    /// Its writes that another node's had preceded.
    var conflicts = RecentCounts()
    /// When the watch of the record has reported something last.
    var lastReport: Instant?
}

/// How many things have happened in the last minute, in steps of a second.
struct RecentCounts: Sendable {
    private var counts: [(at: Instant, count: Int)] = []

    mutating func add(_ count: Int, at now: Instant) {
        guard count > 0 else { return }
        counts.removeAll { $0.at.duration(to: now) > .seconds(60) }
        if let last = counts.last, last.at.duration(to: now) < .seconds(1) {
            counts[counts.count - 1].count += count
        } else {
            counts.append((now, count))
        }
    }

    func count(at now: Instant) -> Int {
        counts.reduce(0) { $0 + ($1.at.duration(to: now) <= .seconds(60) ? $1.count : 0) }
    }
}
