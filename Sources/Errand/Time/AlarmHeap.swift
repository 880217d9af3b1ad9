/// The pending alarms, earliest first. Alarms for the same instant keep the order in which they were set.
///
/// A binary heap whose entries know their own index, so setting, firing and canceling an alarm each cost O(log n): a
/// busy client sets a timeout for every attempt and cancels nearly all of them.
package struct AlarmHeap: Sendable {
    /// Identifies one alarm. The generation distinguishes a reused slot from the alarm that used it before.
    package struct Ticket: Sendable {
        let slot: Int
        let generation: UInt32
    }

    private struct Slot: Sendable {
        var instant: Instant
        var order: UInt64
        var place: Int
        var generation: UInt32
        var purpose: Alarm.Purpose
        var action: (@Sendable () -> Void)?
    }

    private var slots: [Slot] = []
    private var free: [Int] = []
    private var heap: [Int] = []
    private var nextOrder: UInt64 = 0

    package init() {}

    package var count: Int { heap.count }
    package var isEmpty: Bool { heap.isEmpty }
    package var earliest: Instant? { heap.first.map { slots[$0].instant } }

    /// The purpose of the earliest alarm.
    package var earliestPurpose: Alarm.Purpose? { heap.first.map { slots[$0].purpose } }

    /// The number of alarms that have been set, including those that have fired or were canceled.
    package var insertions: UInt64 { nextOrder }

    /// The pending alarms, earliest first.
    package var pending: [(instant: Instant, purpose: Alarm.Purpose)] {
        heap.sorted { isBefore($0, $1) }.map { (slots[$0].instant, slots[$0].purpose) }
    }

    /// Returns whether a task sleeps whose alarm is awaited and was set after the first `count` alarms.
    package func hasAwaitedSleeper(after count: UInt64) -> Bool {
        heap.contains { slot in
            slots[slot].order > count && slots[slot].purpose.isSleeper && slots[slot].purpose.isAwaited
        }
    }

    /// The number of sleeping tasks.
    package private(set) var sleepers = 0

    package mutating func insert(
        at instant: Instant, for purpose: Alarm.Purpose, _ action: @escaping @Sendable () -> Void
    ) -> Ticket {
        nextOrder += 1
        if purpose.isSleeper { sleepers += 1 }
        let place = heap.count
        let slot: Int
        if let reused = free.popLast() {
            slot = reused
            slots[slot].instant = instant
            slots[slot].order = nextOrder
            slots[slot].place = place
            slots[slot].purpose = purpose
            slots[slot].action = action
        } else {
            slot = slots.count
            slots.append(
                Slot(instant: instant, order: nextOrder, place: place, generation: 0, purpose: purpose, action: action))
        }
        heap.append(slot)
        rise(from: place)
        return Ticket(slot: slot, generation: slots[slot].generation)
    }

    /// Removes an alarm and returns its action; `nil` if it has fired or was removed before.
    package mutating func remove(_ ticket: Ticket) -> (@Sendable () -> Void)? {
        guard ticket.slot < slots.count, slots[ticket.slot].generation == ticket.generation,
            slots[ticket.slot].action != nil
        else { return nil }
        return take(ticket.slot)
    }

    /// Removes and returns the action of the earliest alarm if it is due.
    package mutating func popDue(at now: Instant) -> (@Sendable () -> Void)? {
        guard let first = heap.first, slots[first].instant <= now else { return nil }
        return take(first)
    }

    private mutating func take(_ slot: Int) -> (@Sendable () -> Void)? {
        let place = slots[slot].place
        let action = slots[slot].action
        if slots[slot].purpose.isSleeper { sleepers -= 1 }
        slots[slot].action = nil
        slots[slot].generation &+= 1
        free.append(slot)
        let last = heap.removeLast()
        if last != slot {
            heap[place] = last
            slots[last].place = place
            rise(from: place)
            sink(from: slots[last].place)
        }
        return action
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        let (a, b) = (slots[left].instant.nanoseconds, slots[right].instant.nanoseconds)
        return a != b ? a < b : slots[left].order < slots[right].order
    }

    private mutating func rise(from start: Int) {
        var place = start
        while place > 0 {
            let parent = (place - 1) / 2
            guard isBefore(heap[place], heap[parent]) else { return }
            swap(place, parent)
            place = parent
        }
    }

    private mutating func sink(from start: Int) {
        var place = start
        while true {
            var child = 2 * place + 1
            guard child < heap.count else { return }
            if child + 1 < heap.count, isBefore(heap[child + 1], heap[child]) { child += 1 }
            guard isBefore(heap[child], heap[place]) else { return }
            swap(place, child)
            place = child
        }
    }

    private mutating func swap(_ left: Int, _ right: Int) {
        heap.swapAt(left, right)
        slots[heap[left]].place = left
        slots[heap[right]].place = right
    }
}

extension AlarmHeap {
    /// A heap behind a lock: any thread may set and cancel alarms, including in a cancellation handler.
    package final class Shared: Sendable {
        private let heap = Lock(AlarmHeap())

        package init() {}

        package func withLock<Result: Sendable>(_ body: (inout AlarmHeap) -> Result) -> Result {
            heap.withLock { body(&$0) }
        }

        package func cancel(_ ticket: Ticket) {
            // The action is released outside the lock: it may hold the last reference to an object whose `deinit`
            // cancels an alarm of its own.
            let removed = heap.withLock { Removed(action: $0.remove(ticket)) }
            withExtendedLifetime(removed) {}
        }

        /// Not the closure itself: as the result of a generic function it would be put into memory of its own.
        private struct Removed: Sendable {
            let action: (@Sendable () -> Void)?
        }
    }
}
