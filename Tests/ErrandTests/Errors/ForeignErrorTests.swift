import Errand
import ErrandTestSupport
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

@Suite("Foreign errors: translated once, where they come in", .timeLimit(.minutes(10)))
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

    @Test("a transport's own error is .other, by its name and without its content")
    func transport() async throws {
        let error = try await error({ _ in }, .error(Own()))
        guard case .transport(let failure) = error else { throw error }
        #expect(failure.kind == .other)
        #expect(failure.message.hasSuffix("Own"))
        #expect(failure.mayHaveReachedServer)
        #expect(!error.debugDescription.contains("hunter2"))
    }

    @Test("an error that is an enum is reported by its case")
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
    func middleware(callMiddlewares: Bool, afterSending: Bool) async throws {
        let room = Throwing(error: Own(), afterSending: afterSending)
        let error = try await error(
            { if callMiddlewares { $0.callMiddlewares = [room] } else { $0.attemptMiddlewares = [room] } },
            afterSending ? .json("1") : nil)
        guard case .transport(let failure) = error else { throw error }
        #expect(failure.kind == .middleware)
        #expect(failure.message.contains("Throwing threw") && failure.message.hasSuffix("Own"))
        #expect(failure.mayHaveReachedServer == afterSending)
        #expect(!error.debugDescription.contains("hunter2"))
    }

    @Test("a ServiceError is passed on unchanged everywhere")
    func own() async throws {
        let own = ServiceError.rejected(Rejection(status: 418, message: "teapot"))
        #expect(try await error({ _ in }, .error(own)) == own)
        #expect(try await error({ $0.callMiddlewares = [Throwing(error: own)] }, nil) == own)
        #expect(
            try await error(
                {
                    $0.callMiddlewares = [Relaying()]
                    $0.attemptMiddlewares = [Relaying(), Throwing(error: own)]
                }, nil) == own)
    }

    @Test("a CancellationError of a transport that was not stopped is .other")
    func uncancelledTransport() async throws {
        let error = try await error({ _ in }, .error(CancellationError()))
        #expect(error == .transport(TransportFailure(.other, "Swift.CancellationError")))
    }

    @Test(
        "a CancellationError of a middleware in a call that was not cancelled is .middleware", arguments: [true, false])
    func uncancelledMiddleware(callMiddlewares: Bool) async throws {
        let room = Throwing(error: CancellationError())
        let error = try await error(
            { if callMiddlewares { $0.callMiddlewares = [room] } else { $0.attemptMiddlewares = [room] } }, nil)
        guard case .transport(let failure) = error else { throw error }
        #expect(failure.kind == .middleware && !failure.mayHaveReachedServer)
        #expect(failure.message.hasSuffix("Throwing threw Swift.CancellationError"))
    }

    @Test("a CancellationError of a child task that a middleware has cancelled itself is the middleware's")
    func ownChild() async throws {
        struct Hasty: Middleware {
            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                // The sleep throws this error whether it is cancelled before or during it.
                let child = Task { try await Task.sleep(for: .seconds(3600)) }
                child.cancel()
                try await child.value
                return try await next(request, context)
            }
        }
        let error = try await error({ $0.callMiddlewares = [Hasty()] }, nil)
        guard case .transport(let failure) = error else { throw error }
        #expect(failure.kind == .middleware)
    }

    @Test("a CancellationError in decoding or encoding is treated like any other error there")
    func uncancelledCoding() async throws {
        struct Odd: Codable {
            init() {}
            init(from decoder: any Decoder) throws { throw CancellationError() }
            func encode(to encoder: any Encoder) throws { throw CancellationError() }
        }
        let network = scripted()
        network.on(.get, "/x") { .json("{}") }
        let client = testClient(network, TestClock())
        let decodingFailed = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Odd>.get("x")) }
        guard case .decodingFailed(let failure) = decodingFailed else { throw try #require(decodingFailed) }
        #expect(failure.description.contains("CancellationError"))
        let unsent = await #expect(throws: ServiceError.self) {
            try await client.run(Endpoint<Int>.post("x", body: .json(Odd())))
        }
        guard case .invalidRequest(let invalid) = unsent else { throw try #require(unsent) }
        #expect(invalid.subject == .body)
        try network.verify()
    }

    @Test("a CancellationError within a streamed body that was not stopped is the transport's")
    func uncancelledStream() async throws {
        let body = HTTPBody.stream(opening: { HTTPBody.Chunks { $0.finish(throwing: CancellationError()) } })
        let error = try await error({ _ in }, .response(HTTPResponse(status: 200, body: body)))
        guard case .transport(let failure) = error else { throw error }
        #expect(failure.kind == .other)
    }

    /// Waits as foreign code does: its sleep throws a `CancellationError`.
    private struct Sleeping: Middleware {
        func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
            do {
                try await context.time.sleep(until: .distantFuture)
            } catch {
                throw CancellationError()
            }
            return try await next(request, context)
        }
    }

    private enum Stop: CaseIterable { case task, client, deadline }

    @Test(
        "a CancellationError takes the reason of the stop, if something was stopped", arguments: Stop.allCases,
        [true, false])
    private func stopped(stop: Stop, callMiddlewares: Bool) async throws {
        let clock = TestClock()
        let client = testClient(scripted(), clock) {
            if callMiddlewares { $0.callMiddlewares = [Sleeping()] } else { $0.attemptMiddlewares = [Sleeping()] }
        }
        await clock.run {
            let task = Task(executorPreference: clock.executor) { () async throws(ServiceError) -> Int in
                try await client.run(Endpoint<Int>.get("x").deadline(.seconds(2)))
            }
            try? await clock.sleep(for: .seconds(1))
            switch stop {
            case .task: task.cancel()
            case .client: client.cancelAll()
            case .deadline: break
            }
            let error = await #expect(throws: ServiceError.self) { try await task.value }
            switch (stop, error) {
            case (.deadline, .timedOut(let timeout)): #expect(timeout.bound == .deadline)
            case (.task, .cancelled), (.client, .cancelled): break
            default: Issue.record("\(stop): \(String(describing: error))")
            }
        }
        #expect(clock.elapsed == .seconds(stop == .deadline ? 2 : 1))
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

    @Test("a foreign error is not retried, because its meaning is unknown")
    func once() async throws {
        let network = scripted()
        network.on(.get, "/x") { .error(Own()) }
        let client = testClient(network, TestClock())
        await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
        #expect(network.sent.count == 1)
    }
}

/// Catches and rethrows, as a user's logging would.
private struct Relaying: Middleware {
    func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
        do { return try await next(request, context) } catch { throw error }
    }
}
