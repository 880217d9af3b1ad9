import Dispatch
@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Decoding a large response") struct DecodingTests {
    /// A list that is decoded only after `others` have ended, as a very large one would be.
    private struct SlowList: Decodable, Sendable {
        @TaskLocal static var others = OtherCalls()

        let rows: [Int]

        init(from decoder: any Decoder) throws {
            rows = try [Int](from: decoder)
            Self.others.decodingHasBegun()
            try Self.others.wait()
        }
    }

    /// Tells the other calls when to begin, and waits for their end; usable in a decoder, which cannot suspend.
    private final class OtherCalls: Sendable {
        struct NeverEnded: Error {}

        let begin = Flight<Void, ServiceError>()
        private let ended = DispatchSemaphore(value: 0)

        func decodingHasBegun() { begin.land(.success(())) }
        func haveEnded() { ended.signal() }

        func wait() throws {
            guard ended.wait(timeout: .now() + 60) == .success else { throw NeverEnded() }
        }
    }

    /// A thread that may block, so that the few threads of the task pool need not.
    private final class OwnThread: TaskExecutor {
        private let queue = DispatchQueue(label: "errand.test.decoding")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    @Test("three megabytes of it delay no other call of the client", .timeLimit(.minutes(2)))
    func delaysNobody() async throws {
        let numbers = (0..<450_000).map { String(1_000_000 + $0 % 10) }.joined(separator: ",")
        let network = scripted().on(.get, "/large", .json("[\(numbers)]")).on(.get, "/small", .json("1").times(100))
        let client = testClient(network, TestClock())
        let others = OtherCalls()
        async let large = SlowList.$others.withValue(others) {
            try await withTaskExecutorPreference(OwnThread()) { try await client.run(Endpoint<SlowList>.get("large")) }
        }
        try await others.begin.value()
        for _ in 0..<100 { #expect(try await client.run(Endpoint<Int>.get("small")) == 1) }
        others.haveEnded()
        #expect(try await large.rows.count == 450_000)
    }

    /// A number whose decoding takes as long as a closure, and during which that closure may stop the call.
    private struct Interrupted: Decodable, Sendable {
        @TaskLocal static var interrupt: @Sendable () -> Void = {}

        init(from decoder: any Decoder) throws {
            Self.interrupt()
        }
    }

    /// Returns the error of a call that is interrupted while it decodes.
    private func failure(
        _ client: APIClient, by interrupt: @escaping @Sendable () -> Void
    ) async -> ServiceError? {
        await #expect(throws: ServiceError.self) {
            try await Interrupted.$interrupt.withValue(interrupt) {
                try await client.run(Endpoint<Interrupted>.get("x"))
            }
        }
    }

    @Test("C20, C24: a call that is stopped while it decodes ends so, although the value is there")
    func stopped() async {
        let clock = TestClock()
        let client = testClient(scripted().on(.get, "/x", .json("1").times(3)), clock) { $0.deadline = .seconds(5) }
        #expect(await failure(client) { client.cancelAll() } == .cancelled)
        let limit = Timeout(.deadline, limit: .seconds(5), phase: .decoding)
        #expect(await failure(client) { clock.advance(by: .seconds(5)) } == .timedOut(limit))
        let task = Task { await failure(client) { withUnsafeCurrentTask { $0?.cancel() } } }
        #expect(await task.value == .cancelled)
    }
}
