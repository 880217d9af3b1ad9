import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Admission: one permit and one signature for each send")
struct AdmissionTests {
    /// Records what each send looks like.
    private struct Observer: Middleware {
        let sends = Noted<[String]>([])

        func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
            let token = request.headers["Authorization"] ?? "unsigned"
            sends.update { $0.append("\(request.url.path) \(token) \(context.hasLeftOrigin)") }
            return try await next(request, context)
        }
    }

    /// Sends everything twice, and keeps the second response.
    private struct Twice: Middleware {
        func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
            _ = try await next(request, context)
            return try await next(request, context)
        }
    }

    @Test("C50: a hop that has left the origin is not signed, and a middleware can see that, also on the way back")
    func leftOrigin() async throws {
        let (network, clock, observer) = (scripted(), TestClock(), Observer())
        network.on(.get, "https://api.test/a") { .status(307, headers: ["Location": "/b"]) }
        network.on(.get, "https://api.test/b") { .status(307, headers: ["Location": "https://other.test/c"]) }
        network.on(.get, "https://other.test/c") { .status(307, headers: ["Location": "https://api.test/d"]) }
        network.on(.get, "https://api.test/d") { .json("7") }
        let tokens = TokenStore(time: clock) { $0 }
        await tokens.signIn(Token(accessToken: "mine"))
        let client = testClient(network, clock) {
            $0.tokens = tokens
            $0.attemptMiddlewares = [observer]
        }
        #expect(try await client.run(Endpoint<Int>.get("a")) == 7)
        #expect(
            observer.sends.value == [
                "/a Bearer mine false", "/b Bearer mine false", "/c unsigned true", "/d unsigned true",
            ])
    }

    @Test("C1: a middleware that sends twice takes a permit for each send")
    func twice() async throws {
        let (network, clock) = (scripted(), TestClock())
        network.on(.get, "/x") { ScriptedReply.json("7").times(4) }
        let client = testClient(network, clock) {
            $0.rateLimit = .requests(3, per: .seconds(1))
            $0.attemptMiddlewares = [Twice()]
        }
        #expect(client.limiter.snapshot.available == 3)
        #expect(try await client.run(Endpoint<Int>.get("x")) == 7)
        #expect(client.limiter.snapshot.available == 1)
        let start = clock.now
        _ = try await clock.run { try await client.run(Endpoint<Int>.get("x")) }
        #expect(start.duration(to: clock.now) == .seconds(1))
    }

    @Test("C3: a call that a middleware responds to returns its permit at once")
    func answered() async throws {
        struct Answer: Middleware {
            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                HTTPResponse(status: 200, body: .bytes(Data("7".utf8)))
            }
        }
        let client = testClient(scripted(), TestClock()) {
            $0.rateLimit = .requests(1, per: .seconds(1))
            $0.attemptMiddlewares = [Answer()]
        }
        for _ in 0..<3 { #expect(try await client.run(Endpoint<Int>.get("x")) == 7) }
        #expect(client.limiter.snapshot.available == 1)
    }

    /// A clock whose date jumps after one more reading: an aging token expires between two looks at it.
    private final class JumpingClock: TimeSource {
        private let base: TestClock
        private let isArmed = Noted(false)

        init(_ base: TestClock) { self.base = base }

        var now: Instant { base.now }
        var date: Date {
            let date = base.date
            if isArmed.value {
                isArmed.value = false
                base.date = date.addingTimeInterval(60)
            }
            return date
        }
        var executor: (any TaskExecutor)? { base.executor }
        func random() -> UInt64 { base.random() }
        func schedule(
            at instant: Instant, for purpose: Alarm.Purpose, _ action: @escaping @Sendable () -> Void
        ) -> Alarm { base.schedule(at: instant, for: purpose, action) }

        func jumpAfterReading() { isArmed.value = true }
    }

    @Test("T11, T13: a call with an aging token is sent with it, and does not wait for the refresh with its permit")
    func agingToken() async throws {
        let (network, clock) = (scripted(), TestClock())
        let jumping = JumpingClock(clock)
        network.on(.get, "/x", .json("7"))
        let tokens = TokenStore(time: jumping) { _ in
            try await clock.sleep(for: .seconds(5))
            return Token(accessToken: "new")
        }
        let client = testClient(network, clock) {
            $0.tokens = tokens
            $0.rateLimit = .requests(1, per: .seconds(60))
        }
        try await clock.run {
            await tokens.signIn(Token(accessToken: "old", expiry: clock.date.addingTimeInterval(600)))
            try await clock.sleep(for: .seconds(550))
            jumping.jumpAfterReading()
            let start = clock.now
            #expect(try await client.run(Endpoint<Int>.get("x")) == 7)
            #expect(clock.now == start, "it has waited for the refresh")
            #expect(network.sent.map { $0.request.headers["Authorization"] } == ["Bearer old"])
            #expect(try await tokens.token().accessToken == "new")
            #expect(start.duration(to: clock.now) == .seconds(5))
        }
    }
}
