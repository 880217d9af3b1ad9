import Errand
import ErrandTesting
import Testing

private struct Own: Error { var password = "hunter2" }
private enum OwnCase: Error { case broken(String), idle }

private struct Throwing: Middleware {
    var error: any Error
    var afterSending = false

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
        if afterSending { _ = try await next(request, context) }
        throw error
    }
}

@Suite("Foreign errors: translated once, at the door")
struct ForeignErrorTests {
    private func error(_ configure: (inout Configuration) -> Void, _ reply: ScriptedReply?) async throws -> ServiceError
    {
        let network = ScriptedTransport()
        if let reply { network.onAny { reply } }
        let client = testClient(network, TestClock()) {
            $0.retry = .never
            configure(&$0)
        }
        return try await #require(throws: ServiceError.self) { try await client.run(Endpoint<Int>.post("x")) }
    }

    @Test("a transport's own error is .other, by its name and without what it carries")
    func transport() async throws {
        let error = try await error({ _ in }, .error(Own()))
        guard case .transport(let failure) = error else { throw error }
        #expect(failure.kind == .other)
        #expect(failure.message.hasSuffix("Own"))
        #expect(failure.mayHaveReachedServer)
        #expect(!error.debugDescription.contains("hunter2"))
    }

    @Test("an error that is an enum is told by its case")
    func cases() async throws {
        for (own, name) in [(OwnCase.broken("hunter2"), "OwnCase.broken"), (.idle, "OwnCase.idle")] {
            let error = try await error({ _ in }, .error(own))
            guard case .transport(let failure) = error else { throw error }
            #expect(failure.message.hasSuffix(name), "\(failure.message)")
        }
    }

    @Test(
        "a middleware's own error is .middleware, with its name, and says whether anything was sent",
        arguments: [true, false], [true, false])
    func middleware(perCall: Bool, afterSending: Bool) async throws {
        let room = Throwing(error: Own(), afterSending: afterSending)
        let error = try await error(
            { if perCall { $0.perCall = [room] } else { $0.perAttempt = [room] } },
            afterSending ? .json("1") : nil)
        guard case .transport(let failure) = error else { throw error }
        #expect(failure.kind == .middleware)
        #expect(failure.message.contains("Throwing threw") && failure.message.hasSuffix("Own"))
        #expect(failure.mayHaveReachedServer == afterSending)
        #expect(!error.debugDescription.contains("hunter2"))
    }

    @Test("a ServiceError passes every door as it is")
    func own() async throws {
        let own = ServiceError.rejected(Rejection(status: 418, message: "teapot"))
        #expect(try await error({ _ in }, .error(own)) == own)
        #expect(try await error({ $0.perCall = [Throwing(error: own)] }, nil) == own)
        #expect(
            try await error(
                {
                    $0.perCall = [Relaying()]
                    $0.perAttempt = [Relaying(), Throwing(error: own)]
                }, nil) == own)
    }

    @Test("CancellationError is .cancelled at every door, never wrapped")
    func cancellation() async throws {
        #expect(try await error({ _ in }, .error(CancellationError())) == .cancelled)
        #expect(try await error({ $0.perCall = [Throwing(error: CancellationError())] }, nil) == .cancelled)
        #expect(try await error({ $0.perAttempt = [Throwing(error: CancellationError())] }, nil) == .cancelled)
    }

    @Test("a foreign error within a streamed body is the transport's")
    func stream() async throws {
        let body = HTTPBody.stream(opening: {
            HTTPBody.Chunks { $0.finish(throwing: Own()) }
        })
        let error = try await error({ _ in }, .response(HTTPResponse(status: 200, body: body)))
        guard case .transport(let failure) = error else { throw error }
        #expect(failure.kind == .other)
    }

    @Test("a foreign error is not tried again: nobody knows what it means")
    func once() async throws {
        let network = scripted()
        network.on(.get, "/x") { .error(Own()) }
        let client = testClient(network, TestClock())
        await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
        #expect(network.sent.count == 1)
    }
}

/// Catches and throws again, as a user's logging would.
private struct Relaying: Middleware {
    func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
        do { return try await next(request, context) } catch { throw error }
    }
}
