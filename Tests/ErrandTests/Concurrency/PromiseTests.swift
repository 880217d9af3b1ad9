@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Promise: one result for many waiters", .timeLimit(.minutes(10))) struct PromiseTests {
    @Test("all waiters get the result, and continue in the order in which they came", arguments: UInt64(0)..<20)
    func completes(seed: UInt64) async throws {
        let (clock, promise, order) = (TestClock(seed: seed), Promise<Int, ServiceError>(), Noted<[Int]>([]))
        try await clock.run {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<5 {
                    group.addTask {
                        let value = try await promise.value()
                        #expect(value == 7)
                        order.update { $0.append(index) }
                    }
                }
                try await clock.sleep(for: .nanoseconds(1))
                #expect(promise.waiting == 5)
                #expect(promise.complete(.success(7)) == 5)
                #expect(promise.complete(.failure(.signInRequired)) == nil)
                try await group.waitForAll()
            }
            #expect(try await promise.value() == 7)
        }
        #expect(order.value.sorted() == [0, 1, 2, 3, 4])
        // Any other seed shuffles tasks that are ready at once.
        if seed == 0 { #expect(order.value == [0, 1, 2, 3, 4]) }
        #expect(promise.waiting == 0)
        #expect(promise.outcome == .success(7))
    }

    @Test("the first waiter leaves and a third joins: those who are left continue in the order in which they came")
    func firstLeaves() async throws {
        let (clock, promise, order) = (TestClock(), Promise<Int, ServiceError>(), Noted<[Int]>([]))
        @Sendable func join(_ index: Int) async -> Task<Void, any Error> {
            let task = Task(executorPreference: clock.executor) {
                _ = try await promise.value()
                order.update { $0.append(index) }
            }
            try? await clock.sleep(for: .nanoseconds(1))
            return task
        }
        try await clock.run {
            let first = await join(1)
            let second = await join(2)
            first.cancel()
            await #expect(throws: ServiceError.cancelled) { try await first.value }
            let third = await join(3)
            #expect(promise.complete(.success(7)) == 2)
            try await second.value
            try await third.value
        }
        #expect(order.value == [2, 3])
    }

    @Test("a cancelled waiter leaves at once, and does not affect the others", arguments: UInt64(0)..<20)
    func leaves(seed: UInt64) async throws {
        let (clock, promise) = (TestClock(seed: seed), Promise<Int, ServiceError>())
        await clock.run {
            let tasks = (0..<10).map { _ in
                Task(executorPreference: clock.executor) { () async throws(ServiceError) in try await promise.value() }
            }
            // Some are cancelled before they begin to wait, some after.
            for task in tasks[0..<3] { task.cancel() }
            try? await clock.sleep(for: .nanoseconds(1))
            #expect(promise.waiting == 7)
            for task in tasks[3..<6] { task.cancel() }
            for task in tasks[0..<6] {
                let outcome = await task.result
                #expect(throws: ServiceError.cancelled) { try outcome.get() }
            }
            #expect(promise.complete(.success(1)) == 4)
            for task in tasks[6...] { #expect(await (try? task.value) == 1) }
        }
    }

    @Test("cancelled and completed at once, on many threads: each waiter continues exactly once")
    func race() async {
        for _ in 0..<200 {
            let promise = Promise<Int, ServiceError>()
            let tasks = (0..<8).map { _ in Task { () async throws(ServiceError) in try await promise.value() } }
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for task in tasks[0..<4] { task.cancel() } }
                group.addTask { _ = promise.complete(.success(1)) }
            }
            for task in tasks {
                switch await task.result {
                case .success(let value): #expect(value == 1)
                case .failure(let error): #expect(error as? ServiceError == .cancelled)
                }
            }
            #expect(promise.waiting == 0)
        }
    }

    @Test("a task that waits for the completion itself stays, cancelled or not, whatever the result")
    func completion() async {
        let (clock, promise) = (TestClock(), Promise<Int, ServiceError>())
        await clock.run {
            let task = Task(executorPreference: clock.executor) {
                await promise.completion()
                return clock.elapsed
            }
            task.cancel()
            try? await clock.sleep(for: .seconds(1))
            #expect(promise.waiting == 1)
            promise.complete(.failure(.signInRequired))
            #expect(await task.value == .seconds(1))
        }
    }
}
