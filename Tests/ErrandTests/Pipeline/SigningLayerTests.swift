@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The signing layer")
struct SigningLayerTests {
    @Test("an error shows neither of the two tokens that a replayed call has sent")
    func echo() async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/me") {
            ScriptedReply.status(401)
            ScriptedReply.json(#"{"message": "neither first-token-4711 nor second-token-4712 may do it"}"#, status: 403)
        }
        let tokens = TokenStore(time: clock) { _ in Token(accessToken: "second-token-4712") }
        let client = testClient(network, clock) { $0.tokens = tokens }
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "first-token-4711"))
            let error = await failure { () async throws(ServiceError) in try await client.run(.me) }
            guard case .rejected(let rejection) = error else { throw try #require(error) }
            let message = try #require(rejection.message)
            #expect(message.hasPrefix("neither") && message.hasSuffix("may do it"))
            #expect(!message.contains("first-token") && !message.contains("second-token"))
        }
    }

    @Test("`none` is no absent value: a call whose option was set to it is not signed")
    func neverSigned() async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.get, "/me") { ScriptedReply.json(#""ann""#).times(2) }
        let tokens = TokenStore(time: clock)
        await tokens.signIn(Token(accessToken: "a1"))
        let client = testClient(network, clock) { $0.tokens = tokens }
        var endpoint = Endpoint<String>.me
        endpoint.options.authentication = .none
        _ = try await client.run(endpoint)
        endpoint.options.authentication = .automatic
        _ = try await client.run(endpoint)
        #expect(network.sent.map { $0.request.headers["Authorization"] } == [nil, "Bearer a1"])
    }

    @Test("an error shows none of the three tokens that a retried call has sent")
    func echoAfterRetry() async throws {
        let (clock, network, made) = (TestClock(), scripted(), Noted(0))
        network.on(.get, "/me") {
            ScriptedReply.status(401)
            ScriptedReply.status(503)
            ScriptedReply.status(401)
            ScriptedReply.json(#"{"message": "not token-4710, token-4711 or token-4712 may do it"}"#, status: 403)
        }
        let tokens = TokenStore(time: clock) { _ in
            made.update { $0 += 1 }
            return Token(accessToken: "token-471\(made.value)")
        }
        let client = testClient(network, clock) { $0.tokens = tokens }
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "token-4710"))
            let error = await failure { () async throws(ServiceError) in try await client.run(.me) }
            guard case .rejected(let rejection) = error else { throw try #require(error) }
            let message = try #require(rejection.message)
            #expect(message.hasPrefix("not") && message.hasSuffix("may do it") && !message.contains("471"))
        }
    }

    @Test("T13: a call that has waited for its token goes ahead of the others in the queue")
    func urgent() async throws {
        let scene = AuthScene(lifetime: .zero, takes: .milliseconds(1500)) {
            $0.rateLimit = .requests(1, per: .seconds(1))
        }
        scene.network.on(.get, "/open") { ScriptedReply.json(#""open""#).times(5) }
        let (clock, client) = (scene.clock, scene.client)
        try await clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            async let mine = scene.me()
            try await clock.sleep(for: .milliseconds(1))
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<5 { group.addTask { try await client.run(.get("open").authentication(.none)) } }
                for try await _ in group {}
            }
            _ = try await mine
        }
        #expect(
            scene.network.sent.map(\.request.url.path) == ["/open", "/open", "/me", "/open", "/open", "/open"])
    }

    @Test("T13: a call whose token has expired in the queue gives its permit to the refresh")
    func makesWay() async throws {
        let (clock, network, lives) = (TestClock(), scripted(), Noted([5.0, 50]))
        let limiter = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        let login = testClient(network, clock) { $0.limiter = limiter }
        network.on(.post, "/token") { ScriptedReply.json(#""new""#).times(2) }
        network.on(.get, "/me") { .json(#""ann""#) }
        let tokens = TokenStore(time: clock) { _ in
            let access: String = try await login.run(.post("token"))
            let life = lives.value.first ?? 0
            lives.update { $0.removeFirst() }
            return Token(accessToken: "\(access)\(life)", expiry: clock.date.addingTimeInterval(life))
        }
        let client = testClient(network, clock) { ($0.limiter, $0.tokens) = (limiter, tokens) }
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "old", expiry: clock.date))
            _ = try await client.run(.me)
        }
        #expect(network.sent.map { Instant.zero.duration(to: $0.at) } == [.zero, .seconds(10), .seconds(20)])
        #expect(network.sent.last?.request.url.path == "/me")
    }

    @Test("T13: a replay goes ahead of calls without a token in the queue")
    func urgentReplay() async throws {
        let scene = AuthScene(takes: .milliseconds(1500)) { $0.rateLimit = .requests(1, per: .seconds(1)) }
        scene.network.on(.get, "/open") { ScriptedReply.json(#""open""#).times(3) }
        let (clock, client) = (scene.clock, scene.client)
        try await clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            scene.server.refuseAccess(of: "ann")
            async let mine = scene.me()
            try await clock.sleep(for: .milliseconds(1))
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<3 { group.addTask { try await client.run(.get("open").authentication(.none)) } }
                for try await _ in group {}
            }
            _ = try await mine
        }
        #expect(scene.network.sent.map(\.request.url.path) == ["/me", "/open", "/me", "/open", "/open"])
    }

    @Test("T13: a refresh goes ahead of calls without a token in the queue")
    func urgentRefresh() async throws {
        let (clock, network) = (TestClock(), scripted())
        let limiter = RateLimiter(.requests(1, per: .seconds(1)), time: clock)
        let login = testClient(network, clock) { $0.limiter = limiter }
        network.on(.post, "/token") { .json(#""new""#) }
        network.on(.get, "/me") {
            ScriptedReply.status(401).after(.milliseconds(10))
            ScriptedReply.json(#""ann""#)
        }
        network.on(.get, "/open") { ScriptedReply.json(#""open""#).times(3) }
        let tokens = TokenStore(time: clock) { _ in Token(accessToken: try await login.run(.post("token"))) }
        let client = testClient(network, clock) { ($0.limiter, $0.tokens) = (limiter, tokens) }
        try await clock.runTest {
            await tokens.signIn(Token(accessToken: "old"))
            async let mine: String = client.run(.me)
            try await clock.sleep(for: .milliseconds(1))
            try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<3 { group.addTask { try await client.run(.get("open").authentication(.none)) } }
                for try await _ in group {}
            }
            _ = try await mine
        }
        #expect(network.sent.map(\.request.url.path) == ["/me", "/token", "/me", "/open", "/open", "/open"])
    }
}
