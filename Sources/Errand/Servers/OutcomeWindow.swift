/// How many requests of the last while have failed. It forgets a tenth of that time at once.
struct OutcomeWindow: Sendable, Hashable {
    private static let slots = 10

    private struct Slot: Sendable, Hashable {
        var number = Int64.min
        var sends = 0
        var failures = 0
    }

    private let width: Int64
    private var slots = Array(repeating: Slot(), count: OutcomeWindow.slots)

    init(_ length: Duration) {
        width = max(1, length.wholeNanoseconds / Int64(Self.slots))
    }

    private func number(at now: Instant) -> Int64 { now.nanoseconds / width }

    /// Counts a request that ended then.
    mutating func note(failed: Bool, at now: Instant) {
        let number = number(at: now)
        let index = Int(number.magnitude % UInt64(Self.slots))
        if slots[index].number != number { slots[index] = Slot(number: number) }
        slots[index].sends += 1
        if failed { slots[index].failures += 1 }
    }

    /// Returns how many requests ended in the time before that instant, and how many of them failed.
    func counts(at now: Instant) -> (sends: Int, failures: Int) {
        let last = number(at: now)
        return slots.reduce((0, 0)) { sum, slot in
            guard slot.number <= last, slot.number > last - Int64(Self.slots) else { return sum }
            return (sum.0 + slot.sends, sum.1 + slot.failures)
        }
    }

    /// Forgets everything.
    mutating func clear() {
        slots = Array(repeating: Slot(), count: Self.slots)
    }
}
