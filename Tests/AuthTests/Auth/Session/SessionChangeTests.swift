@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Signing out and in while calls are in flight")
struct SessionChangeTests {
    @Test("T6: sign-out during a refresh discards its result; waiters get .sessionExpired", arguments: 0..<20)
    func signOutDuringRefresh(seed: UInt64) async throws {
        let scene = AuthScene(seed: seed, lifetime: .seconds(600), takes: .seconds(5))
        let (clock, tokens) = (scene.clock, scene.tokens)
        try await clock.runTest {
            await tokens.signIn(scene.server.signIn("ann"))
            try await clock.sleep(for: .seconds(601))
            let calls = (0..<5).map { _ in
                Task(executorPreference: clock.executor) { await failure(of: scene.me) }
            }
            try await clock.sleep(for: .seconds(1))
            let moment = clock.now
            await tokens.signOut()
            for call in calls { #expect(await call.value?.reason == .signedOut) }
            #expect(clock.now == moment, "no call waits for a refresh that is of no use any more")
            try await clock.sleep(for: .seconds(10))
            #expect(scene.disk.load() == nil)
            #expect(await tokens.isSignedIn == false)
        }
        #expect(scene.network.sent.isEmpty)
    }

    @Test("T7: another user signs in during a refresh; no call of the old one gets the new token", arguments: 0..<20)
    func signInDuringRefresh(seed: UInt64) async throws {
        let scene = AuthScene(seed: seed, lifetime: .seconds(600), takes: .seconds(5))
        let (clock, tokens) = (scene.clock, scene.tokens)
        try await clock.runTest {
            await tokens.signIn(scene.server.signIn("ann"))
            try await clock.sleep(for: .seconds(601))
            let calls = (0..<5).map { _ in
                Task(executorPreference: clock.executor) { await failure(of: scene.me) }
            }
            try await clock.sleep(for: .seconds(1))
            await tokens.signIn(scene.server.signIn("bo"))
            for call in calls { #expect(await call.value?.reason == .otherSession) }
            #expect(try await scene.me() == "bo")
            try await clock.sleep(for: .seconds(10))
            #expect(scene.disk.load()?.token.accessToken == "bo.0")
            #expect(try await tokens.token().accessToken == "bo.0")
        }
        #expect(scene.sentTokens == ["bo.0"])
    }

    /// Lets a second pass before each call.
    private struct Hesitating: Middleware {
        func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
            try await context.time.sleep(for: .seconds(1))
            return try await next(request, context)
        }
    }

    @Test("T7: the user changes while a call waits in a middleware; it keeps its session, and is never sent")
    func changeInMiddleware() async throws {
        let scene = AuthScene(seed: 1) { $0.callMiddlewares = [Hesitating()] }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            async let error = failure(of: scene.me)
            try await scene.clock.sleep(for: .milliseconds(500))
            await scene.tokens.signIn(scene.server.signIn("bo"))
            #expect(await error?.reason == .otherSession)
        }
        #expect(scene.network.sent.isEmpty)
    }

    @Test("T7: another user signs in after a call was sent and before its 401; it is not replayed", arguments: 0..<20)
    func signInBeforeRefusal(seed: UInt64) async throws {
        let scene = AuthScene(seed: seed, answering: false)
        scene.network.on(.get, "/me") { ScriptedReply.status(401).after(.seconds(5)) }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            async let error = failure(of: scene.me)
            try await scene.clock.sleep(for: .seconds(1))
            await scene.tokens.signIn(scene.server.signIn("bo"))
            #expect(await error?.reason == .otherSession)
        }
        #expect(scene.sentTokens == ["ann.0"])
        #expect(scene.server.refreshes.isEmpty)
    }

    @Test("T7: the user changes while a call waits in the limiter's queue; it is never sent", arguments: 0..<20)
    func changeInLine(seed: UInt64) async throws {
        let scene = AuthScene(seed: seed) { $0.rateLimit = .requests(1, per: .seconds(1)) }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            #expect(try await scene.me() == "ann")
            async let toBo = failure(of: scene.me)
            try await scene.clock.sleep(for: .milliseconds(500))
            await scene.tokens.signIn(scene.server.signIn("bo"))
            #expect(await toBo?.reason == .otherSession)
            #expect(try await scene.me() == "bo", "the permit of the call that was not sent is free again")
            #expect(scene.clock.elapsed == .seconds(1))
            async let signedOutCall = failure(of: scene.me)
            try await scene.clock.sleep(for: .milliseconds(500))
            await scene.tokens.signOut()
            #expect(await signedOutCall?.reason == .signedOut)
        }
        #expect(scene.sentTokens == ["ann.0", "bo.0"])
    }

    @Test("T7: the same user who signs in again begins another session", arguments: [true, false])
    func sameUserAgain(signsOut: Bool) async throws {
        let scene = AuthScene { $0.rateLimit = .requests(1, per: .seconds(1)) }
        try await scene.clock.runTest {
            let token = scene.server.signIn("ann")
            await scene.tokens.signIn(token)
            #expect(try await scene.me() == "ann")
            async let old = failure(of: scene.me)
            try await scene.clock.sleep(for: .milliseconds(500))
            if signsOut { await scene.tokens.signOut() }
            await scene.tokens.signIn(token)
            #expect(await old?.reason == (signsOut ? .signedOut : .otherSession))
        }
    }

    @Test("T7: a token of another session is not replaced")
    func foreignToken() async throws {
        let scene = AuthScene()
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            let foreign = scene.server.token("bo", 0)
            let error = await failure { () async throws(ServiceError) in
                try await scene.tokens.replacement(for: foreign)
            }
            #expect(error?.reason == .otherSession)
        }
        #expect(scene.server.refreshes.isEmpty)
    }

    @Test("T6: the result of a closure that ignores its cancellation is not saved, not even for a moment")
    func deafClosure() async throws {
        let clock = TestClock()
        let disk = CountingPersistence()
        let tokens = TokenStore(persistence: disk, time: clock) { _ in
            await Task(executorPreference: clock.executor) { try? await clock.sleep(for: .seconds(5)) }.value
            return Token(accessToken: "ann.1")
        }
        try await clock.runTest {
            let old = Token(accessToken: "ann.0")
            await tokens.signIn(old)
            async let waiting = failure { () async throws(ServiceError) in try await tokens.replacement(for: old) }
            try await clock.sleep(for: .seconds(1))
            async let leaving: Void = tokens.signOut()
            #expect(await waiting?.reason == .signedOut)
            #expect(clock.elapsed == .seconds(1), "the waiter does not wait for the closure")
            await leaving
            await tokens.signIn(Token(accessToken: "bo.0"))
        }
        #expect(disk.saves == ["ann.0", nil, "bo.0"])
    }
}
