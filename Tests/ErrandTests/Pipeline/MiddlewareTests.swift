import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// A log of what passed through the layers, in order.
private final class Diary: Sendable {
    private let entries = Lock<[String]>([])
    var lines: [String] { entries.withLock { $0 } }
    func note(_ line: String) { entries.withLock { $0.append(line) } }
}

private struct Witness: Middleware {
    var name: String
    var diary: Diary

    func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
        diary.note("\(name) in \(request.url.path) \(context.attempts)")
        let response = try await next(request, context)
        diary.note("\(name) out \(response.status)")
        return response
    }
}

@Suite("Middlewares: the user's own layers")
struct MiddlewareTests {
    private func client(_ network: ScriptedTransport, _ clock: TestClock, _ diary: Diary) -> APIClient {
        testClient(network, clock) {
            $0.callMiddlewares = [Witness(name: "a", diary: diary), Witness(name: "b", diary: diary)]
            $0.attemptMiddlewares = [Witness(name: "c", diary: diary), Witness(name: "d", diary: diary)]
        }
    }

    @Test("callMiddlewares are entered once per call and attemptMiddlewares once per send, the first outermost")
    func order() async throws {
        let (network, clock, diary) = (scripted(), TestClock(), Diary())
        network.on(.get, "/x") {
            ScriptedReply.status(503)
            ScriptedReply.status(302, headers: ["Location": "/y"])
        }
        network.on(.get, "/y") { .json("7") }
        let client = client(network, clock, diary)
        #expect(try await clock.run { try await client.run(Endpoint<Int>.get("x")) } == 7)
        #expect(
            diary.lines == [
                "a in /x 0", "b in /x 0",
                "c in /x 1", "d in /x 1", "d out 503", "c out 503",
                "c in /x 2", "d in /x 2", "d out 302", "c out 302",
                "c in /y 2", "d in /y 2", "d out 200", "c out 200",
                "b out 200", "a out 200",
            ])
    }

    @Test("attemptMiddlewares see the replay after a 401 and the token of each send, callMiddlewares see neither")
    func replay() async throws {
        struct Signed: Middleware {
            var diary: Diary
            var name: String
            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                diary.note("\(name) \(request.headers["Authorization"] ?? "unsigned")")
                return try await next(request, context)
            }
        }
        let (network, clock, diary) = (scripted(), TestClock(), Diary())
        network.on(.get, "/x") {
            ScriptedReply.status(401)
            ScriptedReply.json("7")
        }
        let store = TokenStore(time: clock) { _ in Token(accessToken: "new") }
        await store.signIn(Token(accessToken: "old"))
        let client = testClient(network, clock) {
            $0.tokens = store
            $0.callMiddlewares = [Signed(diary: diary, name: "call")]
            $0.attemptMiddlewares = [Signed(diary: diary, name: "send")]
        }
        #expect(try await clock.run { try await client.run(Endpoint<Int>.get("x")) } == 7)
        #expect(diary.lines == ["call unsigned", "send Bearer old", "send Bearer new"])
    }

    @Test("a middleware may change the request and the response")
    func changes() async throws {
        struct Changing: Middleware {
            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                var changed = request
                changed.headers["X-Call"] = context.endpoint
                var response = try await next(changed, context)
                response.status = 200
                response.body = .bytes(Data("8".utf8))
                return response
            }
        }
        let network = scripted()
        network.on(.get, "/users/7") { .status(404) }
        let client = testClient(network, TestClock()) { $0.callMiddlewares = [Changing()] }
        #expect(try await client.run(Endpoint<Int>.get("users/\(7)", query: ["q": 1]).retry(.never)) == 8)
        #expect(network.sent.first?.request.headers["X-Call"] == "GET users/7")
    }

    @Test("a middleware may respond by itself: nothing is sent and no permit is taken")
    func shortcut() async throws {
        struct Answering: Middleware {
            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                HTTPResponse(status: 200, body: .bytes(Data("9".utf8)))
            }
        }
        let network = scripted()
        let client = testClient(network, TestClock()) {
            $0.callMiddlewares = [Answering()]
            $0.rateLimit = .requests(1, per: .seconds(1))
        }
        let reply = try await client.reply(to: Endpoint<Int>.get("x"))
        #expect(reply.value == 9)
        #expect(reply.attempts == 0)
        #expect(network.sent.isEmpty)
        #expect(client.limiter.snapshot.available == 1)
    }

    @Test("a status is a value for middlewares, and becomes an error only in the client")
    func statuses() async throws {
        let (network, clock, diary) = (scripted(), TestClock(), Diary())
        network.on(.get, "/x") { .status(404) }
        let client = client(network, clock, diary)
        let error = try await #require(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
        #expect(error.status == 404)
        #expect(diary.lines.suffix(2) == ["b out 404", "a out 404"])
    }

    @Test("a middleware gets the rules of the call")
    func rules() async throws {
        struct Asking: Middleware {
            var diary: Diary
            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                let rules = context.rules
                diary.note("\(context.id) \(rules.timeout ?? .zero) \(rules.permits) \(rules.idempotencyKey ?? "-")")
                diary.note("\(context.time.now.duration(to: context.deadline))")
                return try await next(request, context)
            }
        }
        let (network, diary) = (scripted(), Diary())
        network.on(.post, "/x") { .status(204) }
        let client = testClient(network, TestClock()) {
            $0.callMiddlewares = [Asking(diary: diary)]
            $0.deadline = .seconds(9)
        }
        let endpoint = Endpoint<NoContent>.post("x").timeout(.seconds(2)).permits(3).idempotencyKey("k")
        _ = try await client.run(endpoint)
        #expect(diary.lines == ["1 2.0 seconds 3 k", "9.0 seconds"])
    }

    @Test("a middleware can be tested on its own, with a context that the test creates")
    func byItself() async throws {
        struct Key: Middleware {
            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                var request = request
                if !context.hasLeftOrigin { request.headers["X-Key"] = "k\(context.id)" }
                return try await next(request, context)
            }
        }
        let request = HTTPRequest(method: .get, url: try HTTPURL("https://api.test/x"))
        for hasLeftOrigin in [false, true] {
            let rules = CallRules(timeout: .seconds(3), permits: 2)
            let context = CallContext(id: 7, .get, "x", rules: rules, hasLeftOrigin: hasLeftOrigin, time: TestClock())
            #expect(context.endpoint == "GET x" && context.attempts == 0 && context.deadline == .distantFuture)
            let response = try await Key().intercept(request, context) { request, context in
                HTTPResponse(
                    status: 200, headers: ["Seen": "\(request.headers["X-Key"] ?? "-") \(context.rules.permits)"])
            }
            #expect(response.headers["Seen"] == (hasLeftOrigin ? "- 2" : "k7 2"))
        }
    }

    @Test("a middleware may send a second request beside a slow first one, and the faster response counts")
    func hedge() async throws {
        let (network, clock) = (scripted(), TestClock())
        network.on(.get, "/x", .json("1").after(.seconds(60)), .json("2").after(.seconds(1)))
        let client = testClient(network, clock) { $0.callMiddlewares = [Hedge(delay: .seconds(2))] }
        #expect(try await clock.run { try await client.run(Endpoint<Int>.get("x")) } == 2)
        #expect(clock.elapsed == .seconds(3))
        #expect(network.sent.map(\.at) == [.ms(0), .ms(2000)])
    }

    @Test("a first response that is quick needs no second request")
    func unhedged() async throws {
        let (network, clock) = (scripted(), TestClock())
        network.on(.get, "/x", .json("1").after(.seconds(1)))
        let client = testClient(network, clock) { $0.attemptMiddlewares = [Hedge(delay: .seconds(2))] }
        #expect(try await clock.run { try await client.run(Endpoint<Int>.get("x")) } == 1)
        #expect(clock.elapsed == .seconds(1))
        #expect(network.sent.count == 1)
    }

    @Test("a call whose middleware has two requests under way ends at its deadline, and both end with it")
    func hedgedDeadline() async throws {
        let (network, clock) = (scripted(), TestClock())
        network.on(.get, "/x", .silence, .silence)
        let client = testClient(network, clock) { $0.callMiddlewares = [Hedge(delay: .seconds(2))] }
        let error = await clock.run {
            await #expect(throws: ServiceError.self) {
                try await client.run(Endpoint<Int>.get("x").deadline(.seconds(5)))
            }
        }
        guard case .timedOut(let timeout) = error else { throw try #require(error) }
        #expect(timeout.bound == .deadline && clock.elapsed == .seconds(5))
        #expect(network.sent.count == 2)
    }
}

/// Sends a request once more if it is slow.
private struct Hedge: Middleware {
    var delay: Duration

    func intercept(
        _ request: HTTPRequest, _ context: CallContext, next: @escaping Next
    ) async throws -> HTTPResponse {
        try await withThrowingTaskGroup(of: HTTPResponse.self) { sends in
            defer { sends.cancelAll() }
            sends.addTask { try await next(request, context) }
            sends.addTask {
                try await context.time.sleep(for: delay)
                return try await next(request, context)
            }
            guard let first = try await sends.next() else { throw CancellationError() }
            return first
        }
    }
}
