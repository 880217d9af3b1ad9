@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("An operation on a leash") struct LeashTests {
    private let clock = TestClock()

    @Test("it brings its value or its error; a stop after the end does nothing")
    func ends() async throws {
        let leash = Leash()
        #expect(try await leash.run { () async throws(ServiceError) in 3 } == 3)
        leash.stop(.signInRequired)
        await #expect(throws: ServiceError.noInternetConnection) {
            try await Leash().run { () async throws(ServiceError) in throw ServiceError.noInternetConnection }
        }
    }

    @Test("stopped before it begins, it never does")
    func before() async {
        let (leash, hasBegun) = (Leash(), Noted(false))
        leash.stop(.signInRequired)
        leash.stop(.cancelled)
        await #expect(throws: ServiceError.signInRequired) {
            try await leash.run { () async throws(ServiceError) in hasBegun.value = true }
        }
        #expect(!hasBegun.value)
    }

    @Test("stopped while it runs, it is cancelled and waited for, and the first reason is the error")
    func during() async {
        let (leash, isOver) = (Leash(), Noted(false))
        await clock.run {
            async let outcome = Result(of: { () async throws(ServiceError) in
                try await leash.run { () async throws(ServiceError) -> Int in
                    defer { isOver.value = true }
                    try await clock.sleep(for: .seconds(10))
                    return 1
                }
            })
            try? await clock.sleep(for: .seconds(1))
            leash.stop(.signInRequired)
            leash.stop(.noInternetConnection)
            #expect(await outcome == .failure(.signInRequired))
            #expect(isOver.value)
            #expect(clock.elapsed == .seconds(1))
        }
        #expect(clock.sleepers == 0)
    }

    @Test("a value that was there before the stop took effect is kept")
    func keepsValue() async {
        let leash = Leash()
        await clock.run {
            async let outcome = Result(of: { () async throws(ServiceError) in
                try await leash.run { () async throws(ServiceError) -> Int in
                    // It does not care for a cancellation.
                    _ = await Result(of: { () async throws(ServiceError) in try await clock.sleep(for: .seconds(5)) })
                    return 9
                }
            })
            try? await clock.sleep(for: .seconds(1))
            leash.stop(.signInRequired)
            #expect(await outcome == .success(9))
        }
    }

    @Test("held, it listens while it waits; the reason of a stop is its error, and a value that came first is kept")
    func held() async throws {
        for stopsEarly in [true, false] {
            let (leash, flight) = (Leash(), Flight<Int>())
            await clock.run {
                async let outcome = Result(of: { () async throws(ServiceError) in
                    try await leash.hold { (leash: Leash) async throws(ServiceError) -> Int in
                        try? await clock.sleep(for: .milliseconds(500))
                        return try await flight.value(on: leash)
                    }
                })
                try? await clock.sleep(for: stopsEarly ? .milliseconds(100) : .seconds(1))
                leash.stop(.signInRequired)
                #expect(await outcome == .failure(.signInRequired))
            }
            #expect(flight.waiting == 0)
        }
        let leash = Leash()
        let value = try await leash.hold { (leash: Leash) async throws(ServiceError) -> Int in
            leash.stop(.signInRequired)
            return 7
        }
        #expect(value == 7)
    }

    @Test("one that has stopped listening is not called any more")
    func listenerLeaves() async {
        let (leash, calls) = (Leash(), Noted(0))
        await leash.listen {
        } onStop: {
            calls.value += 1
        }
        leash.stop(.signInRequired)
        #expect(calls.value == 0)
        await leash.listen {
        } onStop: {
            calls.value += 1
        }
        #expect(calls.value == 1)
    }

    @Test("held, it may put a child on the same leash, twice, and each is stopped")
    func heldWithChildren() async {
        let (leash, children) = (Leash(), Noted(0))
        await clock.run {
            async let outcome = Result(of: { () async throws(ServiceError) in
                try await leash.hold { (leash: Leash) async throws(ServiceError) in
                    for pause in [Duration.milliseconds(100), .seconds(100)] {
                        children.value += 1
                        try await leash.run { () async throws(ServiceError) in try await clock.sleep(for: pause) }
                    }
                }
            })
            try? await clock.sleep(for: .seconds(1))
            leash.stop(.signInRequired)
            let result = await outcome
            #expect(throws: ServiceError.signInRequired) { try result.get() }
            #expect(clock.elapsed == .seconds(1))
        }
        #expect(children.value == 2)
    }

    @Test("held, a cancellation of the caller reaches what listens", arguments: UInt64(0)..<10)
    func heldCancelled(seed: UInt64) async {
        let (clock, flight) = (TestClock(seed: seed), Flight<Int>())
        await clock.run {
            let task = Task(executorPreference: clock.executor) {
                try await Leash().hold { (leash: Leash) async throws(ServiceError) in try await flight.value(on: leash)
                }
            }
            if seed % 2 == 0 { try? await clock.sleep(for: .seconds(1)) }
            task.cancel()
            let outcome = await task.result
            #expect(throws: ServiceError.cancelled) { try outcome.get() }
        }
        #expect(flight.waiting == 0)
    }

    @Test("a cancellation of the caller reaches it", arguments: UInt64(0)..<10)
    func cancelled(seed: UInt64) async {
        let clock = TestClock(seed: seed)
        await clock.run {
            let task = Task(executorPreference: clock.executor) {
                try await Leash().run { () async throws(ServiceError) in
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

    @Test("stops and ends that meet on many threads leave nobody waiting")
    func race() async {
        for _ in 0..<200 {
            let (leash, flight) = (Leash(), Flight<Int>())
            async let outcome = Result(of: { () async throws(ServiceError) in
                try await leash.run { () async throws(ServiceError) in try await flight.value() }
            })
            await withTaskGroup(of: Void.self) { group in
                group.addTask { leash.stop(.signInRequired) }
                group.addTask { _ = flight.land(.success(1)) }
            }
            let result = await outcome
            #expect(result == .success(1) || result == .failure(.signInRequired))
        }
    }
}
