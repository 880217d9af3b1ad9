import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Virtual time, advanced by the test", .timeLimit(.minutes(10))) struct TestClockTests {
    private let clock = TestClock()

    @Test("time stands still until the test advances it, and never goes back")
    func standsStill() async {
        #expect(clock.now == .zero)
        await clock.advance(by: .seconds(3))
        await clock.advance(by: .seconds(-2))
        #expect(clock.elapsed == .seconds(3))
        #expect(clock.now == Instant.zero.advanced(by: .seconds(3)))
    }

    @Test("alarms fire in order, each at its own instant, including those that are set by others")
    func order() async {
        let clock = clock
        let fired = Noted<[String]>([])
        let note = { @Sendable (name: String) in fired.update { $0.append("\(name) \(clock.elapsed)") } }
        for (name, seconds) in [("c", 3), ("a", 1), ("b", 2), ("a2", 1)] {
            _ = clock.schedule(at: Instant.zero.advanced(by: .seconds(seconds)), for: .watch) {
                note(name)
                guard name == "b" else { return }
                _ = clock.schedule(at: clock.now.advanced(by: .milliseconds(500)), for: .watch) { note("late") }
            }
        }
        await clock.advance(by: .seconds(1))
        #expect(fired.value == ["a 1.0 seconds", "a2 1.0 seconds"])
        await clock.advance(by: .seconds(5))
        #expect(fired.value.dropFirst(2) == ["b 2.0 seconds", "late 2.5 seconds", "c 3.0 seconds"])
        #expect(clock.elapsed == .seconds(6))
    }

    @Test("a cancelled alarm does not fire; an alarm in the past fires when time is next advanced")
    func takenBack() async {
        let fired = Noted(0)
        await clock.advance(by: .seconds(1))
        let alarm = clock.schedule(at: clock.now.advanced(by: .seconds(1)), for: .sleeper) { fired.update { $0 += 1 } }
        #expect(clock.sleepers == 1)
        alarm.cancel()
        alarm.cancel()
        #expect(clock.sleepers == 0)
        _ = clock.schedule(at: .zero, for: .watch) { fired.update { $0 += 10 } }
        #expect(fired.value == 0)
        await clock.advance(by: .zero)
        #expect(fired.value == 10)
        #expect(clock.elapsed == .seconds(1))
    }

    @Test("a test can wait until a number of tasks sleep, and then advance time")
    func sleepers() async throws {
        let clock = clock
        let tasks = (1...3).map { index in
            Task {
                try await clock.sleep(for: .seconds(index))
                return clock.elapsed
            }
        }
        await clock.sleepers(atLeast: 3)
        await clock.sleepers(atLeast: 1)
        #expect(clock.sleepers == 3)
        await clock.advance(by: .seconds(1))
        #expect(try await tasks[0].value == .seconds(1))
        #expect(clock.sleepers == 2)
        tasks[2].cancel()
        await #expect(throws: ServiceError.cancelled) { try await tasks[2].value }
        #expect(clock.sleepers == 1)
        await clock.advance(by: .seconds(10))
        #expect(try await tasks[1].value >= .seconds(2))
    }

    @Test("a call does all that it can do at one instant before time advances to the next", arguments: 0..<30)
    func settled(round: Int) async throws {
        let (clock, network) = (TestClock(), ScriptedTransport())
        network.on(.get, "/friends", .status(503, headers: ["Retry-After": "2"]).times(2), .json("[]"))
        let client = testClient(network, clock)
        let friends = Task { try await client.run(Endpoint<[String]>.get("friends")) }
        await network.sent(atLeast: 1)
        await clock.advance(by: .seconds(10))
        #expect(network.sent.map { Instant.zero.duration(to: $0.at) } == [.zero, .seconds(2), .seconds(4)])
        #expect(try await friends.value == [])
    }

    @Test("calls run one at a time, on the clock's thread")
    func thread() async throws {
        let (clock, network) = (TestClock(), ScriptedTransport())
        let running = Noted((now: 0, most: 0))
        network.on(.get, "/friends", times: 50) { _ in
            running.update { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            usleep(200)
            running.update { $0.now -= 1 }
            return .status(204)
        }
        let client = testClient(network, clock)
        try await withThrowingTaskGroup(of: Void.self) { calls in
            for _ in 0..<50 { calls.addTask { try await client.run(.get("friends")) } }
            try await calls.waitForAll()
        }
        #expect(running.value.most == 1)
    }

    @Test("a wait for sleepers ends when its task is cancelled, before it begins or after")
    func cancelledWait() async {
        let clock = clock
        let tasks = (0..<20).map { _ in Task { await clock.sleepers(atLeast: 1) } }
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    @Test("the wall clock advances too, and setting it does not advance time")
    func date() async {
        let start = clock.date
        #expect(start == Date(timeIntervalSince1970: 1_000_000_000))
        await clock.advance(by: .milliseconds(2500))
        #expect(clock.date.timeIntervalSince(start) == 2.5)
        clock.date = Date(timeIntervalSince1970: 10)
        #expect(clock.date == Date(timeIntervalSince1970: 10))
        #expect(clock.elapsed == .milliseconds(2500))
        await clock.advance(by: .seconds(1))
        #expect(clock.date == Date(timeIntervalSince1970: 11))
    }
}

@Suite("The autopilot") struct AutopilotTests {
    @Test("time jumps from alarm to alarm, and stops where the body ends")
    func jumps() async throws {
        let clock = TestClock()
        let fired = Noted(0)
        _ = clock.schedule(at: Instant.zero.advanced(by: .seconds(4000)), for: .watch) { fired.update { $0 += 1 } }
        for round in 1...20 {
            try await clock.run {
                async let short: Void = clock.sleep(for: .seconds(1))
                async let long: Void = clock.sleep(for: .seconds(100))
                try await short
                try await long
            }
            #expect(clock.elapsed == .seconds(100 * round))
        }
        #expect(fired.value == 0)
    }

    @Test("time does not advance while the body has something to do, from its beginning on")
    func bodyOnStage() async throws {
        let clock = TestClock()
        try await clock.run {
            async let sleep: Void = clock.sleep(for: .seconds(10))
            // Long enough for the child to fall asleep, and for time to advance, if it wrongly could.
            let isStill = (0..<100_000).allSatisfy { _ in clock.elapsed == .zero }
            #expect(isStill)
            try await sleep
        }
        #expect(clock.elapsed == .seconds(10))
    }

    @Test("errors are rethrown, and so is a cancellation")
    func errors() async {
        let clock = TestClock()
        await #expect(throws: ServiceError.signInRequired) {
            try await clock.run { throw ServiceError.signInRequired }
        }
        let task = Task { try await clock.run { try await clock.sleep(until: .distantFuture) } }
        task.cancel()
        await #expect(throws: ServiceError.cancelled) { try await task.value }
        #expect(clock.sleepers == 0)
    }

    private static func order(seed: UInt64) async -> [Int] {
        let (clock, order) = (TestClock(seed: seed), Noted<[Int]>([]))
        await clock.run {
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<20 {
                    group.addTask {
                        try? await clock.sleep(for: .seconds(1))
                        order.update { $0.append(index) }
                        await Task.yield()
                        order.update { $0.append(100 + index) }
                    }
                }
            }
        }
        return order.value
    }

    @Test("the same seed gives the same order, another seed another; without one, the order is that of becoming ready")
    func seeds() async {
        var orders: Set<[Int]> = []
        for seed in UInt64(1)...10 {
            let order = await Self.order(seed: seed)
            #expect(await Self.order(seed: seed) == order)
            orders.insert(order)
        }
        #expect(orders.count == 10)
        let plain = await Self.order(seed: 0)
        #expect(plain == Array(0..<20) + Array(100..<120) || plain.filter { $0 < 100 } == Array(0..<20))
    }

    @Test("random numbers follow from the seed")
    func randomNumbers() {
        let numbers = (0..<20).map { seed in
            let clock = TestClock(seed: UInt64(seed))
            return [clock.random(), clock.random()]
        }
        #expect(Set(numbers).count == 20)
        let again = TestClock(seed: 7)
        #expect([again.random(), again.random()] == numbers[7])
    }

    @Test("twenty thousand sleeping tasks wake, each at its time")
    func many() async throws {
        let clock = TestClock()
        try await clock.run {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<20_000 {
                    group.addTask { try await clock.sleep(for: .milliseconds(index)) }
                }
                try await group.waitForAll()
            }
        }
        #expect(clock.elapsed == .milliseconds(19_999))
    }
}
