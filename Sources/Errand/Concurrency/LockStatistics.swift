#if LOCK_STATISTICS
import Synchronization

/// How often the locks of each kind are taken, how often another thread has one at that moment, and for how long they
/// are held. Kinds are told apart by the type of the state.
///
/// It is part of a build with `-Xswiftc -DLOCK_STATISTICS` only, for `errand-bench --locks`.
package enum LockStatistics {
    /// What is known about the locks of one kind.
    package struct Kind: Sendable {
        package let name: String
        package let count, contended: Int
        /// The time for which one of them was held, in all.
        package let held: Duration
    }

    fileprivate final class Slot: Sendable {
        /// The address of the type; 0 in a slot that is free.
        let type = Atomic<UInt>(0)
        let count = Atomic(0), contended = Atomic(0), nanoseconds = Atomic(0)
    }

    /// A table of a fixed size, because a lock of its own would be the one that threads wait for.
    private static let slots = (0..<256).map { _ in Slot() }

    fileprivate static func slot(of type: Any.Type) -> Slot {
        let address = UInt(bitPattern: ObjectIdentifier(type))
        var index = Int((address >> 4) % UInt(slots.count))
        while true {
            let slot = slots[index]
            let (isTaken, found) = slot.type.compareExchange(
                expected: 0, desired: address, ordering: .sequentiallyConsistent)
            if isTaken || found == address { return slot }
            index = (index + 1) % slots.count
        }
    }

    /// All kinds that were used since the last reset.
    package static var kinds: [Kind] {
        slots.compactMap { slot in
            let count = slot.count.load(ordering: .relaxed)
            guard count > 0 else { return nil }
            let type = unsafeBitCast(slot.type.load(ordering: .relaxed), to: Any.Type.self)
            return Kind(
                name: String(reflecting: type), count: count, contended: slot.contended.load(ordering: .relaxed),
                held: .nanoseconds(slot.nanoseconds.load(ordering: .relaxed)))
        }
    }

    package static func reset() {
        for slot in slots {
            slot.count.store(0, ordering: .relaxed)
            slot.contended.store(0, ordering: .relaxed)
            slot.nanoseconds.store(0, ordering: .relaxed)
        }
    }
}

extension Mutex where Value: Sendable {
    /// Like `withLock`, and counts.
    borrowing func withCountedLock<Result: Sendable, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let slot = LockStatistics.slot(of: Value.self)
        func timed(_ state: inout Value) throws(Failure) -> Result {
            let begun = ContinuousClock.now
            defer {
                let held = begun.duration(to: .now)
                slot.nanoseconds.add(Int(held.components.attoseconds / 1_000_000_000), ordering: .relaxed)
            }
            return try body(&state)
        }
        slot.count.add(1, ordering: .relaxed)
        if let result = try withLockIfAvailable({ state throws(Failure) in try timed(&state) }) { return result }
        slot.contended.add(1, ordering: .relaxed)
        return try withLock { state throws(Failure) in try timed(&state) }
    }
}
#endif
