import Errand
import ErrandTesting

/// Random numbers that follow from a seed, for tests over many cases that must fail the same way twice.
struct SeededRandom: RandomNumberGenerator {
    private let clock: TestClock

    init(_ seed: UInt64) {
        clock = TestClock(seed: seed)
    }

    func next() -> UInt64 { clock.random() }

    mutating func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &self) < percent
    }

    mutating func int(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &self)
    }
}

extension Instant {
    /// An instant that is written as a number of milliseconds.
    static func ms(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }
}
