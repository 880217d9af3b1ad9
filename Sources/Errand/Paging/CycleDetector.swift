/// Notices when a list leads round in a circle, by Brent's method: it keeps one place, and compares each new one with
/// it.
///
/// The place that is kept is replaced after 1, 2, 4, 8… steps. So it lies on the circle sooner or later, and stays long
/// enough for the circle to close. A set of all places would notice a page earlier, but grow with the list.
struct CycleDetector {
    private var kept: PagePosition.Location
    private var steps = 0
    private var limit = 1

    init(from start: PagePosition.Location) {
        kept = start
    }

    /// Takes the next place; says whether it was there before.
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
