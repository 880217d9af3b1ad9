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

    /// Lets the other calls begin, and waits for their end; usable in a decoder, which cannot suspend.
    private final class OtherCalls: Sendable {
        struct NeverEnded: Error {}

        let begin = Latch()
        private let ended = DispatchSemaphore(value: 0)

        func decodingHasBegun() { begin.open() }
        func haveEnded() { ended.signal() }

        func wait() throws {
            guard ended.wait(timeout: .now() + 600) == .success else { throw NeverEnded() }
        }
    }

    @Test("three megabytes of it delay no other call of the client", .timeLimit(.minutes(10)))
    func delaysNoCall() async throws {
        let numbers = String(repeating: "1000000,", count: 449_999) + "1000007"
        let network = scripted().on(.get, "/large", .json("[\(numbers)]")).on(.get, "/small", .json("1").times(100))
        // In virtual time all calls would run on one thread.
        let client = testClient(network) { $0.time = .system }
        let others = OtherCalls()
        async let large = SlowList.$others.withValue(others) {
            try await OwnThread.run { try await client.run(Endpoint<SlowList>.get("large")) }
        }
        try await others.begin.opened(in: CallScope())
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
        #expect(await failure(client) { clock.advanceAtOnce(by: .seconds(5)) } == .timedOut(limit))
        let task = Task { await failure(client) { withUnsafeCurrentTask { $0?.cancel() } } }
        #expect(await task.value == .cancelled)
    }

    private final class RowCount: Sendable {
        private let count = Lock(0)

        var rows: Int { count.withLock(\.self) }

        func addRow() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    /// A row that counts how many were decoded; the hundredth stops the call.
    private struct Row: Decodable, Sendable {
        @TaskLocal static var decoded = RowCount()

        init(from decoder: any Decoder) throws {
            if Self.decoded.addRow() == 100 { Interrupted.interrupt() }
        }
    }

    /// A model that tries another type after every error, and begins anew with every part of its value.
    private enum Stubborn: Decodable, Sendable {
        case row(Row), list([Stubborn]), nothing

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let list = try? container.decode([Stubborn].self) {
                self = .list(list)
            } else {
                self = (try? container.decode(Row.self)).map { .row($0) } ?? .nothing
            }
        }
    }

    /// Returns the error of a call that is stopped at its hundredth row, and how many rows it decoded.
    private func stop<Response: Decodable & Sendable>(
        _ type: Response.Type, _ element: String, by interrupt: @escaping @Sendable (APIClient, TestClock) -> Void
    ) async -> (ServiceError?, rows: Int) {
        let clock = TestClock()
        let body = "[\(Array(repeating: element, count: 20_000).joined(separator: ","))]"
        let client = testClient(scripted().on(.get, "/x", .json(body)), clock) { $0.deadline = .seconds(5) }
        let decoded = RowCount()
        let error = await Task {
            await Row.$decoded.withValue(decoded) {
                await Interrupted.$interrupt.withValue({ interrupt(client, clock) }) {
                    await #expect(throws: ServiceError.self) { _ = try await client.run(Endpoint<Response>.get("x")) }
                }
            }
        }.value
        return (error, decoded.rows)
    }

    @Test(
        "C91: a call that is stopped while it decodes ends long before the rest is decoded",
        arguments: [true, false])
    func endsSoon(byDeadline: Bool) async {
        @Sendable func interrupt(_ client: APIClient, _ clock: TestClock) {
            if byDeadline { clock.advanceAtOnce(by: .seconds(5)) } else { withUnsafeCurrentTask { $0?.cancel() } }
        }
        let reason: ServiceError =
            byDeadline ? .timedOut(Timeout(.deadline, limit: .seconds(5), phase: .decoding)) : .cancelled
        for (error, rows) in [
            await stop([Row].self, "{}", by: interrupt), await stop(LossyList<Row>.self, "1", by: interrupt),
            await stop([[String: Row]].self, #"{"a":{}}"#, by: interrupt), await stop([Row?].self, "1", by: interrupt),
            await stop([Stubborn].self, "[1]", by: interrupt),
        ] {
            #expect(error == reason)
            #expect((100..<1000).contains(rows))
        }
    }

    @Test("C91: decoding asks often whether its call was stopped, whatever it decodes")
    func asksOften() throws {
        final class Recipient: Stoppable {
            var questions = 0

            func throwIfStopped() { questions += 1 }
        }
        func questions<Value: Decodable>(_ type: Value.Type, _ element: String, count: Int = 40_000) throws -> Int {
            let recipient = Recipient()
            let body = Data("[\(Array(repeating: element, count: count).joined(separator: ","))]".utf8)
            _ = try FastJSONDecoder().decode(type, from: body, below: [], for: recipient)
            return recipient.questions
        }
        struct Plain: Decodable {
            init(from decoder: any Decoder) throws {
                var list = try decoder.unkeyedContainer()
                while !list.isAtEnd { _ = try list.decode(Int.self) }
            }
        }
        struct Model: Decodable { var a: Int? }
        #expect(try questions([Int].self, "1") > 1)
        #expect(try questions([Double].self, "1") > 1)
        #expect(try questions([String].self, #""""#) > 1)
        #expect(try questions([[Double]].self, "[1]") > 120)
        #expect(try questions(Plain.self, "1") > 8)
        #expect(try questions(JSONValue.self, "1") > 120)
        #expect(try questions(LossyList<Bool>.self, "1") > 120)
        #expect(try questions([Model].self, "{}") > 120)
        #expect(try questions([[String: Int]].self, #"{"é":1}"#) > 120)
    }
}
