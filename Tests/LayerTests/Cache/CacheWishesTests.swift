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

    private let scene: CacheScene

    init() throws {
        scene = try CacheScene()
    }

    // MARK: Lifetimes

    @Test("K1: the lifetime that one call names makes no other call a hit", arguments: CacheKind.allCases)
    func ownLifetime(kind: CacheKind) async throws {
        scene.answer(["ETag": "\"1\""])
        try await withoutDiskThreads { () async throws in
            let client = scene.client(scene.cache(kind))
            let endpoint = Endpoint<String>.get("x")
            let lasting = endpoint.cache(.for(.seconds(3600)))
            #expect(try await scene.kind(client, lasting) == .miss)
            #expect(try await scene.kind(client, endpoint) == .miss)
            #expect(scene.network.sent.last?.request.headers["If-None-Match"] == "\"1\"")
            #expect(try await scene.kind(client, lasting) == .hit)
            #expect(try await scene.kind(client, endpoint.cache(.for(.seconds(1)))) == .hit)
            await scene.clock.advance(by: .seconds(2))
            #expect(try await scene.kind(client, endpoint.cache(.for(.seconds(1)))) == .miss)
        }
    }

    @Test("K1: nobody guesses a lifetime unless the call or the client asks for it")
    func heuristic() async throws {
        let day: Duration = .seconds(86_400)
        scene.answer(["Last-Modified": HTTPDate.text(scene.clock.date.addingTimeInterval(-20 * day.inSeconds))])
        let endpoint = Endpoint<String>.get("x")
        let cache = scene.cache(.memory)
        let (plain, guessing) = (scene.client(cache), scene.client(cache) { $0.cachePolicies = [.heuristic] })
        for _ in 0..<2 { #expect(try await scene.kind(plain, endpoint) == .miss) }
        #expect(try await scene.kind(plain, endpoint.cache(.heuristic)) == .hit)
        #expect(try await scene.kind(guessing, endpoint) == .hit)
        await scene.clock.advance(by: day)
        #expect(try await scene.kind(guessing, endpoint) == .miss)
    }

    @Test("the policies of a client hold for all its calls, and those of a call come on top")
    func clientPolicies() async throws {
        scene.answer([:])
        let endpoint = Endpoint<String>.get("x")
        let client = scene.client(scene.cache(.memory)) {
            $0.cachePolicies = [.for(.seconds(60)), .staleUpTo(.seconds(600))]
        }
        #expect(try await scene.kind(client, endpoint) == .miss)
        #expect(try await scene.kind(client, endpoint) == .hit)
        #expect(try await scene.kind(client, endpoint.cache(.reload)) == .miss)
        #expect(try await scene.kind(client, endpoint) == .hit)
        await scene.clock.advance(by: .seconds(100))
        let error = try await #require(throws: ServiceError.self) {
            try await client.run(endpoint.cache(.staleUpTo(.zero), .onlyIfCached))
        }
        guard case .serverFailure(let rejection) = error else { throw error }
        #expect(rejection.cache?.reason == .onlyIfCached)
        #expect(try await scene.kind(client, endpoint) == .stale)
        await scene.clock.advance(by: .seconds(1))
        #expect(try await scene.kind(client, endpoint) == .hit, "it was refreshed")
    }

    @Test("a call can do without the policies of the client")
    func standard() async throws {
        scene.answer(["Cache-Control": "max-age=60"])
        let client = scene.client(scene.cache(.memory)) { $0.cachePolicies = [.noStore, .heuristic] }
        #expect(try await scene.kind(client, .get("x")) == .miss)
        #expect(try await scene.kind(client, Endpoint<String>.get("x").cache(.standard)) == .miss)
        #expect(try await scene.kind(client, Endpoint<String>.get("x").cache(.standard)) == .hit)
        #expect(try await scene.kind(client, .get("x")) == .miss)
    }

    @Test("replies(to:) has one reply where the client stores nothing")
    func uncachedReplies() async throws {
        scene.answer()
        let client = scene.client(scene.cache(.memory)) { $0.cachePolicies = [.noStore] }
        for _ in 0..<2 {
            var count = 0
            for try await _ in client.replies(to: Endpoint<String>.get("x")) { count += 1 }
            #expect(count == 1)
        }
        #expect(scene.network.sent.count == 2)
    }

    // MARK: Methods

    @Test("K10: a QUERY is stored by its body, and removed with its URL", arguments: CacheKind.allCases)
    func query(kind: CacheKind) async throws {
        scene.answer()
        try await withoutDiskThreads { () async throws in
            let cache = scene.cache(kind)
            let client = scene.client(cache)
            func search(_ text: String, _ type: String = "text/plain") -> Endpoint<String> {
                Endpoint<String>(.query, "search", body: .data(Data(text.utf8), contentType: type))
            }
            let all = [search("a"), search("b"), search("a", "text/x")]
            for endpoint in all { #expect(try await scene.kind(client, endpoint) == .miss) }
            for endpoint in all { #expect(try await scene.kind(client, endpoint) == .hit) }
            #expect(try await client.run(search("b")) == "QUERY /search b")
            #expect(try await scene.kind(client, .get("search")) == .miss)
            await client.removeCached(search("a"))
            #expect(try await scene.kind(client, search("a")) == .miss)
            try await client.run(Endpoint<String>.put("search"))
            for endpoint in all { #expect(try await scene.kind(client, endpoint) == .miss) }
        }
    }

    @Test("K10: equal values are the same QUERY, in whatever order they have their members")
    func queryOfJSON() async throws {
        scene.answer()
        let client = scene.client(scene.cache(.memory))
        func search(_ body: RequestBody) -> Endpoint<String> { Endpoint(.query, "search", body: body) }
        let names = (0..<20).map { "name\($0)" }
        func members(_ names: some Sequence<String>) -> [String: Int] {
            var members: [String: Int] = [:]
            for name in names { members[name] = name.utf8.count }
            return members
        }
        #expect(try await scene.kind(client, search(.json(members(names)))) == .miss)
        #expect(try await scene.kind(client, search(.json(members(names.reversed())))) == .hit)
        let large = ["18446744073709551614", "18446744073709551615"].map { #"{"id":\#($0)}"# }
        for text in large + [#"{"a":1,"a":2}"#, #"{"a":1,"a":3}"#] {
            let body = RequestBody.data(Data(text.utf8), contentType: "application/json")
            #expect(try await scene.kind(client, search(body)) == .miss, "\(text)")
        }
    }

    @Test(
        "K10: a POST is stored under a name that its call gives, and changes nothing then",
        arguments: CacheKind.allCases)
    func post(kind: CacheKind) async throws {
        scene.answer()
        try await withoutDiskThreads { () async throws in
            let client = scene.client(scene.cache(kind))
            let search = Endpoint<String>.post("search", body: .data(Data("a".utf8), contentType: "text/plain"))
            let other = Endpoint<String>.get("search")
            #expect(try await scene.kind(client, other) == .miss)
            #expect(try await scene.kind(client, search.cache(key: "search a")) == .miss)
            #expect(try await scene.kind(client, search.cache(key: "search a")) == .hit)
            #expect(try await scene.kind(client, search.cache(key: "search b")) == .miss)
            #expect(try await scene.kind(client, other) == .hit)
            #expect(try await scene.kind(client, search) == .miss)
            for endpoint in [other, search.cache(key: "search a")] {
                #expect(try await scene.kind(client, endpoint) == .miss)
            }
        }
    }

    // MARK: Problems

    @Test("K15: a wall scene.clock that is set back between two processes makes nothing fresh")
    func clockBetweenProcesses() async throws {
        scene.answer()
        try await withoutDiskThreads { () async throws in
            #expect(try await scene.kind(scene.client(scene.cache(.disk)), .get("x")) == .miss)
            await scene.clock.advance(by: .seconds(500))
            #expect(try await scene.kind(scene.client(scene.cache(.disk)), .get("x")) == .hit)
            await scene.clock.advance(by: .seconds(200))
            scene.clock.date.addTimeInterval(-600)
            #expect(try await scene.kind(scene.client(scene.cache(.disk)), .get("x")) == .miss)
        }
    }

    @Test("a folder that cannot be used is reported once, to whoever listens")
    func unusable() async throws {
        scene.answer()
        try scene.scratch.write("", to: "cache")
        let warnings = Noted<[String]>([])
        try await withoutDiskThreads { () async throws in
            let client = scene.client(scene.cache(.disk)) {
                $0.observe = { event in if case .warned(let text) = event.kind { warnings.update { $0.append(text) } } }
            }
            for path in ["a", "b"] {
                #expect(try await client.reply(to: Endpoint<String>.get("\(path)")).cache?.reason == .notWritten)
            }
        }
        #expect(warnings.value.count == 1)
        #expect(warnings.value.first?.contains("\(scene.folder), cannot be used as it is") == true)
    }

    @Test("K3: that nothing is stored because of middleware is reported once")
    func changedBelow() async throws {
        scene.answer()
        let warnings = Noted<[String]>([])
        let client = scene.client(scene.cache(.memory)) {
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
        scene.answer()
        let folder = scene.folder
        let warnings = Noted<[String]>([])
        try await withoutDiskThreads { () async throws in
            for path in ["a", "b"] { try await scene.client(scene.cache(.disk)).run(Endpoint<String>.get("\(path)")) }
            // As a copy without modes leaves it.
            for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
                let isFolder = responseFiles(in: folder).contains(name) || name == "key"
                try FileManager.default.setAttributes(
                    [.posixPermissions: isFolder ? 0o644 : 0o555], ofItemAtPath: "\(folder)/\(name)")
            }
            try FileManager.default.setAttributes([.posixPermissions: 0o555], ofItemAtPath: folder)
            let client = scene.client(scene.cache(.disk)) {
                $0.observe = { event in if case .warned(let text) = event.kind { warnings.update { $0.append(text) } } }
            }
            for path in ["a", "b"] { #expect(try await scene.kind(client, .get("\(path)")) == .miss) }
            #expect(responseFiles(in: folder).count == 2)
            let next = scene.client(scene.cache(.disk))
            for path in ["a", "b"] { #expect(try await scene.kind(next, .get("\(path)")) == .hit) }
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
