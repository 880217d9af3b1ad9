import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("S16: calls whose session ends after they were sent", .timeLimit(.minutes(10)))
struct EndedCallTests {
    /// What ends a session.
    enum End: CaseIterable, Sendable {
        case signOut, otherUser, sameUser

        var reason: SessionExpiry.Reason { self == .signOut ? .signedOut : .otherSession }
    }

    private let scene = AuthScene(answering: false)

    private func end(_ end: End) async {
        switch end {
        case .signOut: await scene.tokens.signOut()
        case .otherUser: await scene.tokens.signIn(scene.server.signIn("bo"))
        case .sameUser: await scene.tokens.signIn(scene.server.signIn("ann"))
        }
    }

    /// Begins a call in a task of its own, and returns how it ends.
    private func outcome<Response>(
        of endpoint: Endpoint<Response>, by client: APIClient? = nil
    ) -> Task<Result<Response, ServiceError>, Never> {
        let client = client ?? scene.client
        return Task(executorPreference: scene.clock.executor) {
            do throws(ServiceError) {
                return .success(try await client.run(endpoint))
            } catch {
                return .failure(error)
            }
        }
    }

    @Test("S16: a sign-out and a sign-in end them at once, reads and writes", arguments: End.allCases, [true, false])
    func atOnce(ending: End, isRead: Bool) async throws {
        let (clock, network) = (scene.clock, scene.network)
        network.on(isRead ? .get : .post, "/x", ScriptedReply.json("\"ann's\"").after(.seconds(10)))
        await scene.tokens.signIn(scene.server.signIn("ann"))
        try await clock.runTest {
            let call = outcome(of: Endpoint<String>(isRead ? .get : .post, "x"))
            try await clock.sleep(for: .seconds(1))
            await end(ending)
            guard case .failure(let error) = await call.value else {
                Issue.record("the response of an earlier session was returned")
                return
            }
            #expect(error.reason == ending.reason)
            #expect(error.mayHaveReachedServer)
            #expect(clock.elapsed == .seconds(1))
        }
        #expect(network.sent.count == 1)
    }

    @Test("S16: a write that waits in a middleware, or for its permit, has reached no server")
    func unsent() async throws {
        let (clock, tokens) = (scene.clock, scene.tokens)
        scene.network.on(.post, "/x", .status(204))
        let held = testClient(scene.network, clock) {
            $0.tokens = tokens
            $0.callMiddlewares = [Slow(clock: clock)]
        }
        let queued = testClient(scene.network, clock) {
            $0.tokens = tokens
            $0.rateLimit = .requests(1, per: .seconds(60))
        }
        await tokens.signIn(scene.server.signIn("ann"))
        try await clock.runTest {
            try await queued.run(.post("x"))
            let calls = [outcome(of: Endpoint<NoContent>.post("x"), by: held), outcome(of: .post("x"), by: queued)]
            try await clock.sleep(for: .seconds(1))
            await tokens.signOut()
            for call in calls {
                guard case .failure(let error) = await call.value else { throw ServiceError.reset }
                #expect(error.reason == .signedOut)
                #expect(!error.mayHaveReachedServer)
            }
            #expect(clock.elapsed == .seconds(1))
        }
        #expect(scene.network.sent.count == 1)
    }

    @Test("S16: a refresh ends no call, and a refused one ends those that are on their way")
    func refresh() async throws {
        let (clock, tokens) = (scene.clock, scene.tokens)
        scene.network.on(.get, "/x") { ScriptedReply.json("\"ann's\"").after(.seconds(10)).times(2) }
        let old = scene.server.signIn("ann")
        await tokens.signIn(old)
        try await clock.runTest {
            let first = outcome(of: Endpoint<String>.get("x"))
            try await clock.sleep(for: .seconds(1))
            let newer = try await tokens.replacement(for: old)
            #expect(try await first.value.get() == "ann's")
            let second = outcome(of: Endpoint<String>.get("x"))
            try await clock.sleep(for: .seconds(1))
            scene.server.plan(.fail(.refused))
            _ = try? await tokens.replacement(for: newer)
            guard case .failure(let error) = await second.value else { throw ServiceError.reset }
            #expect(error.reason == .refreshRefused)
        }
    }

