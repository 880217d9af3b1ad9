import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A user's own transport, which knows nothing of scopes", .timeLimit(.minutes(10)))
struct ForeignTransportTests {
    /// Responds with a stream whose chunks arrive one after the other, a second apart.
    private struct StreamingTransport: Transport {
        let chunks: [String]
        let clock: TestClock

        var connectivity: Connectivity { .always }

        func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
            let left = Noted(chunks[...])
            let body = HTTPBody.stream(
                HTTPBody.Chunks {
                    guard !left.value.isEmpty else { return nil }
                    try await clock.sleep(for: .seconds(1))
                    return Data(left.removeFirst().utf8)
                })
            return HTTPResponse(status: 200, headers: ["Content-Type": "application/json"], body: body)
        }

        func shutdown() async {}
    }

    @Test("its streamed response is read to the end", arguments: UInt64(0)..<10)
    func streamed(seed: UInt64) async throws {
        let clock = TestClock(seed: seed)
        let client = testClient(StreamingTransport(chunks: ["[1", ", 2", "]"], clock: clock), clock)
        let answer = try await clock.run { try await client.run(Endpoint<[Int]>.get("x")) }
        #expect(answer == [1, 2])
        #expect(clock.elapsed == .seconds(3))
    }

    @Test("a stop reaches it while its stream is read", arguments: UInt64(0)..<10)
    func stopped(seed: UInt64) async throws {
        let clock = TestClock(seed: seed)
        let endless = StreamingTransport(chunks: Array(repeating: " ", count: 1000), clock: clock)
        let client = testClient(endless, clock)
        await clock.run {
            let error = await #expect(throws: ServiceError.self) {
                try await client.run(Endpoint<Int>.get("x").retry(.never).deadline(.milliseconds(2500)))
            }
            #expect(error == .timedOut(Timeout(.deadline, limit: .milliseconds(2500), phase: .receiving)))
        }
        #expect(clock.elapsed == .milliseconds(2500))
    }
}
