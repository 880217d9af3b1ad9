@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The cache of a client", .timeLimit(.minutes(10))) struct CacheLayerTests {
    private let clock = TestClock()
    private let network = scripted()
    private let cache = HTTPCache.memory(megabytes: 1)
    private let endpoint = Endpoint<[Int]>.get("x")

    private func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        testClient(network, clock) { configuration in
            configuration.cache = cache
            configure(&configuration)
        }
    }

    @Test("K1: a fresh response is used again, with its age; then the server is asked")
    func fresh() async throws {
        network.on(.get, "/x", .json("[1]", headers: ["Cache-Control": "max-age=60"]), .json("[2]"))
        let client = client()
        let first = try await client.reply(to: endpoint)
        #expect(first.value == [1] && first.cache?.description == "miss")
        await clock.advance(by: .seconds(59))
        let second = try await client.reply(to: endpoint)
        #expect(second.value == [1] && second.cache == CacheStatus(.hit, age: .seconds(59)))
        #expect(second.headers["Age"] == "59" && second.headers["Content-Type"] == "application/json")
        await clock.advance(by: .seconds(1))
        let third = try await client.reply(to: endpoint)
        #expect(third.value == [2] && third.cache == CacheStatus(.miss, reason: .noLifetime))
        let statistics = cache.statistics
        #expect(statistics.hits == 1 && statistics.misses == 2 && statistics.responses == 0)
        try network.verify()
    }

    @Test("K4: a stale response is confirmed by a 304, whose fields count from then on")
    func confirmed() async throws {
        network.on(
            .get, "/x", .json("[1]", headers: ["Cache-Control": "max-age=10", "ETag": "\"1\"", "X-Version": "1"]),
            .status(304, headers: ["Cache-Control": "max-age=20", "X-Version": "2"]))
        let client = client()
        _ = try await client.run(endpoint)
        await clock.advance(by: .seconds(15))
        let second = try await client.reply(to: endpoint)
        #expect(second.value == [1] && second.status == 200 && second.headers["X-Version"] == "2")
        #expect(second.cache == CacheStatus(.revalidated, age: .zero))
        #expect(network.sent.last?.request.headers["If-None-Match"] == "\"1\"")
        await clock.advance(by: .seconds(19))
        #expect(try await client.reply(to: endpoint).cache?.kind == .hit)
        #expect(cache.statistics.revalidated == 1)
        try network.verify()
    }

    @Test("K4: a 304 for another response is not used: the request is sent again without conditions, and urgently")
    func otherResponse() async throws {
        network.on(
            .get, "/x", .json("[1]", headers: ["Cache-Control": "max-age=10", "ETag": "\"1\""]),
            .status(304, headers: ["ETag": "\"9\""]), .json("[2]"))
        let client = client()
        _ = try await client.run(endpoint)
        await clock.advance(by: .seconds(15))
        #expect(try await client.run(endpoint) == [2])
        #expect(network.sent.map { $0.request.headers["If-None-Match"] } == [nil, "\"1\"", nil])
        try network.verify()
    }

    @Test("K4: a 200 to a condition replaces what is stored")
    func replaced() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=10", "ETag": "\"1\""]
        network.on(.get, "/x", .json("[1]", headers: headers), .json("[2]", headers: headers))
        let client = client()
        _ = try await client.run(endpoint)
        await clock.advance(by: .seconds(15))
        #expect(try await client.run(endpoint) == [2])
        #expect(try await client.run(endpoint) == [2])
        #expect(network.sent.count == 2 && cache.statistics.responses == 1)
    }

    @Test(
        "K3, K4: a 304 that forbids to store, or varies in another way, ends what was stored",
        arguments: [(["Cache-Control": "no-store"], 0), (["Vary": "*"], 0), (["Vary": "Accept"], 1)]
            as [(HTTPHeaders, Int)])
    func endedBy304(headers: HTTPHeaders, left: Int) async throws {
        network.on(.get, "/x", .json("[1]", headers: ["ETag": "\"1\""]), .status(304, headers: headers))
        let client = client()
        _ = try await client.run(endpoint)
        #expect(try await client.run(endpoint) == [1])
        #expect(cache.statistics.responses == left)
    }

    @Test("K10: a HEAD that says something else than what is stored removes it", arguments: [("1", 1), ("2", 0)])
    func head(tag: String, left: Int) async throws {
        network.on(.get, "/x", .json("[1]", headers: ["Cache-Control": "max-age=10", "ETag": "\"1\""]))
        network.on(.head, "/x", .status(200, headers: ["Cache-Control": "max-age=10", "ETag": "\"\(tag)\""]))
        let client = client()
        _ = try await client.run(endpoint)
        await clock.advance(by: .seconds(20))
        let head = try await client.reply(to: Endpoint<NoContent>.head("x"))
        #expect(head.cache == CacheStatus(.miss, reason: .bypassed))
        #expect(network.sent.last?.request.headers["If-None-Match"] == nil)
        #expect(cache.statistics.responses == left)
    }

    @Test("K13: each hop is stored under its own URL, and no validator travels")
    func hops() async throws {
        network.on(
            .get, "/x",
            .status(302, headers: ["Location": "/y", "Cache-Control": "max-age=10", "ETag": "\"x\""]).times(2))
        network.on(
            .get, "/y", .json("[1]", headers: ["Cache-Control": "max-age=60", "ETag": "\"y\""]),
            .json("[2]", headers: ["ETag": "\"z\""]))
        let client = client()
        _ = try await client.run(endpoint)
        await clock.advance(by: .seconds(20))
        let second = try await client.reply(to: endpoint)
        #expect(second.value == [1] && second.cache?.kind == .hit && second.url.path == "/y")
        #expect(network.sent.map(\.request.url.path) == ["/x", "/y", "/x"])
        #expect(network.sent.last?.request.headers["If-None-Match"] == "\"x\"")
        await clock.advance(by: .seconds(50))
        network.on(.get, "/x", .status(302, headers: ["Location": "/y"]))
        #expect(try await client.run(endpoint) == [2])
        #expect(network.sent.suffix(2).map { $0.request.headers["If-None-Match"] } == ["\"x\"", "\"y\""])
    }

    @Test("K13: a redirect that must not be stored is not answered with what its target stored")
    func uncachedHop() async throws {
        network.on(.get, "/x", .status(307, headers: ["Location": "/y"]), .json("[3]"))
        network.on(.get, "/y", .json("[1]", headers: ["Cache-Control": "max-age=60"]))
        let client = client()
        #expect(try await client.run(endpoint) == [1])
        #expect(try await client.run(endpoint) == [3])
    }

    @Test("K10: a hit needs no network, no permit and no attempt on the wire")
    func costsNothing() async throws {
        network.on(.get, "/x", .json("[1]", headers: ["Cache-Control": "max-age=60"]))
        let isOnline = Noted(true)
        let limiter = RateLimiter(.requests(1, per: .seconds(1000)), time: clock)
        let client = client { configuration in
            configuration.connectivity = Connectivity { isOnline.value }
            configuration.limiter = limiter
        }
        _ = try await client.run(endpoint)
        isOnline.value = false
        for _ in 0..<3 { #expect(try await client.run(endpoint) == [1]) }
        #expect(clock.elapsed == .zero && network.sent.count == 1)
        let head = try await client.reply(to: Endpoint<NoContent>.head("x"))
        #expect(head.cache?.kind == .hit)
    }

    @Test("K2: onlyIfCached is a 504 of the cache, without a send, a permit, a retry or the retry quota")
    func onlyIfCached() async throws {
        let client = client { $0.limiter = RateLimiter(.requests(1, per: .seconds(1000)), time: clock) }
        let error = try await #require(throws: ServiceError.self) {
            try await client.run(endpoint.cache(.onlyIfCached))
        }
        guard case .serverFailure(let rejection) = error else { throw error }
        #expect(rejection.status == 504 && rejection.message?.contains("cached") ?? false)
        #expect(rejection.cache?.reason == .onlyIfCached && !error.mayHaveReachedServer)
        #expect(error.localizedDescription(in: "en") == "There is no saved copy of this.")
        let header = endpoint.header("Cache-Control", "only-if-cached")
        await #expect(throws: ServiceError.self) { try await client.run(header) }
        let accepting = try await client.reply(to: Endpoint<Data>.get("x").cache(.onlyIfCached).accepting(504))
        #expect(accepting.attempts == 1 && accepting.cache?.reason == .onlyIfCached)
        #expect(network.sent.isEmpty && clock.elapsed == .zero)
    }

    @Test("K2: a 504 of the server is not one of the cache")
    func gatewayTimeout() async throws {
        network.on(.get, "/x", .status(504))
        let client = client { $0.retry = .never }
        let error = try await #require(throws: ServiceError.self) { try await client.run(endpoint) }
        guard case .serverFailure(let rejection) = error else { throw error }
        #expect(rejection.cache?.kind == .miss && rejection.cache?.reason != .onlyIfCached)
        #expect(error.mayHaveReachedServer)
        #expect(error.localizedDescription(in: "en") == "The server is not available at the moment. Try again later.")
    }

    @Test("K2: reload asks the server and stores; noStore asks and does not; for gives a lifetime")
    func policies() async throws {
        network.on(
            .get, "/x", .json("[1]", headers: ["ETag": "\"1\""]), .json("[2]", headers: ["ETag": "\"2\""]),
            .json("[3]"),
            .json("[4]", headers: ["Cache-Control": "no-store"]))
        let client = client()
        let lasting = endpoint.cache(.for(.seconds(60)))
        #expect(try await client.run(lasting) == [1])
        #expect(try await client.reply(to: lasting).cache?.kind == .hit)
        #expect(try await client.run(lasting.cache(.reload, .for(.seconds(60)))) == [2])
        let reload = try #require(network.sent.last)
        #expect(reload.request.headers["If-None-Match"] == nil && reload.request.headers["Cache-Control"] == "no-cache")
        let unstored = try await client.reply(to: lasting.cache(.noStore))
        #expect(unstored.value == [3] && unstored.cache == CacheStatus(.miss, reason: .forbidden))
        #expect(try await client.run(lasting) == [2])
        await cache.removeAll()
        #expect(try await client.reply(to: lasting).cache == CacheStatus(.miss, reason: .forbidden))
        try network.verify()
    }

    @Test("K6: a change removes its URL; one that fails does not", arguments: [(201, [2]), (500, [1])])
    func changes(status: Int, expected: [Int]) async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=60"]
        network.on(.get, "/x") { [ScriptedReply.json("[1]", headers: headers), .json("[2]", headers: headers).always] }
        network.on(.post, "/x") { ScriptedReply.status(status).always }
        let client = client { $0.retry = .never }
        _ = try await client.run(endpoint)
        _ = try? await client.run(Endpoint<NoContent>.post("x"))
        #expect(try await client.run(endpoint) == expected)
    }

    @Test("K6: a change whose outcome is not known removes its URL; one that was not sent does not")
    func unknownOutcome() async throws {
        network.on(.get, "/x", .json("[1]", headers: ["Cache-Control": "max-age=60"]))
        network.on(.put, "/x", .failure(.reset))
        let isOnline = Noted(false)
        let client = client { configuration in
            configuration.retry = .never
            configuration.connectivity = Connectivity { isOnline.value || self.cache.statistics.responses == 0 }
        }
        _ = try await client.run(endpoint)
        await #expect(throws: ServiceError.noInternetConnection) { try await client.run(Endpoint<NoContent>.put("x")) }
        #expect(cache.statistics.responses == 1)
        isOnline.value = true
        await #expect(throws: ServiceError.self) { try await client.run(Endpoint<NoContent>.put("x")) }
        #expect(cache.statistics.responses == 0)
    }

    @Test("K2: what the cache answers pays nothing into the quota of retries")
    func quota() async throws {
        network.on(.get, "/x", .json("[1]", headers: ["Cache-Control": "max-age=600000"]))
        network.on(.get, "/down") { ScriptedReply.status(503).always }
        let client = client { $0.retry = RetryPolicy(attempts: 2) }
        let down = Endpoint<[Int]>.get("down")
        try await clock.run {
            _ = try await client.run(endpoint)
            for _ in 0..<40 { _ = try? await client.run(down) }
            for _ in 0..<100 { _ = try await client.run(endpoint) }
            let sent = network.sent.count
            _ = try? await client.run(down)
            #expect(network.sent.count == sent + 1)
        }
    }

    @Test("K6: groups that the server names, and tags that calls name, are removed together")
    func groups() async throws {
        func headers(_ group: String) -> HTTPHeaders { ["Cache-Control": "max-age=60", "Cache-Groups": group] }
        for path in ["/a", "/b"] {
            network.on(.get, path) { ScriptedReply.json("[1]", headers: headers("\"friends\"")).always }
        }
        network.on(.get, "/c") { ScriptedReply.json("[1]", headers: headers("\"other\"")).always }
        network.on(.post, "/d") { .status(204, headers: ["Cache-Group-Invalidation": "\"friends\""]) }
        let client = client()
        let all = ["a", "b", "c"].map { Endpoint<[Int]>.get("\($0)") }
        for endpoint in all { _ = try await client.run(endpoint.tags("mine")) }
        #expect(cache.statistics.responses == 3)
        try await client.run(Endpoint<NoContent>.post("d"))
        #expect(cache.statistics.responses == 1)
        await cache.invalidate(tag: "yours")
        #expect(cache.statistics.responses == 1)
        await cache.invalidate(tag: "mine")
        #expect(cache.statistics.responses == 0)
    }

    @Test("K6: a tag stays when a call without it has the response confirmed or replaced", arguments: [304, 200])
    func keptTags(status: Int) async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=10", "ETag": "\"1\""]
        network.on(.get, "/x", .json("[1]", headers: headers), .json("[1]", status: status, headers: headers))
        let client = client()
        _ = try await client.run(endpoint.tags("mine"))
        await clock.advance(by: .seconds(20))
        _ = try await client.run(endpoint)
        #expect(cache.statistics.responses == 1)
        await cache.invalidate(tag: "mine")
        #expect(cache.statistics.responses == 0)
    }

    @Test("K11: an answer whose request began before a change is not stored")
    func overtaken() async throws {
        network.on(
            .get, "/x", .json("[1]", headers: ["Cache-Control": "max-age=60"]).after(.seconds(5)), .json("[2]"))
        network.on(.put, "/x") { ScriptedReply.status(204).after(.seconds(2)) }
        let client = client()
        try await clock.run {
            async let old = client.reply(to: endpoint)
            try await client.run(Endpoint<NoContent>.put("x"))
            #expect(try await old.cache == CacheStatus(.miss, reason: .overtaken))
            #expect(try await client.run(endpoint) == [2])
        }
    }

    @Test("a name stands for a URL that is another one each time, on its own origin")
    func named() async throws {
        network.on(.get, "*") { ScriptedReply.json("[1]", headers: ["Cache-Control": "max-age=60"]).always }
        let client = client()
        for signature in 0..<3 {
            let signed = endpoint.query("signature", signature).cache(key: "picture")
            #expect(try await client.run(signed) == [1])
        }
        #expect(network.sent.count == 1)
        _ = try await client.run(endpoint.query("signature", 0))
        #expect(network.sent.count == 2)
        await cache.remove("https://api.test/x?signature=0")
        #expect(cache.statistics.responses == 0)
    }

    @Test("client.explain says what the cache would do, and does nothing")
    func explain() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=10, stale-while-revalidate=10", "ETag": "\"1\""]
        network.on(.get, "/x", .json("[1]", headers: headers))
        let client = client()
        func outlook(_ endpoint: Endpoint<[Int]>) -> String? {
            client.explain(endpoint).split(separator: "\n").last { $0.hasPrefix("cache:") }.map {
                String($0.dropFirst(13))
            }
        }
        #expect(outlook(endpoint) == "nothing is stored; it is sent")
        #expect(outlook(endpoint.cache(.onlyIfCached)) == "nothing is stored, and nothing would be sent")
        #expect(outlook(endpoint.cache(.noStore)) == "no, because it must not be stored")
        _ = try await client.run(endpoint)
        await clock.advance(by: .seconds(5))
        #expect(outlook(endpoint) == "hit, 5 s old")
        #expect(outlook(endpoint.cache(.reload)) == "stored, 5 s old, and not used; it is sent")
        await clock.advance(by: .seconds(10))
        #expect(outlook(endpoint) == "stale, 15 s old; it would be refreshed in the background")
        await clock.advance(by: .seconds(10))
        #expect(outlook(endpoint) == "stored, 25 s old; the server is asked whether that is current")
        #expect(network.sent.count == 1 && cache.statistics.hits == 0)
        network.on(.post, "/find", .json("[1]", headers: ["Cache-Control": "max-age=10"]))
        let search = Endpoint<[Int]>.post("find").cache(key: "1").cache(.staleUpTo(.seconds(60)))
        _ = try await client.run(search)
        await clock.advance(by: .seconds(15))
        #expect(outlook(search) == "stale, 15 s old")
        let first = search.cache(.networkFirst(within: .seconds(1)))
        #expect(outlook(first) == "the network, or what is stored if the server fails, 15 s old")
        _ = try await client.run(search)
        #expect(network.sent.count == 2)
        #expect(!testClient(network, clock).explain(endpoint).contains("cache:"))
    }

    @Test("a large body is not copied for a hit", arguments: CacheKind.allCases)
    func uncopied(kind: CacheKind) async throws {
        let body = Data(repeating: 7, count: 20_000)
        network.onAny { _ in .status(200, headers: ["Cache-Control": "max-age=60"], body: body) }
        let scratch = try Scratch()
        try await withoutDiskThreads {
            let client = client { $0.cache = kind.cache(in: scratch) }
            let endpoint = Endpoint<Data>.get("x")
            _ = try await client.run(endpoint)
            let hits = [try await client.reply(to: endpoint), try await client.reply(to: endpoint)]
            #expect(hits.allSatisfy { $0.cache?.kind == .hit && $0.value == body })
            // Both are there, so two copies would have two addresses.
            let addresses = hits.map { $0.value.withUnsafeBytes { Int(bitPattern: $0.baseAddress) } }
            #expect(addresses[0] == addresses[1])
        }
    }

    @Test("events say what the cache has answered")
    func events() async throws {
        network.on(.get, "/x", .json("[1]", headers: ["Cache-Control": "max-age=60"]))
        let lines = Noted<[String]>([])
        let client = client { $0.observe = { event in lines.update { $0.append(LogFormatter().line(for: event)) } } }
        for _ in 0..<2 { _ = try await client.run(endpoint) }
        #expect(lines.value.count { $0.contains("answered from the cache: hit, 0 s old") } == 1)
        #expect(lines.value.count { $0.contains("sent GET") } == 1)
    }

    @Test("a cache needs a size")
    func size() async throws {
        let client = testClient(network, clock) { $0.cache = .memory(megabytes: 0) }
        let error = try await #require(throws: ServiceError.self) { try await client.run(endpoint) }
        #expect("\(error)".contains("0 megabytes"))
    }
}
