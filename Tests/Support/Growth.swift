import Foundation

/// How the time of an operation grows with the size of its input.
///
/// It counts the time that the thread itself has used, so that other threads do not matter, and takes the least of
/// several runs, because a run can only be slower than the operation is by itself. Small and large inputs take turns.
package enum Growth {
    /// Returns how many times as long the operation takes with four times the input.
    ///
    /// What delays a run, such as a page fault or a busy neighbor of the processor, delays a few: the runs end as soon
    /// as the factor is at most `limit`, and go on for two seconds at least. A time that grows with the square stays
    /// above any limit below sixteen.
    package static func factor<Input>(
        _ input: (_ size: Int) -> Input, size: Int, upTo limit: Double, _ operation: (Input) -> Void
    ) -> Double {
        let (small, large) = (input(size), input(4 * size))
        // The first run also prepares what is made only once.
        operation(small)
        var (least, leastOfLarge) = (Double.infinity, Double.infinity)
        var rounds = 0
        let start = ContinuousClock.now
        while rounds < 60 || ContinuousClock.now - start < .seconds(2) {
            rounds += 1
            least = min(least, seconds { operation(small) })
            leastOfLarge = min(leastOfLarge, seconds { operation(large) })
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
