@testable import Errand
import ErrandTestSupport
import Testing

/// Real time, so the bounds are generous: the tests check that nothing fires early or is forgotten.
@Suite("The system clock", .timeLimit(.minutes(10))) struct SystemTimeTests {
    /// An instance of its own: in the shared one, other alarms would wake an alarm that was forgotten.
    private let time = SystemTime()

    @Test("a sleep takes as long as it should, and time never goes back")
    func sleep() async throws {
        let start = time.now
        try await time.sleep(for: .milliseconds(20))
        #expect(start.duration(to: time.now) >= .milliseconds(20))
        #expect(start.duration(to: time.now) < .seconds(600))
        #expect(time.now <= time.now)
        #expect(time.random() != time.random())
    }

    @Test("an earlier alarm that is set later fires first; one that is cancelled never does")
    func order() async throws {
        // Ten times as long each time, until the machine sets all alarms before the first is due. Then their order is
        // certain, however late they fire.
        for unit in [10, 100, 1000, 10_000].map({ Duration.milliseconds($0) }) {
            let fired = Noted<[Int]>([])
            let last = Latch()
            let start = time.now
            func set(_ number: Int, after units: Int) -> Alarm {
                time.schedule(at: start.advanced(by: unit * units), for: .watch) {
                    fired.update { $0.append(number) }
                    if number == 3 { last.open() }
                }
            }
            _ = set(3, after: 4)
            _ = set(1, after: 2)
            set(0, after: 1).cancel()
            _ = set(2, after: 3)
            let isInTime = time.now < start.advanced(by: unit)
            try await last.opened(in: CallScope())
            guard isInTime else { continue }
            #expect(fired.value == [1, 2, 3])
            return
        }
        Issue.record("the machine has not set four alarms within ten seconds")
    }

    @Test(
        "an instant in the far future does not come at once",
        arguments: [Duration.seconds(9_000_000_000), .seconds(9_223_372_035), .seconds(Int64.max)])
    func farAway(duration: Duration) async throws {
        let hasFired = Noted(false)
        let alarm = time.schedule(at: time.now.advanced(by: duration), for: .watch) {
            hasFired.value = true
        }
        try await time.sleep(for: .milliseconds(20))
        #expect(!hasFired.value)
        alarm.cancel()
    }

    @Test("a cancelled sleep ends at once, also if it is cancelled before it begins")
    func cancelled() async {
        let task = Task { [time] in try await time.sleep(until: .distantFuture) }
        task.cancel()
        let outcome = await task.result
        #expect(throws: ServiceError.cancelled) { try outcome.get() }
    }

    @Test("a thousand sleeps at once all end")
    func many() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<1000 {
                group.addTask { [time] in try await time.sleep(for: .milliseconds(index % 17)) }
            }
            try await group.waitForAll()
        }
    }

    @Test("a distant alarm does not delay a near one")
    func near() async throws {
        let far = time.schedule(at: time.now.advanced(by: .seconds(3600)), for: .watch) {}
        let latch = Latch()
        _ = time.schedule(at: time.now.advanced(by: .milliseconds(10)), for: .watch) { latch.open() }
        try await latch.opened(in: CallScope())
        far.cancel()
    }
}
