import Errand
import ErrandTesting

/// A random number generator with a seed, for tests over many cases that must be reproducible.
package struct SeededRandom: RandomNumberGenerator {
    private let clock: TestClock

    package init(_ seed: UInt64) {
        clock = TestClock(seed: seed)
    }

    package func next() -> UInt64 { clock.random() }

    package mutating func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &self) < percent
    }

    package mutating func int(_ range: ClosedRange<Int>) -> Int {
        Int.random(in: range, using: &self)
    }
}
