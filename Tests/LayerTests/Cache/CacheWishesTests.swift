@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("What a client, a call and a program want of a cache", .timeLimit(.minutes(10))) struct CacheWishesTests {
    private struct Tenant: Middleware {
        func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
            var request = request
            request.headers["X-Tenant"] = "7"
            return try await next(request, context)
        }
    }

    private let scratch: Scratch
    private let clock = TestClock()
    private let network = scripted()

    init() throws {
        scratch = try Scratch()
    }

    private func cache(_ kind: CacheKind) -> HTTPCache {
        switch kind {
        case .memory: .memory(megabytes: 1)
        case .disk: .disk(scratch.path("cache"), megabytes: 1)
        }
    }

    private func client(_ cache: HTTPCache, _ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        testClient(network, clock) {
            $0.cache = cache
            configure(&$0)
        }
    }

    private func answer(_ headers: HTTPHeaders = ["Cache-Control": "max-age=600"]) {
        network.onAny { request in
            let sent = String(decoding: request.body?.bytes ?? Data(), as: UTF8.self)
            let text = "\(request.method) \(request.url.path) \(sent)"
            let body = HTTPBody.bytes(Data("\"\(text.filter { $0 != "\"" })\"".utf8))
            return HTTPResponse(status: 200, headers: headers, body: body)
        }
    }

    private func kind(_ client: APIClient, _ endpoint: Endpoint<String>) async throws -> CacheStatus.Kind? {
        try await client.reply(to: endpoint).cache?.kind
    }

    // MARK: Lifetimes

    @Test("K1: the lifetime that one call names makes no other call a hit", arguments: CacheKind.allCases)
    func ownLifetime(kind: CacheKind) async throws {
        answer(["ETag": "\"1\""])
        try await withoutDiskThreads { () async throws in
            let client = client(cache(kind))
            let endpoint = Endpoint<String>.get("x")
            let lasting = endpoint.cache(.for(.seconds(3600)))
            #expect(try await self.kind(client, lasting) == .miss)
            #expect(try await self.kind(client, endpoint) == .miss)
            #expect(network.sent.last?.request.headers["If-None-Match"] == "\"1\"")
            #expect(try await self.kind(client, lasting) == .hit)
            #expect(try await self.kind(client, endpoint.cache(.for(.seconds(1)))) == .hit)
            await clock.advance(by: .seconds(2))
            #expect(try await self.kind(client, endpoint.cache(.for(.seconds(1)))) == .miss)
        }
    }

    @Test("K1: nobody guesses a lifetime unless the call or the client asks for it")
    func heuristic() async throws {
        let day: Duration = .seconds(86_400)
        answer(["Last-Modified": HTTPDate.text(clock.date.addingTimeInterval(-20 * day.inSeconds))])
        let endpoint = Endpoint<String>.get("x")
        let cache = cache(.memory)
        let (plain, guessing) = (client(cache), client(cache) { $0.cachePolicies = [.heuristic] })
        for _ in 0..<2 { #expect(try await kind(plain, endpoint) == .miss) }
        #expect(try await kind(plain, endpoint.cache(.heuristic)) == .hit)
        #expect(try await kind(guessing, endpoint) == .hit)
        await clock.advance(by: day)
        #expect(try await kind(guessing, endpoint) == .miss)
    }

    @Test("the policies of a client hold for all its calls, and those of a call come on top")
    func clientPolicies() async throws {
        answer([:])
        let endpoint = Endpoint<String>.get("x")
        let client = client(cache(.memory)) { $0.cachePolicies = [.for(.seconds(60)), .staleUpTo(.seconds(600))] }
        #expect(try await kind(client, endpoint) == .miss)
        #expect(try await kind(client, endpoint) == .hit)
        #expect(try await kind(client, endpoint.cache(.reload)) == .miss)
        #expect(try await kind(client, endpoint) == .hit)
        await clock.advance(by: .seconds(100))
        let error = try await #require(throws: ServiceError.self) {
            try await client.run(endpoint.cache(.staleUpTo(.zero), .onlyIfCached))
        }
        guard case .serverFailure(let rejection) = error else { throw error }
        #expect(rejection.cache?.reason == .onlyIfCached)
        #expect(try await kind(client, endpoint) == .stale)
        await clock.advance(by: .seconds(1))
        #expect(try await kind(client, endpoint) == .hit, "it was refreshed")
    }

    @Test("a call can do without the policies of the client")
    func standard() async throws {
        answer(["Cache-Control": "max-age=60"])
        let client = client(cache(.memory)) { $0.cachePolicies = [.noStore, .heuristic] }
        #expect(try await kind(client, .get("x")) == .miss)
        #expect(try await kind(client, Endpoint<String>.get("x").cache(.standard)) == .miss)
        #expect(try await kind(client, Endpoint<String>.get("x").cache(.standard)) == .hit)
        #expect(try await kind(client, .get("x")) == .miss)
    }

    @Test("replies(to:) has one reply where the client stores nothing")
    func uncachedReplies() async throws {
        answer()
        let client = client(cache(.memory)) { $0.cachePolicies = [.noStore] }
        for _ in 0..<2 {
            var count = 0
            for try await _ in client.replies(to: Endpoint<String>.get("x")) { count += 1 }
            #expect(count == 1)
        }
        #expect(network.sent.count == 2)
    }

    // MARK: Methods

    @Test("K10: a QUERY is stored by its body, and removed with its URL", arguments: CacheKind.allCases)
    func query(kind: CacheKind) async throws {
        answer()
        try await withoutDiskThreads { () async throws in
            let cache = cache(kind)
            let client = client(cache)
            func search(_ text: String, _ type: String = "text/plain") -> Endpoint<String> {
                Endpoint<String>(.query, "search", body: .data(Data(text.utf8), contentType: type))
            }
            let all = [search("a"), search("b"), search("a", "text/x")]
            for endpoint in all { #expect(try await self.kind(client, endpoint) == .miss) }
            for endpoint in all { #expect(try await self.kind(client, endpoint) == .hit) }
            #expect(try await client.run(search("b")) == "QUERY /search b")
            #expect(try await self.kind(client, .get("search")) == .miss)
            await client.removeCached(search("a"))
            #expect(try await self.kind(client, search("a")) == .miss)
            try await client.run(Endpoint<String>.put("search"))
            for endpoint in all { #expect(try await self.kind(client, endpoint) == .miss) }
        }
    }

    @Test("K10: equal values are the same QUERY, in whatever order they have their members")
    func queryOfJSON() async throws {
        answer()
        let client = client(cache(.memory))
        func search(_ body: RequestBody) -> Endpoint<String> { Endpoint(.query, "search", body: body) }
        let names = (0..<20).map { "name\($0)" }
        func members(_ names: some Sequence<String>) -> [String: Int] {
            var members: [String: Int] = [:]
            for name in names { members[name] = name.utf8.count }
            return members
        }
        #expect(try await kind(client, search(.json(members(names)))) == .miss)
        #expect(try await kind(client, search(.json(members(names.reversed())))) == .hit)
        let large = ["18446744073709551614", "18446744073709551615"].map { #"{"id":\#($0)}"# }
        for text in large + [#"{"a":1,"a":2}"#, #"{"a":1,"a":3}"#] {
            let body = RequestBody.data(Data(text.utf8), contentType: "application/json")
            #expect(try await kind(client, search(body)) == .miss, "\(text)")
        }
    }

    @Test(
        "K10: a POST is stored under a name that its call gives, and changes nothing then",
        arguments: CacheKind.allCases)
    func post(kind: CacheKind) async throws {
        answer()
        try await withoutDiskThreads { () async throws in
            let client = client(cache(kind))
            let search = Endpoint<String>.post("search", body: .data(Data("a".utf8), contentType: "text/plain"))
            let other = Endpoint<String>.get("search")
            #expect(try await self.kind(client, other) == .miss)
            #expect(try await self.kind(client, search.cache(key: "search a")) == .miss)
            #expect(try await self.kind(client, search.cache(key: "search a")) == .hit)
            #expect(try await self.kind(client, search.cache(key: "search b")) == .miss)
            #expect(try await self.kind(client, other) == .hit)
            #expect(try await self.kind(client, search) == .miss)
            for endpoint in [other, search.cache(key: "search a")] {
                #expect(try await self.kind(client, endpoint) == .miss)
            }
        }
    }

    // MARK: Problems

    @Test("K15: a wall clock that is set back between two processes makes nothing fresh")
    func clockBetweenProcesses() async throws {
        answer()
        try await withoutDiskThreads { () async throws in
            #expect(try await self.kind(client(cache(.disk)), .get("x")) == .miss)
            await clock.advance(by: .seconds(500))
            #expect(try await self.kind(client(cache(.disk)), .get("x")) == .hit)
            await clock.advance(by: .seconds(200))
            clock.date.addTimeInterval(-600)
            #expect(try await self.kind(client(cache(.disk)), .get("x")) == .miss)
        }
    }

    @Test("a folder that cannot be used is reported once, to whoever listens")
    func unusable() async throws {
        answer()
        try scratch.write("", to: "cache")
        let warnings = Noted<[String]>([])
        try await withoutDiskThreads { () async throws in
            let client = client(cache(.disk)) {
                $0.observe = { event in if case .warned(let text) = event.kind { warnings.update { $0.append(text) } } }
            }
            for path in ["a", "b"] {
                #expect(try await client.reply(to: Endpoint<String>.get("\(path)")).cache?.reason == .notWritten)
            }
        }
        #expect(warnings.value.count == 1)
        #expect(warnings.value.first?.contains("\(scratch.path("cache")), cannot be used as it is") == true)
    }

    @Test("K3: that nothing is stored because of middleware is reported once")
    func changedBelow() async throws {
        answer()
        let warnings = Noted<[String]>([])
        let client = client(cache(.memory)) {
            $0.attemptMiddlewares = [Tenant()]
            $0.observe = { event in if case .warned(let text) = event.kind { warnings.update { $0.append(text) } } }
        }
        for path in ["a", "b"] {
            #expect(try await client.reply(to: Endpoint<String>.get("\(path)")).cache?.reason == .addedBelow)
        }
        #expect(warnings.value.count == 1 && warnings.value.first?.contains("`constantHeaders`") == true)
    }

    @Test("K9: a key that others can read is replaced, and what it named goes; a folder gets its mode back")
    func modes() async throws {
        answer()
        let folder = scratch.path("cache")
        let warnings = Noted<[String]>([])
        try await withoutDiskThreads { () async throws in
            for path in ["a", "b"] { try await client(cache(.disk)).run(Endpoint<String>.get("\(path)")) }
            // As a copy without modes leaves it.
            for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
                let isFolder = responseFiles(in: folder).contains(name) || name == "key"
                try FileManager.default.setAttributes(
                    [.posixPermissions: isFolder ? 0o644 : 0o555], ofItemAtPath: "\(folder)/\(name)")
            }
            try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: folder)
            let client = client(cache(.disk)) {
                $0.observe = { event in if case .warned(let text) = event.kind { warnings.update { $0.append(text) } } }
            }
            for path in ["a", "b"] { #expect(try await self.kind(client, .get("\(path)")) == .miss) }
            #expect(responseFiles(in: folder).count == 2)
            let next = self.client(cache(.disk))
            for path in ["a", "b"] { #expect(try await self.kind(next, .get("\(path)")) == .hit) }
            for name in ["", "/u"] {
                let mode = try FileManager.default.attributesOfItem(atPath: folder + name)[.posixPermissions] as? Int
                #expect(mode == 0o700)
            }
            #expect(
                warnings.value.count == 1
                    && warnings.value.first?.contains("its key was not for this user alone") == true)
        }
    }
}
