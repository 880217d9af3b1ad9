import Errand
import ErrandSimulation

/// A hundred thousand waiters of a limiter, half of them canceled at random, in virtual time.
enum LimiterBench {
    private static let waiters = 100_000
    private static let limit = 100

    static func run(into report: inout Report) async throws {
        let clock = TestClock { print($0) }
        let limiter = RateLimiter(.requests(limit, per: .seconds(1)), time: clock)
        let served = Grants()
        var random = SystemRandomNumberGenerator()
        let quitters = Set((0..<waiters).shuffled(using: &random).prefix(waiters / 2))
        let time = await seconds {
            await clock.run {
                await withTaskGroup(of: Void.self) { group in
                    let tasks = (0..<waiters).map { number in
                        Task(executorPreference: clock.executor) {
                            guard (try? await limiter.acquire()) != nil else { return }
                            served.add(number, at: clock.now)
                        }
                    }
                    await clock.sleepers(atLeast: waiters - limit)
                    for number in quitters { tasks[number].cancel() }
                    for task in tasks { await task.value }
                }
            }
        }
        let grants = served.all
        let late = grants.dropFirst(limit)
        let isPaced = zip(late, grants).allSatisfy { $1.at.duration(to: $0.at) >= .seconds(1) }
        // The first are served before anything is canceled; of the others, exactly those are served that were not
        // canceled.
        let expected = (0..<waiters).filter { $0 < limit || !quitters.contains($0) }
        report.add("limiter.waiters", .count(waiters), "waiters in the line of one limiter, half of them cancelled")
        report.add("limiter.seconds", .number(time), "seconds until the last was served, in virtual time")
        report.add(
            "limiter.in_order", .truth(grants.map(\.number) == expected && isPaced),
            "all served in order, exactly, within the limit")
    }
}

/// The waiters that were served, and when.
private final class Grants: Sendable {
    private let grants = Lock<[(number: Int, at: Instant)]>([])

    var all: [(number: Int, at: Instant)] { grants.withLock { $0 } }

    func add(_ number: Int, at instant: Instant) {
        grants.withLock { $0.append((number, instant)) }
    }
}
