import Foundation

/// How the time of an operation grows with the size of its input.
///
/// It counts the time that the thread itself has used, so that other threads do not matter, and takes the least of
/// several runs, because a run can only be slower than the operation is by itself. Small and large inputs take turns.
package enum Growth {
    /// The seconds of work after which a factor above its limit counts: a busy neighbor of the processor, which shares
    /// its caches, delays each run for as long as it is there.
    private static let longest = 10.0

    /// Returns how many times as long the operation takes with four times the input; zero if even that takes no more
    /// than `negligible` seconds, which has no meaningful factor.
    ///
    /// What delays a run, such as a page fault, delays a few: the runs end as soon as the factor is at most `limit`,
    /// and go on for ten seconds of work otherwise. A time that grows with the square stays above any limit below
    /// sixteen.
    package static func factor<Input>(
        _ input: (_ size: Int) -> Input, size: Int, upTo limit: Double, ignoring negligible: Double = 0,
        _ operation: (Input) -> Void
    ) -> Double {
        let (small, large) = (input(size), input(4 * size))
        // The first run also prepares what is made only once.
        operation(small)
        var (least, leastOfLarge, worked) = (Double.infinity, Double.infinity, 0.0)
        var rounds = 0
        while rounds < 60 || worked < longest {
            rounds += 1
            let (one, other) = (seconds { operation(small) }, seconds { operation(large) })
            (least, leastOfLarge, worked) = (min(least, one), min(leastOfLarge, other), worked + one + other)
            if leastOfLarge <= negligible { return 0 }
            if rounds > 1, leastOfLarge / least <= limit { break }
        }
        return leastOfLarge / least
    }

    /// Returns the seconds that this thread has been running while it called the closure.
    package static func seconds(_ body: () -> Void) -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let start = now()
        body()
        return now() - start
    }
}
