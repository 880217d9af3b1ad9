@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Latch: one moment for many waiters", .timeLimit(.minutes(10))) struct LatchTests {
    @Test("all waiters go on in the order in which they came, and later ones at once")
    func opens() async throws {
        let (clock, latch, order) = (TestClock(), Latch(), Noted<[Int]>([]))
        try await clock.run {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<5 {
                    group.addTask {
                        if index.isMultiple(of: 2) {
                            await latch.opened()
                        } else {
                            try await latch.opened(in: CallScope())
                        }
                        order.update { $0.append(index) }
                    }
                }
                try await clock.sleep(for: .nanoseconds(1))
                #expect(latch.waiting == 5 && !latch.isOpen)
                #expect(latch.open() == 5)
                #expect(latch.open() == nil)
                try await group.waitForAll()
            }
            await latch.opened()
            try await latch.opened(in: CallScope())
        }
        #expect(order.value == [0, 1, 2, 3, 4])
        #expect(latch.isOpen && latch.waiting == 0)
    }

    @Test("a stop of the scope ends the wait with `.cancelled`, before or after it begins; an open latch counts first")
    func stops() async {
        let (clock, latch) = (TestClock(), Latch())
        await clock.run {
            for isEarly in [false, true] {
                let scope = CallScope()
                if isEarly { scope.stop(.signInRequired) }
                let task = Task(executorPreference: clock.executor) { try await latch.opened(in: scope) }
                try? await clock.sleep(for: .nanoseconds(1))
                #expect(latch.waiting == (isEarly ? 0 : 1))
                scope.stop(.signInRequired)
                let outcome = await task.result
                #expect(throws: ServiceError.cancelled) { try outcome.get() }
                #expect(latch.waiting == 0)
            }
            latch.open()
            let stopped = CallScope()
            stopped.stop(.signInRequired)
            await #expect(throws: Never.self) { try await latch.opened(in: stopped) }
        }
    }

    @Test("a canceled task stays where it waits for the moment itself")
    func stays() async {
        let (clock, latch) = (TestClock(), Latch())
        await clock.run {
            let task = Task(executorPreference: clock.executor) {
                await latch.opened()
                return clock.elapsed
            }
            task.cancel()
            try? await clock.sleep(for: .seconds(1))
            latch.open()
            #expect(await task.value == .seconds(1))
        }
    }
}
