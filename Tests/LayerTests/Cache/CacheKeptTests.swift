@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("What is removed from a cache, and what stays", .timeLimit(.minutes(10))) struct CacheKeptTests {
    private let scene: CacheScene

    init() throws {
        scene = try CacheScene()
    }

    @Test("K6: a tag leads to what its call has stored or used", arguments: CacheKind.allCases)
    func usedTags(kind: CacheKind) async throws {
        scene.answer()
        try await withoutDiskThreads { () async throws in
            let cache = scene.cache(kind)
            let client = scene.client(cache)
            let endpoint = Endpoint<String>.get("x")
            #expect(try await scene.kind(client, endpoint.tags("first")) == .miss)
            #expect(try await scene.kind(client, endpoint.tags("second", "third")) == .hit)
            #expect(try await scene.kind(client, endpoint) == .hit)
            await cache.invalidate(tag: "other")
            #expect(try await scene.kind(client, endpoint) == .hit)
            if kind == .disk {
                // A new process, which has nothing in memory.
                await scene.cache(kind).invalidate(tag: "second")
                #expect(try await scene.kind(scene.client(scene.cache(kind)), endpoint) == .miss)
            } else {
                await cache.invalidate(tag: "second")
                #expect(try await scene.kind(client, endpoint) == .miss)
            }
        }
    }

    @Test("K6: tags that many calls add at once all lead to the response", arguments: CacheKind.allCases)
    func manyTags(kind: CacheKind) async throws {
        scene.answer()
        let cache = scene.cache(kind)
        let client = scene.client(cache)
        for number in 0..<12 {
            try await client.run(Endpoint<String>.get("x"))
            await withTaskGroup(of: Void.self) { group in
                for tag in 0..<12 {
                    group.addTask { _ = try? await client.run(Endpoint<String>.get("x").tags("\(tag)")) }
                }
            }
            await cache.invalidate(tag: "\(number)")
            #expect(try await scene.kind(client, .get("x")) == .miss, "\(number)")
        }
    }

    @Test(
        "K6: a change that only its user sees leaves what others have stored for the URL", arguments: CacheKind.allCases
    )
    func onlyOwn(kind: CacheKind) async throws {
        scene.answer()
        let sessions = [
            TokenStore(persistence: .file(scene.scratch.path("ann")), time: scene.clock), TokenStore(time: scene.clock),
        ]
        try await withoutDiskThreads { () async throws in
            let cache = scene.cache(kind)
            for (number, tokens) in sessions.enumerated() { await tokens.signIn(Token(accessToken: "\(number)")) }
            let clients = sessions.map { tokens in scene.client(cache) { $0.tokens = tokens } }
            let (me, mine) = (Endpoint<String>.get("me"), Endpoint<String>.get("me").cache(key: "mine"))
            let odd = Endpoint<String>(.get, "me", headers: ["X-View": "full"])
            let all = [me, mine, odd]
            let everybody = me.authentication(.none)
            func kinds() async throws -> [CacheStatus.Kind?] {
                var kinds: [CacheStatus.Kind?] = []
                for client in clients {
                    for endpoint in all { kinds.append(try await scene.kind(client, endpoint)) }
                }
                return kinds + [try await scene.kind(clients[0], everybody)]
            }
            #expect(try await kinds() == [.miss, .miss, .miss, .miss, .miss, .miss, .miss])
            #expect(try await kinds() == [.hit, .hit, .hit, .hit, .hit, .hit, .hit])
            // A header of its own does not make the change another user's.
            let change = Endpoint<String>(.put, "me", headers: ["X-CSRF-Token": "7"])
            try await clients[0].run(change.cache(.onlyOwn))
            #expect(try await kinds() == [.miss, .miss, .miss, .hit, .hit, .hit, .hit])
            try await clients[0].run(change.cache(.onlyOwn).authentication(.none))
            #expect(try await kinds() == [.miss, .miss, .miss, .miss, .miss, .miss, .miss])
            try await clients[1].run(change)
            #expect(try await kinds() == [.miss, .miss, .miss, .miss, .miss, .miss, .miss])
        }
    }

    @Test("K6: what is below a URL is removed, whatever its query", arguments: CacheKind.allCases)
    func below(kind: CacheKind) async throws {
        scene.answer()
        try await withoutDiskThreads { () async throws in
            let cache = scene.cache(kind)
            let client = scene.client(cache)
            let paths = ["friends", "friends/7", "friends/7/photos", "friends?page=2", "friendships", "users"]
            for path in paths { try await client.run(Endpoint<String>.get(url: "https://api.test/\(path)")) }
            try await client.run(Endpoint<String>.get("friends/8").cache(key: "eight"))
            #expect(cache.statistics.responses == 7)
            await cache.removeAll(below: "friends")
            #expect(cache.statistics.responses == 7)
            await cache.removeAll(below: "https://api.test/friends/7/")
            #expect(cache.statistics.responses == 5)
            await cache.removeAll(below: "https://api.test/friends")
            #expect(cache.statistics.responses == 2)
            await cache.removeAll(below: "https://other.test")
            #expect(cache.statistics.responses == 2)
            await cache.removeAll(below: "https://api.test")
            #expect(cache.statistics.responses == 0)
        }
    }

    @Test("memory is given back down to a limit, and what was used last stays")
    func trim() async throws {
        scene.answer()
        try await withoutDiskThreads { () async throws in
            let cache = scene.cache(.memory)
            let client = scene.client(cache)
            for number in 0..<40 {
                let body = String(repeating: "x", count: 40_000)
                try await client.run(
                    Endpoint<String>(.query, "\(number)", body: .data(Data(body.utf8), contentType: "text/plain")))
            }
            try await client.run(Endpoint<String>.get("last"))
            #expect(cache.statistics.responses < 40)
            cache.trimMemory(toMegabytes: 1)
            #expect(cache.statistics.responses > 1)
            cache.trimMemory()
            #expect(cache.statistics.responses == 0)
            let disk = scene.cache(.disk)
            try await scene.client(disk).run(Endpoint<String>.get("x"))
            disk.trimMemory()
            #expect(disk.statistics.responses == 1)
            #expect(try await scene.kind(scene.client(disk), .get("x")) == .hit)
        }
    }

    @Test("the entries of a cache can be looked at, without their content and secrets", arguments: CacheKind.allCases)
    func entries(kind: CacheKind) async throws {
        scene.answer()
        try await withoutDiskThreads { () async throws in
            let cache = scene.cache(kind)
            let client = scene.client(cache)
            try await client.run(Endpoint<String>.get("a").query("access_token", "hunter2").tags("t"))
            await scene.clock.advance(by: .seconds(1))
            try await client.run(Endpoint<String>.get("b").cache(key: "b"))
            let entries = await cache.entries
            #expect(entries.map(\.status) == [200, 200] && entries.map(\.tags) == [[], ["t"]])
            #expect(entries.map(\.lifetime) == [.seconds(600), .seconds(600)] && entries.allSatisfy { $0.bytes > 40 })
            #expect(entries.first?.received == scene.clock.date)
            #expect(!"\(entries)".contains("hunter2"))
            let isInMemory = kind == .memory
            #expect(entries.first?.url == (isInMemory ? "https://api.test/b" : nil))
            await cache.removeAll()
            #expect(await cache.entries.isEmpty)
        }
    }

    @Test("K6: a tag that is added to a response under a name leaves what leads to it: its URL, and those above")
    func tagsOfNames() async throws {
        scene.answer()
        let picture = Endpoint<String>.get("pictures/7").query("sig", "1").cache(key: "p7")
        let query = Endpoint<String>(.query, "pictures/8", body: .data(Data("a".utf8), contentType: "text/plain"))
        let removals: [(HTTPCache) async -> Void] = [
            { await $0.removeAll(below: "https://api.test/pictures") },
            {
                await $0.remove("https://api.test/pictures/7?sig=1")
                await $0.remove("https://api.test/pictures/8")
            }, { await $0.invalidate(tag: "first") }, { await $0.invalidate(tag: "second") },
        ]
        try await withoutDiskThreads { () async throws in
            for remove in removals {
                for endpoint in [picture, query] {
                    #expect(try await scene.kind(scene.client(scene.cache(.disk)), endpoint.tags("first")) == .miss)
                    // A new process, which has only the file.
                    #expect(try await scene.kind(scene.client(scene.cache(.disk)), endpoint.tags("second")) == .hit)
                }
                await remove(scene.cache(.disk))
                #expect(responseFiles(in: scene.folder).isEmpty)
            }
        }
    }

    @Test("K6: the tags of all calls stay, in whatever order their answers are stored", arguments: CacheKind.allCases)
    func tagsOfAnswers(kind: CacheKind) async throws {
        let held = HeldReplies()
        scene.network.on(.get, "/x") { _ in .response(await held.reply()) }
        try await withoutDiskThreads { () async throws in
            let cache = scene.cache(kind)
            let client = scene.client(cache)
            async let tagged = client.run(Endpoint<String>.get("x").tags("t"))
            await held.waits(for: 1)
            async let plain = client.run(Endpoint<String>.get("x"))
            await held.waits(for: 2)
            held.release(0)
            _ = try await tagged
            held.release(1)
            _ = try await plain
            #expect(cache.statistics.responses == 1)
            await cache.invalidate(tag: "t")
            #expect(cache.statistics.responses == 0)
        }
    }

    @Test(
        "K4, K6: what the server does not confirm goes, also if a call has added its tag meanwhile",
        arguments: CacheKind.allCases, [404, 200])
    func contradicted(kind: CacheKind, status: Int) async throws {
        let held = HeldReplies()
        let isFirst = Noted(true)
        scene.network.on(.get, "/x") { _ in
            defer { isFirst.value = false }
            if isFirst.value {
                let headers: HTTPHeaders = ["Cache-Control": "max-age=10", "ETag": "\"1\""]
                return .status(200, headers: headers, body: #""a""#)
            }
            _ = await held.reply()
            let headers: HTTPHeaders = ["Cache-Control": "no-store"]
            return .status(status, headers: headers, body: #""b""#)
        }
        try await withoutDiskThreads { () async throws in
            let cache = scene.cache(kind)
            let client = scene.client(cache) { $0.retry = .never }
            let endpoint = Endpoint<String>.get("x")
            _ = try await client.run(endpoint)
            await scene.clock.advance(by: .seconds(20))
            async let answer = Result { () async throws(ServiceError) in try await client.run(endpoint) }
            await held.waits(for: 1)
            let local = endpoint.cache(.onlyIfCached, .staleUpTo(.seconds(600)))
            #expect(try await client.run(local.tags("t")) == "a")
            held.release(0)
            _ = await answer
            #expect(cache.statistics.responses == 0)
        }
    }

    @Test("a response with more tags and groups than can be looked at with each change is not stored")
    func manyNames() async throws {
        let groups = (0..<300).map { "\"\($0)\"" }.joined(separator: ", ")
        scene.network.on(
            .get, "/groups", .json("\"x\"", headers: ["Cache-Control": "max-age=60", "Cache-Groups": groups]))
        scene.network.on(.get, "/tags") {
            ScriptedReply.json("\"x\"", headers: ["Cache-Control": "max-age=600"]).always
        }
        try await withoutDiskThreads { () async throws in
            for kind in CacheKind.allCases {
                let client = scene.client(scene.cache(kind))
                if kind == .memory {
                    #expect(try await client.reply(to: Endpoint<String>.get("groups")).cache?.reason == .tooLarge)
                }
                var misses = 0
                for number in 0..<600 {
                    if try await scene.kind(client, .get("tags").tags("\(number)")) == .miss { misses += 1 }
                }
                #expect(misses == 3, "\(kind)")
            }
        }
    }
}

/// Replies that are held back until a test releases them, in the order of their requests.
private final class HeldReplies: Sendable {
    private let gates = Noted<[Latch]>([])

    func reply() async -> HTTPResponse {
        let gate = Latch()
        gates.update { $0.append(gate) }
        await gate.opened()
        return HTTPResponse(
            status: 200, headers: ["Cache-Control": "max-age=600"], body: .bytes(Data(#""x""#.utf8)))
    }

    /// Returns when so many requests wait.
    func waits(for count: Int) async {
        while gates.value.count < count { await Task.yield() }
    }

    func release(_ number: Int) { gates.value[number].open() }
}
