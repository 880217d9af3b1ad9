import Errand
import ErrandTesting
import Foundation
import Testing

@Suite("What the conformance suite finds", .timeLimit(.minutes(10))) struct TransportConformanceTests {
    /// Responds to everything with a number, without asking the server.
    private struct Inventor: Transport {
        func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
            HTTPResponse(status: 200, headers: ["Content-Type": "application/json"], body: .bytes(Data("1".utf8)))
        }

        func shutdown() async {}
    }

    private func violation(_ number: String, _ transport: some Transport) async throws -> TransportConformance.Violation
    {
        let rule = try #require(TransportConformance.all.first { $0.number == number })
        return try await #require(throws: TransportConformance.Violation.self) {
            try await rule.check { transport }
        }
    }

    @Test("a transport that invents responses fails, with the expected and the actual result")
    func inventor() async throws {
        let violation = try await violation("C31", Inventor())
        #expect(violation.rule.hasPrefix("C31: "))
        #expect(violation.expected == "a timeout")
        #expect(violation.seen.contains("1"))
        #expect(try await self.violation("C40", Inventor()).expected.contains(".transport(tooLarge)"))
        #expect(try await self.violation("C41", Inventor()).expected == "connections: 1")
    }

    @Test(
        "a transport can pass the cases about streams",
        // This transport keeps no connections.
        arguments: TransportConformance.streamed.filter { !$0.title.contains("the connection goes on") })
    func streaming(_ rule: TransportConformance.Case) async throws {
        try await rule.check { StreamingTransport() }
    }

    @Test("an error instead of a response is reported as the actual result")
    func unavailable() async throws {
        let violation = try await violation("C37", UnavailableTransport(advice: "none here"))
        #expect(violation.expected == "no error")
        #expect(violation.seen.contains("none here"))
    }

    @Test("a case whose task is cancelled ends at once, without a verdict")
    func cancelled() async throws {
        let rule = try #require(TransportConformance.all.first { $0.number == "C31" })
        let check = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await rule.check { Inventor() }
        }
        await #expect(throws: CancellationError.self) { try await check.value }
    }

    @Test("the catalog contains every case that needs no encryption, and none twice")
    func complete() {
        let numbers = Set(TransportConformance.all.map(\.number))
        let wanted = [1, 11] + Array(20...25) + Array(30...43) + Array(45...48) + Array(50...53) + [60, 61]
        let uploads = ["D10", "D11", "D13", "D14", "D17"]
        #expect(numbers == Set(wanted.map { "C\($0)" } + uploads))
        #expect(Set(TransportConformance.all.map(\.description)).count == TransportConformance.all.count)
    }
}
