import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("LatestOnly", .timeLimit(.minutes(10))) struct LatestOnlyTests {
    private let clock = TestClock()
    private let latest = LatestOnly()

    private func slow(_ value: Int, _ duration: Duration = .seconds(2)) async throws(ServiceError) -> Int {
        let clock = clock
        return try await latest.run {
            try await clock.sleep(for: duration)
            return value
        }
    }

    private func outcome(_ body: () async throws -> Int) async -> Result<Int, any Error> {
        do { return .success(try await body()) } catch { return .failure(error) }
    }

    @Test("a superseded operation ends with .cancelled at once; the last one wins")
    func overtaken() async throws {
        try await clock.run {
            var tasks: [Task<Int, any Error>] = []
            for index in 0..<3 {
                tasks.append(
                    Task(executorPreference: clock.executor) {
                        // The superseded operations would take longer than the last one.
                        try await slow(index, .seconds(index < 2 ? 60 : 2))
                    })
                try await clock.sleep(for: .seconds(1))
            }
            for task in tasks.dropLast() {
                await #expect(throws: ServiceError.cancelled) { try await task.value }
            }
            #expect(clock.elapsed == .seconds(3))
            #expect(try await tasks.last?.value == 2)
            #expect(clock.elapsed == .seconds(4))
            #expect(clock.sleepers == 0, "what was overtaken does not run on")
        }
    }

    @Test("an operation whose task is already canceled leaves the running one alone")
    func cancelledBefore() async throws {
        try await clock.run {
            async let running = slow(1)
            try await clock.sleep(for: .seconds(1))
            let late = Task(executorPreference: clock.executor) {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await slow(2)
            }
            await #expect(throws: ServiceError.cancelled) { try await late.value }
            #expect(try await running == 1)
        }
    }

    @Test("a result that has just arrived is dropped for a newer operation")
    func oldAnswer() async throws {
        try await clock.run {
            async let old = outcome { try await slow(1, .seconds(1)) }
            try await clock.sleep(until: .ms(500))
            // Both end at the same instant.
            async let new = slow(2, .milliseconds(500))
            let (first, second) = (await old, try await new)
            #expect(throws: ServiceError.cancelled) { try first.get() }
            #expect(second == 2)
        }
    }

    @Test("a value that exists when the operation is superseded is discarded")
    func valueThrownAway() async {
        let latest = latest
        await #expect(throws: ServiceError.cancelled) {
            _ = try await latest.run {
                latest.cancel()
                return 1
            }
        }
    }

    @Test("an error of another type is reported by the type's name, and a PagingError as the error of its call")
    func foreignErrors() async throws {
        struct Odd: Error {
            var secret = "hunter2"
        }
        let latest = latest
        let error = await #expect(throws: ServiceError.self) { try await latest.run { throw Odd() } }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .other && failure.message.hasSuffix("Odd"))
        #expect(!String(reflecting: failure).contains("hunter2"))
        let words = "the operation threw Swift.CancellationError"
        await #expect(throws: ServiceError.transport(TransportFailure(.other, words))) {
            try await latest.run { throw CancellationError() }
        }
        await #expect(throws: ServiceError.noInternetConnection) {
            try await latest.run { throw PagingError(.noInternetConnection, position: .start) }
        }
    }

    @Test("an error is the latest operation's own; cancel() ends the running one; the next one runs as usual")
    func errorsAndCancel() async throws {
        let latest = latest
        await #expect(throws: ServiceError.signInRequired) {
            try await latest.run { throw ServiceError.signInRequired }
        }
        try await clock.run {
            async let running = outcome { try await slow(1) }
            try await clock.sleep(for: .seconds(1))
            latest.cancel()
            latest.cancel()
            let outcome = await running
            #expect(throws: ServiceError.cancelled) { try outcome.get() }
            #expect(clock.elapsed == .seconds(1))
            #expect(try await slow(2) == 2)
        }
        #expect(clock.sleepers == 0)
    }

    @Test("cancelling the caller's task cancels the operation")
    func callerCancelled() async {
        await clock.run {
            let task = Task(executorPreference: clock.executor) { try await slow(1) }
            try? await clock.sleep(for: .seconds(1))
            task.cancel()
            await #expect(throws: ServiceError.cancelled) { try await task.value }
            #expect(clock.elapsed == .seconds(1))
        }
    }

    @Test("with a delay, only the last of several operations begins, and does so when the delay has passed")
    func delayed() async throws {
        let (clock, begun) = (clock, Noted<[Int]>([]))
        let latest = LatestOnly(after: .milliseconds(300), time: clock)
        try await clock.run {
            var tasks: [Task<Int, any Error>] = []
            for index in 0..<4 {
                tasks.append(
                    Task(executorPreference: clock.executor) {
                        try await latest.run {
                            begun.update { $0.append(index) }
                            try await clock.sleep(for: .seconds(1))
                            return index
                        }
                    })
                // The third begins, and is superseded while it runs.
                try await clock.sleep(for: .milliseconds(index == 2 ? 500 : 100))
            }
            for task in tasks.dropLast() { await #expect(throws: ServiceError.cancelled) { try await task.value } }
            #expect(clock.elapsed == .milliseconds(800))
            #expect(try await tasks.last?.value == 3)
            #expect(clock.elapsed == .milliseconds(2000))
        }
        #expect(begun.value == [2, 3])
        #expect(clock.sleepers == 0)
    }

    @Test("cancel() and a cancelled task end the delay at once")
    func delayCancelled() async {
        let clock = clock
        let latest = LatestOnly(after: .seconds(5), time: clock)
        await clock.run {
            let first = Task(executorPreference: clock.executor) { try await latest.run { 1 } }
            try? await clock.sleep(for: .seconds(1))
            latest.cancel()
            await #expect(throws: ServiceError.cancelled) { try await first.value }
            let second = Task(executorPreference: clock.executor) { try await latest.run { 2 } }
            try? await clock.sleep(for: .seconds(1))
            second.cancel()
            await #expect(throws: ServiceError.cancelled) { try await second.value }
            #expect(clock.elapsed == .seconds(2))
        }
    }
}
