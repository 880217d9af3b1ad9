@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("An operation in a StopScope", .timeLimit(.minutes(10))) struct StopScopeTests {
    private let clock = TestClock()

    @Test("it returns its value or its error; a stop after the end does nothing")
    func ends() async throws {
        let scope = CallScope()
        #expect(try await scope.runInChild { () async throws(ServiceError) in 3 } == 3)
        scope.stop(.signInRequired)
        await #expect(throws: ServiceError.noInternetConnection) {
            try await CallScope().runInChild { () async throws(ServiceError) in throw ServiceError.noInternetConnection
            }
        }
    }

    @Test("an operation that is stopped before it begins never runs")
    func before() async {
        let (scope, hasBegun) = (CallScope(), Noted(false))
        scope.stop(.signInRequired)
        scope.stop(.cancelled)
        await #expect(throws: ServiceError.signInRequired) {
            try await scope.runInChild { () async throws(ServiceError) in hasBegun.value = true }
        }
        #expect(!hasBegun.value)
    }

    @Test("stopped while it runs, it is cancelled and awaited, and the first reason is the error")
    func during() async {
        let (scope, isOver) = (CallScope(), Noted(false))
        await clock.run {
            async let outcome = Result(of: { () async throws(ServiceError) in
                try await scope.runInChild { () async throws(ServiceError) -> Int in
                    defer { isOver.value = true }
                    try await clock.sleep(for: .seconds(10))
                    return 1
                }
            })
            try? await clock.sleep(for: .seconds(1))
            scope.stop(.signInRequired)
            scope.stop(.noInternetConnection)
            #expect(await outcome == .failure(.signInRequired))
            #expect(isOver.value)
            #expect(clock.elapsed == .seconds(1))
        }
        #expect(clock.sleepers == 0)
    }

    @Test("a value that exists before the stop takes effect is kept")
    func keepsValue() async {
        let scope = CallScope()
        await clock.run {
            async let outcome = Result(of: { () async throws(ServiceError) in
                try await scope.runInChild { () async throws(ServiceError) -> Int in
                    // This operation ignores its cancellation.
                    _ = await Result(of: { () async throws(ServiceError) in try await clock.sleep(for: .seconds(5)) })
                    return 9
                }
            })
            try? await clock.sleep(for: .seconds(1))
            scope.stop(.signInRequired)
            #expect(await outcome == .success(9))
        }
    }

    @Test(
        "in the caller's task it listens while it waits; the reason of a stop is its error, an earlier value is kept"
    )
    func inCallersTask() async throws {
        for stopsEarly in [true, false] {
            let (scope, promise) = (CallScope(), Promise<Int, ServiceError>())
            await clock.run {
                async let outcome = Result(of: { () async throws(ServiceError) in
                    try await scope.run { (scope: CallScope) async throws(ServiceError) -> Int in
                        try? await clock.sleep(for: .milliseconds(500))
                        return try await promise.value(in: scope)
                    }
                })
                try? await clock.sleep(for: stopsEarly ? .milliseconds(100) : .seconds(1))
                scope.stop(.signInRequired)
                #expect(await outcome == .failure(.signInRequired))
            }
            #expect(promise.waiting == 0)
        }
        let scope = CallScope()
        let value = try await scope.run { (scope: CallScope) async throws(ServiceError) -> Int in
            scope.stop(.signInRequired)
            return 7
        }
        #expect(value == 7)
    }

    @Test("an operation that has stopped listening is not called any more")
    func listenerLeaves() async {
        let (scope, calls) = (CallScope(), Noted(0))
        await scope.wait {
        } onStop: {
            calls.value += 1
        }
        scope.stop(.signInRequired)
        #expect(calls.value == 0)
        await scope.wait {
        } onStop: {
            calls.value += 1
        }
        #expect(calls.value == 1)
    }

    @Test("it may run children in the same scope, one after the other, and each is stopped")
    func children() async {
        let (scope, children) = (CallScope(), Noted(0))
        await clock.run {
            async let outcome = Result(of: { () async throws(ServiceError) in
                try await scope.run { (scope: CallScope) async throws(ServiceError) in
                    for pause in [Duration.milliseconds(100), .seconds(100)] {
                        children.value += 1
                        try await scope.runInChild { () async throws(ServiceError) in try await clock.sleep(for: pause)
                        }
                    }
                }
            })
            try? await clock.sleep(for: .seconds(1))
            scope.stop(.signInRequired)
            let result = await outcome
            #expect(throws: ServiceError.signInRequired) { try result.get() }
            #expect(clock.elapsed == .seconds(1))
        }
        #expect(children.value == 2)
    }

    @Test("in the caller's task, a cancellation reaches the listener", arguments: UInt64(0)..<10)
    func cancelledInCallersTask(seed: UInt64) async {
        let (clock, promise) = (TestClock(seed: seed), Promise<Int, ServiceError>())
        await clock.run {
            let task = Task(executorPreference: clock.executor) {
                try await CallScope().run { (scope: CallScope) async throws(ServiceError) in
                    try await promise.value(in: scope)
                }
            }
            if seed % 2 == 0 { try? await clock.sleep(for: .seconds(1)) }
            task.cancel()
            let outcome = await task.result
            #expect(throws: ServiceError.cancelled) { try outcome.get() }
        }
        #expect(promise.waiting == 0)
    }

    @Test("a cancellation of the caller reaches it", arguments: UInt64(0)..<10)
    func cancelled(seed: UInt64) async {
        let clock = TestClock(seed: seed)
        await clock.run {
            let task = Task(executorPreference: clock.executor) {
                try await CallScope().runInChild { () async throws(ServiceError) in
                    try await clock.sleep(until: .distantFuture)
                }
            }
            if seed % 2 == 0 { try? await clock.sleep(for: .seconds(1)) }
            task.cancel()
            let outcome = await task.result
            #expect(throws: ServiceError.cancelled) { try outcome.get() }
        }
        #expect(clock.sleepers == 0)
    }

    @Test("stops and ends that coincide on many threads leave no task waiting")
    func race() async {
        for _ in 0..<200 {
            let (scope, promise) = (CallScope(), Promise<Int, ServiceError>())
            async let outcome = Result(of: { () async throws(ServiceError) in
                try await scope.runInChild { () async throws(ServiceError) in try await promise.value() }
            })
            await withTaskGroup(of: Void.self) { group in
                group.addTask { scope.stop(.signInRequired) }
                group.addTask { _ = promise.complete(.success(1)) }
            }
            let result = await outcome
            #expect(result == .success(1) || result == .failure(.signInRequired))
        }
    }
}
