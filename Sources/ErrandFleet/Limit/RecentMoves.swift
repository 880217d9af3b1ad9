import Errand

/// How many permits have moved in the last minute, in steps of a second.
struct RecentMoves: Sendable {
    private var moves: [(at: Instant, count: Int)] = []

    mutating func add(_ count: Int, at now: Instant) {
        guard count > 0 else { return }
        moves.removeAll { $0.at.duration(to: now) > .seconds(60) }
        if let last = moves.last, last.at.duration(to: now) < .seconds(1) {
            moves[moves.count - 1].count += count
        } else {
            moves.append((now, count))
        }
    }

    func count(at now: Instant) -> Int {
        moves.reduce(0) { $0 + ($1.at.duration(to: now) <= .seconds(60) ? $1.count : 0) }
    }
}
