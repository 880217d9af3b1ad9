@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// A server that forbids to store anything, and an app that keeps copies for a start without a network.
@Suite("Copies of what must not be stored", .timeLimit(.minutes(10))) struct KeptCopyTests {
    private let scene: CacheScene
    private let endpoint = Endpoint<Int>.get("me")
    private let tokens: TokenStore

    init() throws {
        scene = try CacheScene()
        // The cache of a session that is saved nowhere is in memory only.
        tokens = TokenStore(persistence: .file(scene.scratch.path("session")), time: scene.clock)
    }

    private func client(
        _ cache: HTTPCache, _ policies: [CachePolicy] = [.keepingCopy], isSigned: Bool = true
    ) -> APIClient {
        scene.client(cache) {
            $0.cachePolicies = policies
            $0.retry = .never
            if isSigned { $0.tokens = tokens }
        }
    }

    private func answer(_ text: String, _ control: String = "no-store") -> ScriptedReply {
        .json(text, headers: ["Cache-Control": control])
    }

    private func signIn() async { await tokens.signIn(Token(accessToken: "ann")) }

    private static let forbidding = [
        "no-store", "no-store, max-age=600", "no-cache, private", "max-age=0, must-revalidate",
    ]

    @Test(
        "K17: the server is asked each time, and the copy is used if it fails, in the next process too",
        arguments: CacheKind.allCases, forbidding)
    func failing(kind: CacheKind, control: String) async throws {
        await signIn()
        scene.network.on(
            .get, "/me", answer("1", control), answer("2", control), .failure(.dns), .status(503), answer("3", control))
        try await withoutDiskThreads {
            var cache = scene.cache(kind)
            #expect(try await client(cache).run(endpoint) == 1)
            #expect(try await client(cache).reply(to: endpoint).cache?.kind == .miss)
            if kind == .disk { cache = scene.cache(kind) }
            await scene.clock.advance(by: .seconds(86_400))
            for _ in 0..<2 {
                let reply = try await client(cache).reply(to: endpoint)
                #expect(reply.value == 2)
                #expect(reply.cache == CacheStatus(.stale, age: .seconds(86_400), reason: .serverFailed))
            }
            #expect(try await client(cache).run(endpoint) == 3)
        }
        try scene.network.verify()
    }

    @Test("K17: without a network, and with `onlyIfCached`, the copy is there at once; then a list shows both")
    func offline() async throws {
        await signIn()
        scene.network.on(.get, "/me", answer("1"), answer("2"))
        let isOnline = Noted(true)
        let client = scene.client {
            $0.cachePolicies = [.keepingCopy]
            $0.retry = .never
            $0.tokens = tokens
            $0.connectivity = Connectivity { isOnline.value }
        }
        _ = try await client.run(endpoint)
        isOnline.update { $0 = false }
        #expect(try await client.run(endpoint) == 1)
        let local = try await client.reply(to: endpoint.cache(.onlyIfCached))
        #expect(local.cache == CacheStatus(.stale, age: .zero, reason: .accepted))
        isOnline.update { $0 = true }
        var values: [Int] = []
        for try await reply in client.replies(to: endpoint) { values.append(reply.value) }
        #expect(values == [1, 2])
    }

    @Test("K17: a slow server is waited for as long as `networkFirst` says")
    func slow() async throws {
        await signIn()
        scene.network.on(.get, "/me", answer("1"), answer("2").after(.seconds(10)))
        let client = client(scene.cache, [.keepingCopy, .networkFirst(within: .seconds(3))])
        _ = try await client.run(endpoint)
        let (reply, time) = try await scene.clock.run {
            let reply = try await client.reply(to: endpoint)
            return (reply, scene.clock.elapsed)
        }
        #expect(reply.value == 1 && reply.cache?.reason == .serverIsSlow && time == .seconds(3))
        await client.shutdown()
    }

    @Test("K17: a call without the policy neither uses the copy nor is given its conditions")
    func others() async throws {
        await signIn()
        scene.network.on(
            .get, "/me", .json("1", headers: ["Cache-Control": "no-store", "ETag": "\"1\""]), .failure(.dns),
            answer("2"))
        _ = try await client(scene.cache).run(endpoint)
        let plain = client(scene.cache, [.staleUpTo(.seconds(Int64.max))])
        await #expect(throws: ServiceError.self) { try await plain.run(endpoint) }
        #expect(try await plain.run(endpoint.cache(.standard)) == 2)
        #expect(scene.network.sent.allSatisfy { $0.request.headers["If-None-Match"] == nil })
    }

    @Test(
        "K17: a copy stays one in the next process, also while the server would call it fresh",
        arguments: CacheKind.allCases)
    func restarted(kind: CacheKind) async throws {
        await signIn()
        scene.network.on(
            .get, "/me", answer("1", "no-store, max-age=600"), answer("2", "no-store, max-age=600"), .failure(.dns),
            answer("3", "no-store"), .failure(.dns))
        try await withoutDiskThreads {
            var cache = scene.cache(kind)
            let first = try await client(cache).run(endpoint)
            if kind == .disk { cache = scene.cache(kind) }
            let second = try await client(cache).run(endpoint)
            #expect(first == 1 && second == 2)
            if kind == .disk { cache = scene.cache(kind) }
            let plain = client(cache, [.staleUpTo(.seconds(86_400)), .networkFirst(within: .seconds(1))])
            await #expect(throws: ServiceError.self) { try await plain.run(endpoint) }
            // It keeps none, and removes none.
            let third = try await plain.run(endpoint)
            let kept = try await client(cache).run(endpoint)
            #expect(third == 3 && kept == 2)
        }
        try scene.network.verify()
    }

    @Test("K6: a change removes the copy")
    func changed() async throws {
        await signIn()
        scene.network.on(.get, "/me", answer("1"), .failure(.dns))
        scene.network.on(.put, "/me", .status(204))
        let client = client(scene.cache)
        _ = try await client.run(endpoint)
        try await client.run(.put("me"))
        await #expect(throws: ServiceError.self) { try await client.run(endpoint) }
    }

    @Test("K17: what the server calls fresh, and allows to store, is used without asking")
    func allowed() async throws {
        await signIn()
        scene.network.on(.get, "/me", answer("1", "max-age=60"))
        let client = client(scene.cache)
        for _ in 0..<3 { #expect(try await client.run(endpoint) == 1) }
    }

    @Test("K17: a copy goes with the session, and another user has none", arguments: CacheKind.allCases)
    func users(kind: CacheKind) async throws {
        await signIn()
        scene.network.on(.get, "/me", answer("1"), .failure(.dns))
        try await withoutDiskThreads {
            let cache = scene.cache(kind)
            _ = try await client(cache).run(endpoint)
            #expect(await cache.entries.count == 1)
            await tokens.signOut()
            await tokens.signIn(Token(accessToken: "ben"))
            #expect(await cache.entries.isEmpty)
            if kind == .disk { #expect(responseFiles(in: scene.folder).isEmpty) }
            await #expect(throws: ServiceError.self) { try await client(cache).run(endpoint) }
        }
    }

    @Test("K7: what is not signed, and what is no success, leaves no copy")
    func unsigned() async throws {
        await signIn()
        scene.network.on(.get, "/me", answer("1"), .json("{}", status: 404, headers: ["Cache-Control": "no-store"]))
        let unsigned = try await client(scene.cache, isSigned: false).reply(to: endpoint)
        #expect(unsigned.cache == CacheStatus(.miss, reason: .forbidden))
        await #expect(throws: ServiceError.self) { try await client(scene.cache).run(endpoint) }
        #expect(await scene.cache.entries.isEmpty)
    }

    @Test("K2: a call that forbids to store keeps no copy")
    func forbiddenByCall() async throws {
        await signIn()
        scene.network.on(.get, "/me", answer("1").times(2))
        let client = client(scene.cache)
        _ = try await client.run(endpoint.cache(.noStore))
        _ = try await client.run(endpoint.header("Cache-Control", "no-store"))
        #expect(await scene.cache.entries.isEmpty)
    }
}
