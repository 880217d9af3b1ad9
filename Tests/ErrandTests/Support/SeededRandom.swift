import Errand
import ErrandTesting

/// A random number generator with a seed, for tests over many cases that must be reproducible.
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
    /// Creates an instant from a number of milliseconds.
    static func ms(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }
}
