@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A refresh that fails")
struct RefreshFailureTests {
    @Test("T8: a refused refresh ends the session, once, with the same error for all", arguments: 0..<20)
    func refused(seed: UInt64) async throws {
        let scene = AuthScene(seed: seed, lifetime: .seconds(600))
        let (clock, tokens) = (scene.clock, scene.tokens)
        let events = tokens.events
        scene.server.plan(.fail(.refused))
        try await clock.runTest {
            await tokens.signIn(scene.server.signIn("ann"))
            try await clock.sleep(for: .seconds(601))
            let errors = await withTaskGroup(of: ServiceError?.self) { group in
                for _ in 0..<10 { group.addTask { await failure(of: scene.me) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            let expiry = SessionExpiry(.refreshRefused, message: "the refresh token is invalid", status: 400)
            #expect(errors == Array(repeating: .sessionExpired(expiry), count: 10))
            try await clock.sleep(for: .seconds(1))
            #expect(scene.disk.load() == nil)
            #expect(await failure(of: scene.me) == .signInRequired)
            #expect(await failure(of: tokens.token) == .signInRequired)
            await tokens.signIn(scene.server.signIn("bo"))
            #expect(try await scene.me() == "bo")
            #expect(await first(3, of: events) == [.signedIn, .expired(expiry), .signedIn])
        }
        #expect(scene.server.refreshes.count == 1)
    }

    @Test(
        "T8: which errors end the session",
        arguments: [
            (ServiceError.refused, true), (.rejected(Rejection(status: 401)), true),
            (.sessionExpired(SessionExpiry(.refreshRefused)), true), (.rejected(Rejection(status: 403)), false),
            (.rejected(Rejection(status: 404)), false), (.rejected(Rejection(status: 408)), false),
            (.rateLimited(RateLimited(retryAfter: .seconds(5), status: 429)), false),
            (.serverFailure(Rejection(status: 503)), false), (.reset, false), (.noInternetConnection, false),
            (.timedOut(Timeout(.attempt, limit: .seconds(1), phase: .connecting)), false),
        ])
    func verdicts(_ error: ServiceError, isOver: Bool) async throws {
        let scene = AuthScene()
        scene.server.plan(.fail(error))
        try await scene.clock.runTest {
            let token = scene.server.signIn("ann")
            await scene.tokens.signIn(token)
            let reported = await failure { () async throws(ServiceError) in
                try await scene.tokens.replacement(for: token)
            }
            #expect(isOver ? reported?.reason == .refreshRefused : reported == error)
            #expect(await scene.tokens.isSignedIn == !isOver)
            try await scene.clock.sleep(for: .seconds(1))
            #expect((scene.disk.load() == nil) == isOver)
        }
    }

    @Test(
        "T21: only an error of OAuth about the token, or a 401, says that it is refused",
        arguments: [
            ("invalid_grant", 400, true), ("invalid_grant", 401, true), ("invalid_grant", 403, true),
            ("invalid_grant", 200, true), ("invalid_request", 400, true), ("invalid_request", 403, false),
            ("invalid_scope", 400, true), ("unsupported_grant_type", 400, true), ("unsupported_grant_type", 404, false),
            ("interaction_required", 400, true), ("login_required", 400, true), ("consent_required", 400, true),
            ("bad_refresh_token", 200, true), ("invalid_client", 400, false), ("invalid_client", 401, false),
            ("unauthorized_client", 400, false), ("unauthorized_client", 401, false),
            ("temporarily_unavailable", 400, false), ("temporarily_unavailable", 401, false),
            ("server_error", 400, false), ("slow_down", 400, false), ("Bad Request", 400, false), (nil, 400, false),
            (nil, 401, true), ("token_expired", 401, true), (nil, 407, false),
        ] as [(code: String?, status: Int, isOver: Bool)])
    func codes(_ row: (code: String?, status: Int, isOver: Bool)) async throws {
        let error = ServiceError.rejected(Rejection(status: row.status, message: "no", code: row.code))
        try await verdicts(error, isOver: row.isOver)
    }

    @Test("T21: a proxy's page with the status 400 signs no user out")
    func proxyPage() async throws {
        let (clock, network) = (TestClock(), scripted())
        network.on(.post, "/token") {
            .status(400, headers: ["Content-Type": "text/html"], body: "<html><h1>400 Bad Request</h1></html>")
        }
        let login = testClient(network, clock)
        let oauth = OAuth(server: login, clientID: "pins", clientSecret: "s3cret")
        let tokens = TokenStore(time: clock) { try await oauth.refresh($0) }
        try await clock.runTest {
            let token = Token(accessToken: "old", refreshToken: "r")
            await tokens.signIn(token)
            let reported = await failure { () async throws(ServiceError) in try await tokens.replacement(for: token) }
            #expect(reported?.status == 400 && reported?.reason == nil)
            #expect(await tokens.isSignedIn)
        }
    }

    @Test("T8: the saved session is removed even by a persistence that throws when it is cancelled")
    func removalIsNotCancelled() async throws {
        let clock = TestClock()
        let disk = SlowPersistence(clock)
        let tokens = TokenStore(persistence: disk, time: clock) { _ in throw ServiceError.refused }
        try await clock.runTest {
            let token = Token(accessToken: "old", refreshToken: "r")
            await tokens.signIn(token)
            #expect(await failure { () async throws(ServiceError) in try await tokens.replacement(for: token) } != nil)
            try await clock.sleep(for: .seconds(10))
            #expect(disk.saved.load() == nil)
        }
    }

    @Test("T9: a temporary failure keeps the token; the next call tries again", arguments: 0..<20)
    func passing(seed: UInt64) async throws {
        let scene = AuthScene(seed: seed, lifetime: .seconds(600))
        let (clock, tokens) = (scene.clock, scene.tokens)
        scene.server.plan(.fail(.reset))
        try await clock.runTest {
            await tokens.signIn(scene.server.signIn("ann"))
            try await clock.sleep(for: .seconds(601))
            let errors = await withTaskGroup(of: ServiceError?.self) { group in
                for _ in 0..<10 { group.addTask { await failure(of: scene.me) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(errors == Array(repeating: .reset, count: 10), "a call does not try again by itself")
            #expect(scene.server.refreshes.count == 1)
            #expect(scene.disk.load()?.token.accessToken == "ann.0")
            #expect(try await scene.me() == "ann")
        }
        #expect(scene.server.refreshes == ["refresh.ann.0", "refresh.ann.0"])
    }

    @Test("T9: refreshes that keep failing become less frequent, however often they are asked for")
    func backoff() async throws {
        let scene = AuthScene(seed: 7, lifetime: .seconds(600), takes: .milliseconds(10))
        let (clock, tokens) = (scene.clock, scene.tokens)
        for _ in 0..<200 { scene.server.plan(.fail(.reset)) }
        try await clock.runTest {
            await tokens.signIn(scene.server.signIn("ann"))
            try await clock.sleep(for: .seconds(601))
            let start = clock.now
            while start.duration(to: clock.now) < .seconds(300) {
                try #require(await failure(of: tokens.token) == .reset, "200 failures were planned, all are used up")
            }
        }
        // The pauses double from 0.2 s to 20 s, and on average last half of that: about 36 in 300 s.
        #expect((20...60).contains(scene.server.refreshes.count), "\(scene.server.refreshes.count) refreshes")
    }

    @Test("T9: after a success the pauses begin anew")
    func backoffEnds() {
        var pace = RefreshPace()
        for _ in 0..<20 { pace.failed(at: .zero, random: 0.999) }
        #expect(pace.notBefore > Instant.zero.advanced(by: .seconds(19)))
        pace.succeeded(with: Token(accessToken: "a"), at: .zero)
        pace.failed(at: .zero, random: 0.999)
        #expect(pace.notBefore < Instant.zero.advanced(by: .milliseconds(200)))
    }

    @Test("T9: a foreign error of the closure is reported by its type; its CancellationError does not cancel the call")
    func foreignErrors() async throws {
        struct Odd: Error { var secret = "hunter2" }
        for error in [Odd(), CancellationError(), ServiceError.cancelled] as [any Error] {
            let clock = TestClock()
            let tokens = TokenStore(time: clock) { _ in throw error }
            try await clock.runTest {
                let token = Token(accessToken: "old")
                await tokens.signIn(token)
                let reported = await failure { () async throws(ServiceError) in try await tokens.replacement(for: token)
                }
                guard case .transport(let failure) = try #require(reported) else {
                    Issue.record("\(String(describing: reported))")
                    return
                }
                #expect(failure.kind == .other)
                #expect(!failure.message.contains("hunter2"))
                #expect(await tokens.isSignedIn)
            }
        }
    }

    @Test("T10: a response without a new refresh token keeps the old one")
    func noNewRefreshToken() async throws {
        let scene = AuthScene()
        scene.server.plan(.withoutRefreshToken)
        try await scene.clock.runTest {
            let token = scene.server.signIn("ann")
            await scene.tokens.signIn(token)
            let newer = try await scene.tokens.replacement(for: token)
            #expect(newer.accessToken == "ann.1")
            #expect(newer.refreshToken == "refresh.ann.0")
            #expect(scene.disk.load()?.token == newer)
            _ = await failure { () async throws(ServiceError) in try await scene.tokens.replacement(for: newer) }
        }
        #expect(scene.server.refreshes == ["refresh.ann.0", "refresh.ann.0"])
    }
}
