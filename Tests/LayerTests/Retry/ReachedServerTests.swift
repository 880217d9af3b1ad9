import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

/// A caller that pays again because nothing can have happened must be able to rely on it.
@Suite("Whether the server may have acted, if an earlier attempt reached it")
struct ReachedServerTests {
    private let clock = TestClock(seed: 3)

    /// Lets the first send through, and delays the others for ever.
    private struct Stall: Middleware {
        let sends = Noted(0)

        func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
            sends.update { $0 += 1 }
            if sends.value > 1 { try await context.time.sleep(until: .distantFuture) }
            return try await next(request, context)
        }
    }

    /// Returns the error of a payment with a key whose attempts fail in this way.
    private func error(
        after replies: [ScriptedReply], method: HTTPMethod = .post, deadline: Duration? = nil,
        _ configure: (inout Configuration) -> Void = { _ in }
    ) async throws -> ServiceError {
        let network = scripted()
        network.onAny { replies }
        let client = testClient(network, clock, configure)
        let call = Endpoint<NoContent>(method, "pay").idempotencyKey("k").deadline(deadline)
        let outcome = await clock.run {
            await Result { () async throws(ServiceError) in try await client.run(call) }
        }
        return try #require(outcome.failure)
    }

    @Test("a refused connection after a broken one, or after a 503")
    func refused() async throws {
        for first in [ScriptedReply.failure(.reset), .status(503)] {
            let error = try await error(after: [first, .failure(.refused).times(2)])
            #expect(error == .transport(TransportFailure(.refused, "scripted", mayHaveReachedServer: true)))
        }
        #expect(try await !error(after: [.failure(.refused).times(3)]).mayHaveReachedServer)
    }

    @Test("a deadline that passes before a later attempt has sent anything")
    func deadline() async throws {
        let error = try await error(after: [.failure(.reset)], deadline: .seconds(1)) {
            $0.attemptMiddlewares = [Stall()]
        }
        let limit = Timeout(.deadline, limit: .seconds(1), phase: .backingOff, mayHaveReachedServer: true)
        #expect(error == .timedOut(limit) && error.mayHaveReachedServer)
    }

    @Test("the client's own limit")
    func limit() async throws {
        let error = try await error(after: [.failure(.reset)], deadline: .seconds(5)) {
            $0.rateLimit = .requests(1, per: .seconds(10))
        }
        guard case .rateLimited(let limited) = error else { throw error }
        #expect(limited.status == nil && error.mayHaveReachedServer)
    }

    @Test(
        "a network that was lost after the first request: if the first request may have acted, the error says so")
    func offline() async throws {
        for method in [HTTPMethod.post, .put, .delete, .get, .head] {
            let isOnline = Noted([true, false])
            let error = try await error(after: [.failure(.reset)], method: method) {
                $0.connectivity = Connectivity { isOnline.removeFirst() }
            }
            let unreachable = TransportFailure(.unreachable, "no internet connection", mayHaveReachedServer: true)
            #expect(error == (!method.isSafe ? .transport(unreachable) : .noInternetConnection))
        }
    }

    /// Throws for every request but the first.
    private struct Breaking: Middleware {
        let sends = Noted(0)
        let asCleartext: Bool

        func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
            sends.update { $0 += 1 }
            var broken = request
            if sends.value > 1 {
                if asCleartext { broken.url = try HTTPURL("http://api.test/x") } else { broken.headers["X-Y"] = "a\nb" }
            }
            return try await next(broken, context)
        }
    }

    @Test(
        "a middleware that throws in a retry, a replay, or the request after a redirect", arguments: [503, 401, 307],
        [true, false])
    func broken(status: Int, asCleartext: Bool) async throws {
        let tokens = TokenStore(time: clock) { _ in Token(accessToken: "new") }
        await tokens.signIn(Token(accessToken: "old"))
        let error = try await error(after: [.status(status, headers: ["Location": "/y"])]) {
            $0.attemptMiddlewares = [Breaking(asCleartext: asCleartext)]
            $0.tokens = tokens
        }
        guard case .invalidRequest(let invalid) = error else { throw error }
        #expect(invalid.subject == (asCleartext ? .cleartext : .header))
        #expect(error.mayHaveReachedServer)
        #expect(invalid.description.hasPrefix("The request cannot be sent again: "))
    }

    @Test("a session that ends between two attempts")
    func session() async throws {
        let tokens = TokenStore(time: clock) { $0 }
        await tokens.signIn(Token(accessToken: "a"))
        let error = try await error(after: [.failure(.reset)]) {
            $0.tokens = tokens
            $0.callMiddlewares = [SigningOut(tokens: tokens)]
        }
        #expect(error == .sessionExpired(SessionExpiry(.signedOut, mayHaveReachedServer: true)))
    }

    /// Signs the user out a moment after the call has begun.
    private struct SigningOut: Middleware {
        let tokens: TokenStore

        func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
            async let over: Void = {
                try await context.time.sleep(for: .nanoseconds(1))
                await tokens.signOut()
            }()
            let response = try await next(request, context)
            try await over
            return response
        }
    }
}
