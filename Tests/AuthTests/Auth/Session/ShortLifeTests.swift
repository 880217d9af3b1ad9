import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Tokens with a short lifetime")
struct ShortLifeTests {
    @Test(
        "T12: a token that is valid for seconds and accepted works for ever, and is refreshed once in its lifetime",
        arguments: [2, 8])
    func accepted(seconds: Int64) async throws {
        let scene = AuthScene(lifetime: .seconds(seconds), takes: .milliseconds(100))
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            for _ in 0..<3000 {
                _ = try await scene.me()
                try await scene.clock.sleep(for: .milliseconds(100))
            }
        }
        // Half of such a lifetime is leeway.
        let most = 300 * 2 / Int(seconds) + 2
        #expect((most / 2...most).contains(scene.server.refreshes.count), "\(scene.server.refreshes.count) refreshes")
        #expect(Set(scene.server.refreshes).count == scene.server.refreshes.count)
        #expect(scene.server.mostAtOnce == 1)
    }

    @Test("T3: a server that gives no lifetime, and refuses each token after two seconds, is asked for ever")
    func unknownLifetime() async throws {
        let (clock, network, issued) = (TestClock(), scripted(), Noted(0))
        let tokens = TokenStore(time: clock) { _ in
            issued.update { $0 += 1 }
            return Token(accessToken: "\(clock.now.nanoseconds)")
        }
        network.on(.get, "/me") { request in
            let born = Int64(request.headers["Authorization"]?.dropFirst("Bearer ".count) ?? "") ?? 0
            let isGood = clock.now.nanoseconds - born < 2_000_000_000
            return .status(isGood ? 200 : 401, body: #""ann""#)
        }
        let client = testClient(network, clock) { $0.tokens = tokens }
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "0"))
            for _ in 0..<3000 {
                _ = try await client.run(.me)
                try await clock.sleep(for: .milliseconds(100))
            }
        }
        #expect((145...150).contains(issued.value), "\(issued.value) refreshes in 300 s")
    }

    @Test("T3: an endpoint that refuses every token is capped, though another one accepts them")
    func oneRefuses() async throws {
        let scene = AuthScene()
        scene.network.on(.get, "/admin") { ScriptedReply.status(401).always }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            for _ in 0..<20 {
                _ = try await scene.me()
                _ = await failure { () async throws(ServiceError) in
                    try await scene.client.run(Endpoint<String>.get("admin"))
                }
            }
        }
        #expect(scene.server.refreshes.count == 5)
        // The session is not blocked: a token that expires is replaced.
        try await scene.clock.runTest {
            scene.server.refuseAccess(of: "ann")
            _ = try await scene.me()
        }
        #expect(scene.server.refreshes.count == 6)
    }

    @Test("T3: a new session begins with a count and a pace of its own")
    func newSession() async throws {
        let scene = AuthScene(takes: .zero, answering: false)
        scene.network.on(.get, "/me") { ScriptedReply.status(401).always }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            for _ in 0..<5 { _ = await failure(of: scene.me) }
            #expect(await failure(of: scene.me)?.reason == .tooManyRefreshes)
            await scene.tokens.signIn(scene.server.signIn("bo"))
            #expect(await failure(of: scene.me)?.status == 401)
            #expect(scene.server.refreshes.last == "refresh.bo.0")
            for _ in 0..<10 { scene.server.plan(.fail(.reset)) }
            for _ in 0..<10 { _ = await failure(of: scene.me) }
            await scene.tokens.signIn(scene.server.signIn("cy"))
            let start = scene.clock.now
            #expect(await failure(of: scene.me)?.status == 401)
            #expect(scene.clock.now == start, "the pauses after failures were another user's")
        }
    }

    @Test("T12: if the device's clock is ahead, every token arrives expired and is used until the server refuses it")
    func clockAhead() async throws {
        let scene = AuthScene(lifetime: .seconds(-3600), takes: .milliseconds(100))
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            for _ in 0..<300 {
                _ = try await scene.me()
                try await scene.clock.sleep(for: .seconds(1))
            }
            scene.server.refuseAccess(of: "ann")
            _ = try await scene.me()
        }
        #expect(scene.server.refreshes == ["refresh.ann.0", "refresh.ann.1"])
    }

    @Test(
        "T12: a token that expired while it was saved is sent once all the same, and not replaced endlessly",
        arguments: [1, 2])
    func expiredWhileSaving(seconds: Int) async throws {
        let (clock, network) = (TestClock(), scripted())
        let (disk, server) = (
            SlowPersistence(clock, takes: .seconds(seconds)), AuthServer(clock, lifetime: .seconds(1))
        )
        let tokens = TokenStore(persistence: disk, time: clock) { old in
            if server.refreshes.count >= 10 { throw ServiceError.refused }
            return try await server.refresh(old)
        }
        network.on(.get, "/me") { .response(server.answer($0)) }
        let client = testClient(network, clock) { $0.tokens = tokens }
        try await clock.runTest {
            await tokens.signIn(server.signIn("ann"))
            for _ in 0..<3 { _ = try await client.run(.me) }
        }
        #expect(server.refreshes.count == 3)
    }

    @Test("T12: a redirect counts as an acceptance: tokens that are valid for one download each are not capped")
    func redirected() async throws {
        let (clock, network, server) = (TestClock(), scripted(), AuthServer(TestClock(), takes: .zero))
        let tokens = TokenStore(time: clock) { try await server.refresh($0) }
        network.on(.get, "https://api.test/file") { request in
            let isGood = server.answer(request).isSuccess
            server.refuseAccess(of: "ann")
            return .status(isGood ? 302 : 401, headers: ["Location": "https://files.test/1"])
        }
        network.on(.get, "https://files.test/1") { ScriptedReply.json(#""content""#).always }
        let client = testClient(network, clock) { $0.tokens = tokens }
        try await clock.runTest {
            await tokens.signIn(server.signIn("ann"))
            for _ in 0..<10 { _ = try await client.run(Endpoint<String>.get("file")) }
        }
        #expect(server.refreshes.count == 9)
    }
}
