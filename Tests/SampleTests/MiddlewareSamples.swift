import Errand
import ErrandTestSupport
import ErrandTesting
import Synchronization
import Testing

struct APIKey: Middleware {
    var key: String

    func intercept(
        _ request: HTTPRequest, _ context: CallContext, next: Next
    ) async throws -> HTTPResponse {
        var request = request
        if !context.hasLeftOrigin { request.headers["X-API-Key"] = key }
        return try await next(request, context)
    }
}

struct Metrics: Middleware {
    let record: @Sendable (_ endpoint: String, _ status: Int, _ duration: Duration) -> Void

    func intercept(
        _ request: HTTPRequest, _ context: CallContext, next: Next
    ) async throws -> HTTPResponse {
        let start = context.time.now
        let response = try await next(request, context)
        record(context.endpoint, response.status, start.duration(to: context.time.now))
        return response
    }
}

@Suite("Middleware")
struct MiddlewareSamples {
    private let network = scripted()

    private func both() -> APIClient {
        let client = APIClient("https://api.example.com/v1") {
            $0.callMiddlewares = [Stopwatch()]
            $0.attemptMiddlewares = [Stopwatch()]
        }
        return client
    }

    @Test("a key is added for the client's own server, and for no other")
    func key() async throws {
        let context = CallContext(.get, "friends", hasLeftOrigin: true)
        let request = HTTPRequest(method: .get, url: try HTTPURL("https://other.example.com/"))
        let response = try await APIKey(key: "k").intercept(request, context) { request, _ in
            HTTPResponse(status: request.headers["X-API-Key"] == nil ? 200 : 400)
        }
        #expect(response.status == 200)
        network.on(.get, "/friends", .json("[]"))
        try await testClient(network) { $0.attemptMiddlewares = [APIKey(key: "k")] }.run(.friends)
        #expect(network.sent.first?.request.headers["X-API-Key"] == "k")
    }

    @Test("calls and sends are measured")
    func metrics() async throws {
        let records = Mutex<[String]>([])
        let calls = Metrics { endpoint, status, duration in
            records.withLock { $0.append("call \(endpoint) \(status) \(duration)") }
        }
        let sends = Metrics { _, status, _ in records.withLock { $0.append("send \(status)") } }
        network.on(.get, "/friends", .status(503), ScriptedReply.json("[]").after(.seconds(1)))
        let clock = TestClock()
        let client = testClient(network, clock) {
            $0.callMiddlewares = [calls]
            $0.attemptMiddlewares = [sends]
        }
        try await clock.run { try await client.run(.friends) }
        let seen = records.withLock { $0 }
        #expect(seen.prefix(2) == ["send 503", "send 200"])
        #expect(seen.last?.hasPrefix("call GET friends 200 1.") == true)
    }

    private func typed(_ client: APIClient, _ trace: TraceContext?) async throws(ServiceError) {
        let friends = try await TraceContext.run(in: trace) { () async throws(ServiceError) in
            try await client.run(.friends)
        }
        #expect(friends.isEmpty)
    }

    @Test("the trace of a request that was received goes along")
    func tracing() async throws {
        network.on(.get, "/friends", .json("[]"), .json("[]"))
        let client = testClient(network)
        let headers: HTTPHeaders = ["traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"]
        let trace = TraceContext(parent: headers["traceparent"] ?? "", state: headers["tracestate"])
        let friends = try await TraceContext.run(in: trace) {
            try await client.run(.friends)
        }
        #expect(friends.isEmpty)
        try await typed(client, trace)
        let sent = network.sent.first?.request.headers["traceparent"]
        #expect(sent?.hasPrefix("00-0af7651916cd43dd8448eb211c80319c-") == true)
    }
}
