import Errand

/// Checks the instants of uses: no period may hold more than the limit.
enum Stamps {
    /// Returns the largest number of stamps in any rolling period.
    static func largestCount(_ stamps: [Int64], in period: Duration) -> Int {
        let sorted = stamps.sorted()
        let length = period.wholeNanoseconds
        var start = 0
        var largest = 0
        for (index, stamp) in sorted.enumerated() {
            while stamp - sorted[start] >= length { start += 1 }
            largest = max(largest, index - start + 1)
        }
        return largest
    }
}

/// A small generator whose numbers depend on the seed alone.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state &* 0x2545_F491_4F6C_DD1D
    }
}

/// Events in the order of their instants.
struct EventHeap<Event> {
    private var entries: [(at: Int64, order: Int, event: Event)] = []
    private var count = 0

    var peek: (Int64, Event)? { entries.first.map { ($0.at, $0.event) } }

    mutating func push(_ event: Event, at: Int64) {
        count += 1
        entries.append((at, count, event))
        var child = entries.count - 1
        while child > 0, isBefore(child, (child - 1) / 2) {
            entries.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func removeFirst() {
        entries.swapAt(0, entries.count - 1)
        entries.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < entries.count && isBefore(child, least) {
                least = child
            }
            guard least != parent else { return }
            entries.swapAt(least, parent)
            parent = least
        }
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        (entries[left].at, entries[left].order) < (entries[right].at, entries[right].order)
    }
}
