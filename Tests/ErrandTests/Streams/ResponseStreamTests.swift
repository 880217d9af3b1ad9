import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("Streamed responses: stops between two reads", .timeLimit(.minutes(10))) struct ResponseStreamTests {
    @Test("a stop while a chunk is handed over ends the call at once, and not only with the next read")
    func stopInDelivery() async throws {
        let (network, clock) = (scripted(), TestClock())
        let stop = Noted<(@Sendable () -> Void)?>(nil)
        let body = HTTPBody.stream(opening: {
            HTTPBody.Chunks(unfolding: {
                stop.value?()
                return Data("chunk".utf8)
            })
        })
        network.on(.get, "/logs", .response(HTTPResponse(status: 200, body: body)))
        let client = testClient(network, clock)
        stop.value = { client.cancelAll() }
        try await clock.run {
            var chunks = try await client.stream(.get("logs")).chunks.makeAsyncIterator()
            // It was ready when the stop came, so it is not lost.
            #expect(try await chunks.next() == Data("chunk".utf8))
            #expect(await client.activity.first { _ in true } == 0)
            await #expect(throws: ServiceError.cancelled) { try await chunks.next() }
        }
        stop.value = nil
    }

    @Test("a reader that is canceled while the body is silent gets an error, and not the end of a whole body")
    func canceledInSilence() async throws {
        let (network, clock) = (scripted(), TestClock())
        let (chunks, feed) = HTTPBody.Chunks.makeStream()
        feed.yield(Data("half".utf8))
        network.on(.get, "/logs", .response(HTTPResponse(status: 200, body: .stream(chunks))))
        let client = testClient(network, clock)
        let read = Noted<[Data]>([])
        try await clock.run {
            let response = try await client.stream(.get("logs"))
            let reader = Task(executorPreference: clock.executor) {
                await failure { () async throws(ServiceError) in
                    for try await chunk in response.chunks { read.update { $0.append(chunk) } }
                }
            }
            try await clock.sleep(for: .seconds(1))
            reader.cancel()
            #expect(await reader.value == .cancelled)
        }
        #expect(read.value == [Data("half".utf8)])
        withExtendedLifetime(feed) {}
    }
}
