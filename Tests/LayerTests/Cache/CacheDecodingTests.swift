@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Stored responses that cannot be decoded any more", .timeLimit(.minutes(10))) struct CacheDecodingTests {
    private let clock = TestClock()
    private let network = scripted()
    private let cache = HTTPCache.memory(megabytes: 1)
    private let endpoint = Endpoint<[Int]>.get("x")
    /// The same call for any value, which fills the cache.
    private let bytes = Endpoint<Data>.get("x")

    private func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        testClient(network, clock) { configuration in
            configuration.cache = cache
            configuration.retry = .never
            configure(&configuration)
        }
    }

    private func reply(_ text: String) -> ScriptedReply {
        .json(text, headers: ["Cache-Control": "max-age=600", "ETag": "\"1\""])
    }

    @Test("the server is asked once, without conditions, and its response is stored", arguments: [false, true])
    func replaced(isShared: Bool) async throws {
        network.on(.get, "/x", reply("{}"), reply("[2]"))
        let client = client { $0.sharesEqualRequests = isShared }
        try await clock.run {
            _ = try await client.run(bytes)
            let fresh = try await client.reply(to: endpoint)
            #expect(fresh.value == [2] && fresh.cache == CacheStatus(.miss))
            let next = try await client.reply(to: endpoint)
            #expect(next.value == [2] && next.cache?.kind == .hit)
        }
        let sent = try #require(network.sent.last)
        #expect(sent.request.headers["If-None-Match"] == nil && sent.request.headers["Cache-Control"] == "no-cache")
        try network.verify()
    }

    @Test("the request to the server has all attempts, and is shared like any other", arguments: [1, 20])
    func retried(calls: Int) async throws {
        network.on(.get, "/x", reply("{}"), .status(503), reply("[2]").after(.seconds(1)))
        let client = client {
            $0.retry = RetryPolicy(attempts: 2)
            $0.sharesEqualRequests = calls > 1
        }
        try await clock.run {
            _ = try await client.run(bytes)
            try await withThrowingTaskGroup(of: Reply<[Int]>.self) { group in
                for _ in 0..<calls { group.addTask { try await client.reply(to: endpoint) } }
                for try await fresh in group { #expect(fresh.value == [2] && fresh.attempts == 2) }
            }
        }
        #expect(network.sent.count == 3)
        try network.verify()
    }

    @Test("what the server gives now, and cannot be decoded either, is an error after one request")
    func undecodable() async throws {
        network.on(.get, "/x", reply("{}"), reply("{}"))
        let client = client()
        _ = try await client.run(bytes)
        let outcome = await Result { () async throws(ServiceError) in try await client.run(endpoint) }
        #expect(outcome.decodingFailure != nil && network.sent.count == 2)
    }

    @Test("a response of the server itself is not asked for again", arguments: [200, 304])
    func fromServer(status: Int) async throws {
        network.on(.get, "/x", reply("{}"), .json("{}", status: status, headers: ["ETag": "\"1\""]))
        let client = client()
        _ = try await client.run(bytes)
        await clock.advance(by: .seconds(700))
        let outcome = await Result { () async throws(ServiceError) in try await client.run(endpoint) }
        #expect(outcome.decodingFailure != nil && network.sent.count == 2)
    }

    @Test("K2: a call that may only use the cache sends nothing")
    func onlyIfCached() async throws {
        network.on(.get, "/x", reply("{}"))
        let client = client()
        _ = try await client.run(bytes)
        for local in [endpoint.cache(.onlyIfCached), endpoint.header("Cache-Control", "only-if-cached")] {
            let outcome = await Result { () async throws(ServiceError) in try await client.run(local) }
            #expect(outcome.decodingFailure != nil)
        }
        #expect(network.sent.count == 1)
    }

    @Test("the deadline of the call includes the second request, and a failure leaves what is stored")
    func deadline() async throws {
        network.on(.get, "/x", reply("{}"), reply("[2]").after(.seconds(10)), .failure(.reset))
        let client = client()
        try await clock.run {
            _ = try await client.run(bytes)
            let outcome = await Result { () async throws(ServiceError) in
                try await client.run(endpoint.deadline(.seconds(5)))
            }
            guard case .failure(.timedOut(let timeout)) = outcome else {
                Issue.record("\(outcome)")
                return
            }
            #expect(timeout.bound == .deadline && clock.elapsed == .seconds(5))
            await #expect(throws: ServiceError.self) { try await client.run(endpoint) }
        }
        #expect(try await client.reply(to: bytes).cache?.kind == .hit)
        try network.verify()
    }

    @Test("it is left out of the replies, and the server is asked", arguments: [0, 700])
    func replies(age: Int) async throws {
        network.on(.get, "/x", reply("{}"), reply("[2]"))
        let client = client()
        _ = try await client.run(bytes)
        await clock.advance(by: .seconds(age))
        var values: [[Int]] = []
        for try await reply in client.replies(to: endpoint) { values.append(reply.value) }
        #expect(values == [[2]])
        #expect(network.sent.last?.request.headers["If-None-Match"] == nil)
        for try await reply in client.replies(to: endpoint) { values.append(reply.value) }
        #expect(values == [[2], [2]])
        try network.verify()
    }
}
