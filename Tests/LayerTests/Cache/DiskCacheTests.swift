@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A cache in a folder", .timeLimit(.minutes(10))) struct DiskCacheTests {
    private let scratch: Scratch
    private let clock = TestClock()
    private let network = scripted()

    init() throws {
        scratch = try Scratch()
    }

    private var folder: String { scratch.path("cache") }

    /// A client of a new process: it has nothing but the folder.
    private func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        testClient(network, clock) { configuration in
            configuration.cache = .disk(folder, megabytes: 1)
            configure(&configuration)
        }
    }

    private var files: [String] { responseFiles(in: folder) }

    private func echo(_ headers: HTTPHeaders = ["Cache-Control": "max-age=600"]) {
        network.onAny { request in
            let token = request.headers["Authorization"] ?? "nobody"
            return .status(200, headers: headers, body: "\"\(token)\"")
        }
    }

    @Test("K6, K9: a thousand writes at once remove what they name, and nothing else")
    func manyWrites() async throws {
        network.onAny { request in
            guard request.method == .get else { return .status(204) }
            return .status(200, headers: ["Cache-Control": "max-age=600"], body: "1")
        }
        let client = client()
        let kept = (0..<20).map { Endpoint<Int>.get("kept/\($0)") }
        for endpoint in kept { _ = try await client.run(endpoint) }
        _ = try await client.run(Endpoint<Int>.get("named").cache(key: "name"))
        await HeldPlace("\(folder)/").release()
        #expect(files.count == 21)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<1000 {
                let write = Endpoint<NoContent>.post(number == 9 ? "named" : "\(number)")
                group.addTask { _ = try? await client.run(write) }
            }
        }
        await HeldPlace("\(folder)/").release()
        #expect(files.count == 20)
        for endpoint in kept { #expect(try await client.reply(to: endpoint).cache?.kind == .hit) }
    }

    @Test("K9: the next process has what this one has stored, and knows its age by the wall clock")
    func nextProcess() async throws {
        network.on(
            .get, "/x", .json("[1]", headers: ["Cache-Control": "max-age=60", "ETag": "\"1\""]),
            .status(304, headers: ["Cache-Control": "max-age=90"]))
        let endpoint = Endpoint<[Int]>.get("x")
        let (network, clock) = (network, clock)
        try await withoutDiskThreads {
            let miss = try await client().reply(to: endpoint)
            #expect(miss.cache?.kind == .miss)
            await clock.advance(by: .seconds(50))
            let second = client()
            let hit = try await second.reply(to: endpoint)
            #expect(hit.value == [1] && hit.cache == CacheStatus(.hit, age: .seconds(50)))
            #expect(second.configuration.cache?.statistics.hits == 1)
            await clock.advance(by: .seconds(20))
            #expect(try await client().reply(to: endpoint).cache?.kind == .revalidated)
            await clock.advance(by: .seconds(80))
            #expect(try await client().reply(to: endpoint).cache == CacheStatus(.hit, age: .seconds(80)))
            #expect(network.sent.count == 2)
        }
    }

    @Test("K7: no credential of a request is on the disk, and what must not be stored leaves no trace")
    func traces() async throws {
        let tokens = TokenStore(persistence: .file(scratch.path("session")), time: clock)
        await tokens.signIn(Token(accessToken: "hunter2"))
        network.on(.get, "/secret", .json("\"hunter7\"", headers: ["Cache-Control": "no-store, max-age=600"]))
        let vary = "Authorization, Cookie, X-Api-Key"
        network.onAny { _ in
            let headers: HTTPHeaders = ["Cache-Control": "max-age=600", "Vary": vary, "Set-Cookie": "s=h5"]
            return .status(200, headers: headers, body: "1")
        }
        let secrets: HTTPHeaders = ["Cookie": "hunter3", "X-Api-Key": "hunter4"]
        try await withoutDiskThreads {
            let client = client { $0.tokens = tokens }
            let kinds = [
                try await client.reply(to: Endpoint<Data>.get("me", headers: secrets)),
                try await client.reply(to: Endpoint<Data>.get("me").query("access_token", "hunter6")),
                try await client.reply(to: Endpoint<Data>.get("me").query("sig", "hunter8").cache(key: "picture")),
            ].map(\.cache)
            #expect(kinds.allSatisfy { $0 == CacheStatus(.miss) }, "\(kinds)")
            let count = files.count
            #expect(count == 3)
            #expect(try await client.reply(to: Endpoint<Data>.get("secret")).cache?.reason == .forbidden)
            let unstored = Endpoint<Data>.get("me").query("n", "1").cache(.noStore)
            #expect(try await client.reply(to: unstored).cache?.kind == .miss)
            #expect(files.count == count)
        }
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            let bytes = FileManager.default.contents(atPath: "\(folder)/\(name)") ?? Data()
            let text = name + String(decoding: bytes, as: UTF8.self)
            for secret in (2...8).map({ "hunter\($0)" }) + ["s=h5"] { #expect(!text.contains(secret), "\(name)") }
        }
    }

    @Test("K7: a restart and a refresh keep what belongs to the session, and a sign-out removes it from the disk")
    func session() async throws {
        echo()
        let endpoint = Endpoint<String>.get("me")
        let path = scratch.path("session")
        let clock = clock
        func tokens() -> TokenStore {
            TokenStore(persistence: .file(path), leeway: .zero, time: clock) { [clock] _ in
                Token(accessToken: "second", expiry: clock.date.addingTimeInterval(1000))
            }
        }
        try await withoutDiskThreads {
            let first = tokens()
            await first.signIn(Token(accessToken: "first", expiry: clock.date.addingTimeInterval(60)))
            let client = client { $0.tokens = first }
            let value = try await client.run(endpoint)
            #expect(value == "Bearer first")
            #expect(try await client.run(endpoint.authentication(.none)) == "nobody")
            await clock.advance(by: .seconds(100))
            let second = tokens()
            let next = self.client { $0.tokens = second }
            #expect(try await next.run(Endpoint<String>.get("other")) == "Bearer second")
            #expect(try await next.run(endpoint) == "Bearer first")
            #expect(files.count { $0.hasPrefix("u-") } == 2)
            // A process that has used neither the cache nor the session.
            let third = tokens()
            let last = self.client { $0.tokens = third }
            await third.signOut()
            withExtendedLifetime(last) {}
            #expect(files.count == 1 && files.first?.hasPrefix("u/") ?? false, "\(files)")
            #expect(try await self.client().reply(to: endpoint).cache?.kind == .hit)
        }
    }

    @Test("K7: what belongs to a session that no later process knows is found in memory, and never on the disk")
    func unsavedSession() async throws {
        echo()
        let endpoint = Endpoint<String>.get("me")
        let named = Endpoint<String>.get("picture").cache(key: "picture")
        try await withoutDiskThreads {
            let cache = HTTPCache.disk(folder, megabytes: 1)
            let tokens = TokenStore(time: clock)
            await tokens.signIn(Token(accessToken: "ann"))
            let client = client {
                $0.cache = cache
                $0.tokens = tokens
            }
            for signed in [endpoint, named] {
                #expect(try await client.reply(to: signed).cache == CacheStatus(.miss))
                let again = try await client.reply(to: signed)
                #expect(again.value == "Bearer ann" && again.cache?.kind == .hit)
            }
            #expect(try await client.run(endpoint.authentication(.none)) == "nobody")
            #expect(files.count == 1 && files.first?.hasPrefix("u/") ?? false, "\(files)")
            #expect(cache.statistics.responses == 3)
            await cache.remove("https://api.test/picture")
            #expect(cache.statistics.responses == 2)
            await tokens.signOut()
            #expect(cache.statistics.responses == 1 && files.count == 1)
            await tokens.signIn(Token(accessToken: "ben"))
            #expect(try await client.run(endpoint) == "Bearer ben")
        }
    }

    @Test("K7: after a sign-out, a program waits until what the session has stored is removed from the disk")
    func awaitedRemoval() async throws {
        echo()
        let tokens = TokenStore(persistence: .file(scratch.path("session")), time: clock)
        let cache = HTTPCache.disk(folder, megabytes: 1)
        try await withoutDiskThreads {
            await tokens.signIn(Token(accessToken: "ann"))
            let client = client {
                $0.cache = cache
                $0.tokens = tokens
            }
            _ = try await client.run(Endpoint<String>.get("me"))
        }
        let session = try #require(tokens.presentSession)
        let held = await HeldPlace("\(folder)/")
        let removal = try #require(cache.remove(session: session))
        #expect(!removal.isOpen && files.count == 1)
        held.release()
        await removal.opened()
        #expect(files.isEmpty)
        #expect(cache.store.pendingRemoval == nil)
    }

    @Test("K9: what is stored comes first in the next process too, and then what the server says")
    func storedFirst() async throws {
        network.on(.get, "/x", .json("[1]", headers: ["Cache-Control": "max-age=60"]), .json("[2]"))
        let endpoint = Endpoint<[Int]>.get("x")
        let clock = clock
        let path = scratch.path("session")
        try await withoutDiskThreads {
            let tokens = TokenStore(persistence: .file(path), time: clock)
            await tokens.signIn(Token(accessToken: "a"))
            _ = try await client { $0.tokens = tokens }.run(endpoint)
            await clock.advance(by: .seconds(100))
            let next = client { $0.tokens = TokenStore(persistence: .file(path), time: clock) }
            var values: [[Int]] = []
            for try await reply in next.replies(to: endpoint) { values.append(reply.value) }
            #expect(values == [[1], [2]])
        }
    }

    @Test("client.explain looks at the disk, and says that it does not know a session that is not loaded")
    func explain() async throws {
        echo()
        let endpoint = Endpoint<String>.get("x")
        let (clock, path) = (clock, scratch.path("session"))
        func outlook(of client: APIClient) -> Substring? {
            client.explain(endpoint).split(separator: "\n").last { $0.hasPrefix("cache:") }?.dropFirst(13)
        }
        try await withoutDiskThreads {
            #expect(outlook(of: client()) == "nothing is stored; it is sent")
            _ = try await client().run(endpoint)
            await clock.advance(by: .seconds(5))
            let next = client()
            #expect(outlook(of: next) == "hit, 5 s old")
            #expect(outlook(of: client { $0.tokens = TokenStore(time: clock) }) == "hit, 5 s old")

            let tokens = TokenStore(persistence: .file(path), time: clock)
            await tokens.signIn(Token(accessToken: "ann"))
            _ = try await client { $0.tokens = tokens }.run(endpoint)
            let later = TokenStore(persistence: .file(path), time: clock)
            let signed = client { $0.tokens = later }
            #expect(outlook(of: signed) == "not known before the session has been loaded")
            _ = await later.isSignedIn
            #expect(outlook(of: signed) == "hit, 0 s old")
            #expect(network.sent.count == 2 && next.configuration.cache?.statistics.hits == 0)
        }
    }

    @Test("K9: tags, groups, URLs, sessions and everything can be removed, by whoever has the folder")
    func removals() async throws {
        echo(["Cache-Control": "max-age=600"])
        try await withoutDiskThreads {
            let paths = ["a", "b", "c"]
            func fill() async throws {
                for path in paths { _ = try await client().run(Endpoint<String>.get("\(path)").tags("t-\(path)")) }
            }
            func hits() async -> [String] {
                let reader = client()
                var hits: [String] = []
                for path in paths {
                    let endpoint = Endpoint<Data>.get("\(path)").cache(.onlyIfCached)
                    // Without a response, it fails.
                    let reply = try? await reader.reply(to: endpoint)
                    if reply?.cache?.kind == .hit { hits.append(path) }
                }
                return hits
            }
            try await fill()
            #expect(await hits() == paths)
            await HTTPCache.disk(folder, megabytes: 1).invalidate(tag: "t-a")
            #expect(await hits() == ["b", "c"])
            await HTTPCache.disk(folder, megabytes: 1).remove("https://api.test/b")
            #expect(await hits() == ["c"])
            try await client().run(.put("c"))
            #expect(await hits() == [])
            try await fill()
            await HTTPCache.disk(folder, megabytes: 1).removeAll()
            #expect(await hits() == [])
        }
    }

    @Test("K9: a folder that cannot be used is no error of a call, and the statistics count it")
    func unusable() async throws {
        echo()
        try scratch.write("a file", to: "cache")
        let endpoint = Endpoint<String>.get("me")
        try await withoutDiskThreads {
            let cache = HTTPCache.disk(folder, megabytes: 1)
            let client = client { $0.cache = cache }
            let first = try await client.reply(to: endpoint)
            #expect(first.value == "nobody" && first.cache == CacheStatus(.miss, reason: .notWritten))
            #expect(cache.statistics.failures > 0 && cache.statistics.responses == 0)
            #expect(try scratch.read("cache") == "a file")
            unlink(folder)
            #expect(try await client.reply(to: endpoint.cache(.reload)).cache == CacheStatus(.miss))
            #expect(try await self.client().reply(to: endpoint).cache?.kind == .hit)
        }
    }

    @Test("a cache without a folder or without room is refused")
    func settings() async {
        for cache in [HTTPCache.disk("", megabytes: 1), .disk("/", megabytes: 1), .disk(folder, megabytes: 0)] {
            await #expect(throws: ServiceError.self) {
                try await client { $0.cache = cache }.run(Endpoint<String>.get("x"))
            }
        }
        #expect(HTTPCache.disk(URL(fileURLWithPath: folder), megabytes: 1).problem == nil)
    }
}
