import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Bad input: .invalidRequest that names the problem, and nothing sent")
struct BadInputTests {
    private static let endpoint = Endpoint<Int>.get("x")

    @Test(
        "a string that is no valid base URL",
        arguments: [
            ("", "no scheme"), ("api.test", "no scheme"), ("https://", "no host"), ("https:///v1", "no host"),
            ("ftp://api.test", "neither https nor http"), ("https://api.test?key=1", "no query"),
            ("https://api.test/v1?", "no query"), ("https://api.test/#top", "no fragment"),
            ("https://me:hunter2@api.test", "user name or a password"), ("https://api.test:0", "port"),
            ("https://api .test", "a space"),
        ])
    func baseURL(text: String, reason: String) async throws {
        let invalid = try await refusal(of: Self.endpoint) {
            $0.environment = ServerEnvironment(name: "test", baseURL: text)
        }
        #expect(invalid.subject == .url)
        #expect(invalid.reason.contains(reason), "\(invalid.reason)")
        #expect(!invalid.reason.contains("hunter2"))
    }

    @Test(
        "C60: a method that is no token",
        arguments: ["", "GET ", "GE T", "GET\r\nX: y", "G\0", "GÉT", "GET/1", "(GET)"])
    func method(name: String) async throws {
        let invalid = try await refusal(of: Endpoint<Int>(HTTPMethod(rawValue: name), "x"))
        #expect(invalid.subject == .method)
        #expect(invalid.reason.contains("not a token"))
        #expect(!invalid.reason.contains("\n"))
    }

    @Test(
        "C60: a header name that is no token, wherever it comes from",
        arguments: ["", "X Y", "X:", "X\r\nY", "X\0", "Ü", "X\t"])
    func headerName(name: String) async throws {
        let sources: [(inout Configuration) -> Void] = [
            { $0.headers = HTTPHeaders([HTTPHeaders.Field(name: name, value: "v")]) },
            { $0.headersForEachCall = { HTTPHeaders([HTTPHeaders.Field(name: name, value: "v")]) } },
        ]
        var errors = [try await refusal(of: Endpoint<Int>.get("x", headers: [name: "v"]))]
        for source in sources { errors.append(try await refusal(of: Self.endpoint, source)) }
        for invalid in errors {
            #expect(invalid.subject == .header)
            #expect(invalid.reason.contains("not a token"))
            #expect(!invalid.reason.contains("\r"))
        }
    }

    @Test(
        "C60: a header value with a line break or another control character, which is not shown",
        arguments: ["a\r\nX: y", "a\nb", "a\rb", "a\0b", "a\u{7F}b", " hunter2", "hunter2 "])
    func headerValue(value: String) async throws {
        let invalid = try await refusal(of: Endpoint<Int>.get("x", headers: ["X-Token": value]))
        #expect(invalid.subject == .header)
        #expect(invalid.reason.contains("X-Token"))
        #expect(!invalid.reason.contains(value))
        let key = try await refusal(of: Endpoint<Int>.post("x").idempotencyKey(value))
        #expect(key.reason.contains("Idempotency-Key"))
        let type = try await refusal(of: Endpoint<Int>.post("x", body: .data(Data(), contentType: value)))
        #expect(type.reason.contains("Content-Type"))
    }

