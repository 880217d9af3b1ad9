import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Replies from the cache and then from the server", .timeLimit(.minutes(10))) struct RepliesTests {
    private let clock = TestClock()
    private let network = scripted()
    private let endpoint = Endpoint<[Int]>.get("x")

    private func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        testClient(network, clock) { configuration in
            configuration.cache = .memory(megabytes: 1)
            configuration.retry = .never
            configure(&configuration)
        }
    }

    private func reply(_ text: String, _ control: String) -> ScriptedReply {
        .json(text, headers: ["Cache-Control": control, "ETag": "\"\(text)\""])
    }

    private func all(_ client: APIClient) async throws(ServiceError) -> [Reply<[Int]>] {
        var replies: [Reply<[Int]>] = []
        for try await reply in client.replies(to: endpoint) { replies.append(reply) }
        return replies
    }

    @Test("nothing stored: one reply; fresh: that one; stale: that one, and then the server's")
    func both() async throws {
        network.on(.get, "/x", reply("[1]", "max-age=10, stale-while-revalidate=1000"), reply("[2]", "max-age=10"))
        let client = client()
        #expect(try await all(client).map(\.value) == [[1]])
        #expect(try await all(client).map(\.cache?.kind) == [.hit])
        await clock.advance(by: .seconds(60))
        let replies = try await all(client)
        #expect(replies.map(\.value) == [[1], [2]] && replies.map(\.cache?.kind) == [.stale, .miss])
        #expect(network.sent.last?.request.headers["If-None-Match"] == "\"[1]\"")
        try network.verify()
    }

    @Test("what is stored for a call with parameters is there at once too")
    func parameters() async throws {
        network.on(.get, "/x?page=1", reply("[1]", "max-age=10"), reply("[2]", "max-age=10"))
        let client = client()
        let endpoint = Endpoint<[Int]>(.get, "x", parameters: ["page": 1])
        _ = try await client.run(endpoint)
        await clock.advance(by: .seconds(60))
        var values: [[Int]] = []
        for try await reply in client.replies(to: endpoint) { values.append(reply.value) }
        #expect(values == [[1], [2]])
    }

    @Test("K5: what has to be confirmed is not shown before", arguments: ["max-age=10, must-revalidate", "no-cache"])
    func strict(control: String) async throws {
        network.on(.get, "/x", reply("[1]", control), .status(304))
        let client = client()
        _ = try await all(client)
        await clock.advance(by: .seconds(60))
        #expect(try await all(client).map(\.cache?.kind) == [.revalidated])
    }

    @Test("a failure is thrown after what is stored, and no event names a call that was answered with nothing")
    func failure() async throws {
        network.on(.get, "/x", reply("[1]", "max-age=10, stale-if-error=1000"), .failure(.reset))
        let failures = Noted<[ServiceError]>([])
        let client = client {
            $0.observe = { event in if let error = event.failure { failures.update { $0.append(error) } } }
        }
        _ = try await all(client)
        #expect(failures.value.isEmpty)
        await clock.advance(by: .seconds(60))
        var values: [[Int]] = []
        await #expect(throws: ServiceError.self) {
            for try await reply in client.replies(to: endpoint) { values.append(reply.value) }
        }
        #expect(values == [[1]] && failures.value.count == 1)
    }

    @Test("what has neither a lifetime nor a validator is shown at once too, before what the server says")
    func plain() async throws {
        network.on(.get, "/x", .json("[1]"), .json("[2]"), .json("[3]", headers: ["Cache-Control": "no-store"]))
        let client = client()
        #expect(try await all(client).map(\.value) == [[1]])
        await clock.advance(by: .seconds(60))
        let replies = try await all(client)
        #expect(replies.map(\.value) == [[1], [2]] && replies.map(\.cache?.kind) == [.stale, .miss])
        // What must not be stored ends what was.
        #expect(try await all(client).map(\.value) == [[2], [3]])
        network.on(.get, "/x", .json("[4]"))
        #expect(try await all(client).map(\.value) == [[4]])
        try network.verify()
    }

    @Test("K2: a call with noStore has one reply, which is not stored")
    func noStore() async throws {
        network.on(.get, "/x", reply("[1]", "max-age=600"), reply("[2]", "max-age=600"))
        let cache = HTTPCache.memory(megabytes: 1)
        let client = client { $0.cache = cache }
        var values: [[Int]] = []
        for _ in 0..<2 {
            let replies = client.replies(to: endpoint.cache(.noStore))
            for try await reply in replies { values.append(reply.value) }
        }
        #expect(values == [[1], [2]] && cache.statistics.responses == 0)
        try network.verify()
    }

    @Test("without a cache there is one reply")
    func withoutCache() async throws {
        network.on(.get, "/x", .json("[1]"))
        #expect(try await all(client { $0.cache = nil }).map(\.value) == [[1]])
    }
}
