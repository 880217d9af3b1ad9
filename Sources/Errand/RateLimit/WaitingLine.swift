/// The queue of a limiter: first come, first served, urgent waiters before all others.
///
/// Joining, leaving and serving cost O(1) on average. A waiter that leaves from the middle leaves an empty place of
/// eight bytes, which is removed when those before it have been served.
struct WaitingLine {
    /// A waiter in the queue.
    final class Waiter: Sendable {
        let cost: Int
        let isUrgent: Bool
        /// Whether it waits with the urgent ones: it is urgent, or has lost permits that it held.
        fileprivate let isInFront: Bool
        let deadline: Instant
        /// Completes when the waiter is served, with the instant at which the permits were taken.
        let admission = Promise<Instant, ServiceError>()
        fileprivate let place: Int

        fileprivate init(cost: Int, isUrgent: Bool, isInFront: Bool, deadline: Instant, place: Int) {
            self.cost = cost
            self.isUrgent = isUrgent
            self.isInFront = isInFront
            self.deadline = deadline
            self.place = place
        }
    }

    private var urgent = Lane()
    private var normal = Lane()

    var count: Int { urgent.count + normal.count }

    /// Returns the total cost of all waiters that would be served before a new one.
    func costAhead(ofUrgent isUrgent: Bool) -> Int {
        isUrgent ? urgent.cost : urgent.cost + normal.cost
    }

    /// The next waiter to be served.
    var first: Waiter? { urgent.first ?? normal.first }

    /// All waiters, in the order in which they will be served.
    var all: [Waiter] { urgent.all + normal.all }

    /// Appends a waiter to the queue. One that returns because it has lost permits that it held waits with the urgent
    /// ones.
    mutating func join(cost: Int, isUrgent: Bool, isReturning: Bool = false, deadline: Instant) -> Waiter {
        let isInFront = isUrgent || isReturning
        let place = isInFront ? urgent.end : normal.end
        let waiter = Waiter(
            cost: cost, isUrgent: isUrgent, isInFront: isInFront, deadline: deadline, place: place)
        if isInFront { urgent.append(waiter) } else { normal.append(waiter) }
        return waiter
    }

    /// Removes the waiter, wherever it is in the queue. Does nothing if it has left already.
    mutating func leave(_ waiter: Waiter) {
        if waiter.isInFront { urgent.remove(at: waiter.place) } else { normal.remove(at: waiter.place) }
    }

    private struct Lane {
        private var places: [Waiter?] = []
        /// The number of the place at `places[0]`.
        private var start = 0
        private var head = 0
        private(set) var count = 0
        private(set) var cost = 0

        var end: Int { start + places.count }
        var first: Waiter? { count > 0 ? places[head] : nil }
        var all: [Waiter] { places[head...].compactMap { $0 } }

        mutating func append(_ waiter: Waiter) {
            places.append(waiter)
            count += 1
            cost += waiter.cost
        }

        mutating func remove(at place: Int) {
            let index = place - start
            guard index >= head, index < places.count, let waiter = places[index] else { return }
            places[index] = nil
            count -= 1
            cost -= waiter.cost
            while head < places.count, places[head] == nil { head += 1 }
            // Places are removed when they fill half of the array: each place then moves once on average.
            if head > 32, head * 2 > places.count {
                places.removeFirst(head)
                start += head
                head = 0
            }
        }
    }
}
