/// Detects cycles in a list with Brent's algorithm: it keeps one position, and compares each new one with it.
///
/// It replaces the position after 1, 2, 4, 8 … steps. So the kept position lies on the cycle sooner or later, and
/// stays long enough for the cycle to close. A set of all positions would detect a cycle a page earlier, but would
/// grow with the list.
struct CycleDetector {
    private var kept: PagePosition.Location
    private var steps = 0
    private var limit = 1

    init(from start: PagePosition.Location) {
        kept = start
    }

    /// Moves to the next position. Returns whether this closes a cycle.
    mutating func close(at place: PagePosition.Location) -> Bool {
        guard place != kept else { return true }
        steps += 1
        if steps == limit {
            kept = place
            (steps, limit) = (0, limit * 2)
        }
        return false
    }
}