    @Test("C60: headers that a middleware adds are checked as well", arguments: [true, false])
    func middleware(callMiddlewares: Bool) async throws {
        struct Adding: Middleware {
            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                var changed = request
                changed.headers["X-Added"] = "a\r\nb"
                return try await next(changed, context)
            }
        }
        let invalid = try await refusal(of: Self.endpoint) {
            if callMiddlewares { $0.callMiddlewares = [Adding()] } else { $0.attemptMiddlewares = [Adding()] }
        }
        #expect(invalid.reason.contains("X-Added"))
    }

    @Test(
        "C60: a header that frames the body differently from the transport",
        arguments: [
            ("Content-Length", "3"), ("content-length", "7"), ("Content-Length", "x"), ("Transfer-Encoding", "chunked"),
        ])
    func framing(name: String, value: String) async throws {
        let body = RequestBody.data(Data("abcdef".utf8), contentType: "text/plain")
        let invalid = try await refusal(of: Endpoint<Int>.post("x", headers: [name: value], body: body))
        #expect(invalid.subject == .header)
        #expect(invalid.reason.contains(name))
    }

    @Test("C60: a token with a line break is refused without being shown")
    func token() async throws {
        let clock = TestClock()
        let store = TokenStore(time: clock) { $0 }
        await store.signIn(Token(accessToken: "hunter2\r\nX: y"))
        let invalid = try await refusal(of: Self.endpoint) { $0.tokens = store }
        #expect(invalid.subject == .header)
        #expect(invalid.reason.contains("Authorization"))
        #expect(!invalid.reason.contains("hunter2"))
    }

    struct Setting: Sendable, CustomTestStringConvertible {
        var words: String
        var change: @Sendable (inout Configuration) -> Void
        var testDescription: String { words }
    }

    @Test(
        "limits of zero or less, and negative durations",
        arguments: [
            Setting(words: "rate limit of 0 requests") { $0.rateLimit = .requests(0, per: .seconds(1)) },
            Setting(words: "rate limit of -1 requests") { $0.rateLimit = .smooth(-1, per: .seconds(1)) },
            Setting(words: "period of 0 ms") { $0.rateLimit = .requests(5, per: .zero) },
            Setting(words: "period of -1 s") {
                $0.rateLimit = .all(.requests(5, per: .seconds(1)), .requests(5, per: .seconds(-1)))
            },
            Setting(words: "rate limit of 0 requests") { $0.limiter = RateLimiter(.requests(0, per: .seconds(1))) },
            Setting(words: "limit of 0 bytes") { $0.responseByteLimit = 0 },
            Setting(words: "limit of -1 bytes") { $0.responseByteLimit = -1 },
            Setting(words: "negative timeout of -1 ms") { $0.timeout = .milliseconds(-1) },
            Setting(words: "negative deadline of -1 s") { $0.deadline = .seconds(-1) },
            Setting(words: "negative wait of -1 s") { $0.offline = .wait(upTo: .seconds(-1)) },
            Setting(words: "limit of 0 requests at once") { $0.concurrency = .atMost(0) },
            Setting(words: "queue for -1 requests") { $0.concurrency = .atMost(1, queue: -1) },
            Setting(words: "negative time of -1 s before the return") {
                $0.servers.choice = .inOrder(returningAfter: .seconds(-1))
            },
            Setting(words: "probe of the servers that cannot be sent") { $0.servers.probe = "health?deep=1" },
            Setting(words: "a share of 0.0") {
                $0.breaker = .opening(at: 0, ofAtLeast: 1, within: .seconds(1), for: .seconds(1))
            },
            Setting(words: "a share of nan") {
                $0.breaker = .opening(at: .nan, ofAtLeast: 1, within: .seconds(1), for: .seconds(1))
            },
            Setting(words: "looks at 0 requests") {
                $0.breaker = .opening(at: 1, ofAtLeast: 0, within: .seconds(1), for: .seconds(1))
            },
            Setting(words: "looks at 9 ms") {
                $0.breaker = .opening(at: 1, ofAtLeast: 1, within: .milliseconds(9), for: .seconds(1))
            },
            Setting(words: "opens for 0 ms") {
                $0.breaker = .opening(at: 1, ofAtLeast: 1, within: .seconds(1), for: .zero)
            },
            Setting(words: "percentile 100") { $0.hedging = .after(.percentile(100)) },
            Setting(words: "percentile nan") { $0.hedging = .after(.percentile(.nan)) },
            Setting(words: "negative delay of -1 ms") { $0.hedging = .after(.fixed(.milliseconds(-1))) },
            Setting(words: "budget of 2.0") { $0.hedging = .after(.percentile(95), budget: 2) },
            Setting(words: "budget of -inf") { $0.hedging = .after(.percentile(95), budget: -.infinity) },
            Setting(words: "retry policy of 0 attempts") { $0.retry = RetryPolicy(attempts: 0) },
            Setting(words: "negative pause") { $0.retry = RetryPolicy(attempts: 2, base: .seconds(-1)) },
            Setting(words: "negative pause") { $0.retry = RetryPolicy(attempts: 2, cap: .seconds(-1)) },
            Setting(words: "negative maximum for Retry-After") {
                $0.retry = RetryPolicy(attempts: 2, maximumRetryAfter: .seconds(-1))
            },
        ])
    func settings(setting: Setting) async throws {
        let invalid = try await refusal(of: Self.endpoint, setting.change)
        #expect(invalid.subject == .configuration)
        #expect(invalid.reason.contains(setting.words), "\(invalid.reason)")
    }

    @Test(
        "the same in an endpoint's own options",
        arguments: [
            (endpoint.timeout(.seconds(-1)), "negative timeout of -1 s"),
            (endpoint.deadline(.milliseconds(-5)), "negative deadline of -5 ms"),
            (endpoint.retry(RetryPolicy(attempts: -1)), "retry policy of -1 attempts"),
            (endpoint.permits(0), "cost of 0 permits"), (endpoint.permits(-1), "cost of -1 permits"),
            (endpoint.permits(6), "a cost of 6 permits exceeds the limit of 5 per 1 s"),
        ])
    func options(endpoint: Endpoint<Int>, words: String) async throws {
        let invalid = try await refusal(of: endpoint) { $0.rateLimit = .requests(5, per: .seconds(1)) }
        #expect(invalid.subject == .configuration)
        #expect(invalid.reason.contains(words), "\(invalid.reason)")
    }

    @Test("explain reports the problem in the same words, without a call")
    func explained() {
        let client = APIClient("api.test")
        #expect(client.explain(Self.endpoint).hasPrefix("Nothing would be sent. "))
        #expect(client.explain(Self.endpoint).contains("no scheme"))
    }

    @Test("a token whose expiry is not a number can still be shown")
    func expiryThatIsNoNumber() {
        let token = Token(accessToken: "a", expiry: Date(timeIntervalSince1970: .nan))
        #expect("\(token)".contains("expiry: unknown"))
    }
}