    @Test("S16: calls that are not signed belong to no session")
    func unsigned() async throws {
        let (clock, tokens) = (scene.clock, scene.tokens)
        scene.network.on(.get, "/x") { ScriptedReply.json("\"anybody's\"").after(.seconds(10)).times(2) }
        await tokens.signIn(scene.server.signIn("ann"))
        try await clock.runTest {
            let calls = [
                outcome(of: Endpoint<String>.get("x").authentication(.none)),
                outcome(of: Endpoint<String>.get("x").header("Authorization", "Basic a")),
            ]
            try await clock.sleep(for: .seconds(1))
            await tokens.signOut()
            for call in calls { #expect(try await call.value.get() == "anybody's") }
        }
    }

    @Test("S16: an endpoint that outlives its session returns its response, if it was sent")
    func outliving() async throws {
        let (clock, tokens, network) = (scene.clock, scene.tokens, scene.network)
        network.on(.get, "/x", ScriptedReply.json("\"ann's\"").after(.seconds(10)))
        network.on(.get, "/busy", ScriptedReply.status(503).after(.seconds(10)))
        network.on(.get, "/away", ScriptedReply.status(302, headers: ["Location": "/x"]).after(.seconds(10)))
        network.on(.get, "/again", .status(503, headers: ["Retry-After": "30"]))
        await tokens.signIn(scene.server.signIn("ann"))
        try await clock.runTest {
            func begin(_ path: EndpointPath) -> Task<Result<String, ServiceError>, Never> {
                outcome(of: Endpoint<String>.get(path).outlivingSession())
            }
            let (sent, busy, away, again) = (begin("x"), begin("busy"), begin("away"), begin("again"))
            try await clock.sleep(for: .seconds(1))
            await tokens.signOut()
            guard case .failure(let pausing) = await again.value else { throw ServiceError.reset }
            #expect(pausing.reason == .signedOut)
            #expect(clock.elapsed == .seconds(1))
            #expect(try await sent.value.get() == "ann's")
            // Not retried: nothing could sign it.
            guard case .failure(let refused) = await busy.value else { throw ServiceError.reset }
            #expect(refused.status == 503)
            guard case .failure(let redirected) = await away.value else { throw ServiceError.reset }
            #expect(redirected.reason == .signedOut)
            #expect(clock.elapsed == .seconds(10))
        }
        #expect(network.sent.count == 4)
    }

    @Test("S16: calls that share a transmission end with their session; those that outlive it have one of their own")
    func shared() async throws {
        let (clock, tokens, network) = (scene.clock, scene.tokens, scene.network)
        network.on(.get, "/x") { ScriptedReply.json("\"ann's\"").after(.seconds(10)).times(2) }
        let client = testClient(network, clock) {
            $0.tokens = tokens
            $0.sharesEqualRequests = true
        }
        await tokens.signIn(scene.server.signIn("ann"))
        try await clock.runTest {
            let ending = (0..<3).map { _ in outcome(of: Endpoint<String>.get("x"), by: client) }
            let lasting = (0..<3).map { _ in outcome(of: Endpoint<String>.get("x").outlivingSession(), by: client) }
            try await clock.sleep(for: .seconds(1))
            await tokens.signOut()
            for call in ending {
                guard case .failure(let error) = await call.value else { throw ServiceError.reset }
                #expect(error.reason == .signedOut)
                #expect(error.mayHaveReachedServer)
            }
            #expect(clock.elapsed == .seconds(1))
            for call in lasting { #expect(try await call.value.get() == "ann's") }
        }
        #expect(network.sent.count == 2)
    }

    @Test("S16: a session ends the calls of every client that has its store, and of no other store")
    func clients() async throws {
        let (clock, network) = (scene.clock, scene.network)
        network.on(.get, "/x") { ScriptedReply.json("\"x\"").after(.seconds(10)).times(3) }
        let other = TokenStore(time: clock)
        let second = testClient(network, clock) { $0.tokens = scene.tokens }
        let third = testClient(network, clock) { $0.tokens = other }
        await scene.tokens.signIn(scene.server.signIn("ann"))
        await other.signIn(scene.server.signIn("bo"))
        try await clock.runTest {
            let calls = [scene.client, second, third].map { outcome(of: Endpoint<String>.get("x"), by: $0) }
            try await clock.sleep(for: .seconds(1))
            await scene.tokens.signOut()
            for call in calls.prefix(2) {
                guard case .failure(let error) = await call.value else { throw ServiceError.reset }
                #expect(error.reason == .signedOut)
            }
            #expect(try await calls[2].value.get() == "x")
        }
    }

    @Test("E6: a stream that outlives its client still ends with its session")
    func stream() async throws {
        let (clock, network) = (scene.clock, scene.network)
        network.on(.get, "/log", .chunks([Data("one\n".utf8)]).thenSilence)
        await scene.tokens.signIn(scene.server.signIn("ann"))
        try await clock.runTest {
            var client: APIClient? = testClient(network, clock) { $0.tokens = scene.tokens }
            let log = try await client?.stream(.get("log").outlivingSession())
            client = nil
            await scene.tokens.signOut()
            let error = await failure { () async throws(ServiceError) in
                for try await _ in try log.unwrapped().lines {}
            }
            #expect(error?.reason == .signedOut)
        }
    }
}

/// A middleware that takes a minute before it passes a request on.
private struct Slow: Middleware {
    let clock: TestClock

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
        try await clock.sleep(for: .seconds(60))
        return try await next(request, context)
    }
}

extension Optional {
    fileprivate func unwrapped() throws(ServiceError) -> Wrapped {
        guard let self else { throw .cancelled }
        return self
    }
}
