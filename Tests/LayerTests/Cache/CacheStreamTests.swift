@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Streams and downloads beside the cache", .timeLimit(.minutes(10))) struct CacheStreamTests {
    private let clock = TestClock()
    private let network = scripted()
    private let cache = HTTPCache.memory(megabytes: 1)
    private let endpoint = Endpoint<[Int]>.get("x")

    private var client: APIClient {
        testClient(network, clock) { $0.cache = cache }
    }

    @Test("K16: a stream never fills the cache, but takes from it what may be used at once")
    func streams() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=60, stale-while-revalidate=60", "ETag": "\"1\""]
        network.on(.get, "/x") { ScriptedReply.json("[1]", headers: headers).always }
        let client = client
        func read(_ endpoint: Endpoint<[Int]>) async throws -> (text: String, cache: CacheStatus?) {
            let response = try await client.stream(endpoint)
            var data = Data()
            for try await chunk in response.chunks { data += chunk }
            return (String(decoding: data, as: UTF8.self), response.cache)
        }
        let first = try await read(endpoint)
        #expect(first.text == "[1]" && first.cache == CacheStatus(.miss, reason: .bypassed))
        #expect(cache.statistics.responses == 0 && cache.statistics.misses == 0)
        let failure = await #expect(throws: ServiceError.self) {
            _ = try await client.stream(endpoint.cache(.onlyIfCached))
        }
        #expect(failure?.status == 504)
        _ = try await client.run(endpoint)
        #expect(network.sent.count == 2)

        await clock.advance(by: .seconds(59))
        let hit = try await read(endpoint)
        #expect(hit.text == "[1]" && hit.cache == CacheStatus(.hit, age: .seconds(59)))
        #expect(network.sent.count == 2)
        await clock.advance(by: .seconds(10))
        let stale = try await read(endpoint)
        #expect(stale.text == "[1]" && stale.cache?.reason == .refreshing)
        try await clock.run { try await clock.sleep(for: .seconds(1)) }
        #expect(network.sent.count == 3 && network.sent.last?.request.headers["If-None-Match"] == "\"1\"")
        // What only a confirmation would allow to use is read from the server, without conditions.
        await clock.advance(by: .seconds(200))
        #expect(try await read(endpoint).cache?.kind == .miss)
        #expect(network.sent.last?.request.headers["If-None-Match"] == nil)
    }

    @Test("K16: event streams and downloads neither fill the cache nor are answered from it")
    func eventsAndDownloads() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=600", "Content-Type": "text/event-stream"]
        network.onAny { _ in
            .status(200, headers: headers, body: "data: 1\n\n")
        }
        let client = client
        let text = Endpoint<Data>.get("x")
        func firstEvent() async throws -> String? {
            for try await event in client.events(text) { return event.data }
            return nil
        }
        let scratch = try Scratch()
        #expect(try await firstEvent() == "1")
        try await client.download(text, to: scratch.path("file"))
        #expect(network.sent.count == 2 && cache.statistics.responses == 0)
        _ = try await client.run(text)
        #expect(network.sent.count == 3 && cache.statistics.responses == 1)
        #expect(try await firstEvent() == "1")
        try await client.download(text, to: scratch.path("file"))
        #expect(network.sent.count == 5 && cache.statistics.hits == 0)
    }

    @Test("K16: a stream is not held up by the cache: its head and its first chunk are there before the last is sent")
    func notHeldUp() async throws {
        let chunks = ["[1", ", 2]"].map { Data($0.utf8) }
        network.on(.get, "/x", .chunks(chunks, every: .seconds(10), headers: ["Cache-Control": "max-age=60"]))
        let client = client
        try await clock.run {
            let response = try await client.stream(endpoint)
            #expect(response.status == 200 && clock.elapsed == .zero)
            var received = response.chunks.makeAsyncIterator()
            for (number, chunk) in chunks.enumerated() {
                #expect(try await received.next() == chunk)
                #expect(clock.elapsed == .seconds(10 * (number + 1)))
            }
            #expect(try await received.next() == nil)
        }
        #expect(cache.statistics.responses == 0)
    }
}
