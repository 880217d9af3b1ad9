import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Who makes a call, as a server's middleware knows it.
enum Caller {
    @TaskLocal static var name: String?
}

@Suite("Equal requests that attempt middleware makes different", .timeLimit(.minutes(10)))
struct SharedIdentityTests {
    private let clock = TestClock()
    private let network = scripted()
    private let endpoint = Endpoint<String>.get("x")

    private func client(
        _ middleware: [any Middleware], _ configure: (inout Configuration) -> Void = { _ in }
    ) -> APIClient {
        testClient(network, clock) {
            $0.sharesEqualRequests = true
            $0.attemptMiddlewares = middleware
            configure(&$0)
        }
    }

    /// Answers after five seconds with whom the request is for.
    private func echo(_ names: String...) {
        network.onAny { request in
            let who = names.compactMap { request.headers[$0] }.joined() + (request.url.query ?? "")
            try await clock.sleep(for: .seconds(5))
            return .status(200, headers: ["Content-Type": "application/json"], body: "\"\(who)\"")
        }
    }

    /// Runs a call for each user, a second apart, and returns what they were given.
    private func answers(of client: APIClient, for users: [String]) async throws -> [String] {
        try await clock.run {
            try await withThrowingTaskGroup(of: (Int, String).self) { group in
                for (number, user) in users.enumerated() {
                    group.addTask {
                        try await clock.sleep(for: .seconds(number))
                        let value = try await Caller.$name.withValue(user) { try await client.run(endpoint) }
                        return (number, value)
                    }
                }
                return try await group.reduce(into: Array(repeating: "", count: users.count)) { $0[$1.0] = $1.1 }
            }
        }
    }

    @Test(
        "K7, K8: what is sent for one user goes to no other, and the others send at once",
        arguments: ["Authorization", "X-User-Id", "Cookie", "Stripe-Account", "X-Whatever"])
    func header(name: String) async throws {
        echo(name)
        let client = client([Changing { $0.headers[name] = Caller.name }])
        #expect(try await answers(of: client, for: ["ann", "ben", "cem"]) == ["ann", "ben", "cem"])
        // Nobody waits for a response that is not for them.
        #expect(network.sent.map(\.at) == [.zero, .ms(1000), .ms(2000)])
    }

    @Test("K7, K8: a user in the query is a user as well")
    func query() async throws {
        echo()
        let client = client([Changing { $0.url = try HTTPURL("https://api.test/x?\(Caller.name ?? "")") }])
        #expect(try await answers(of: client, for: ["ann", "ben"]) == ["ann", "ben"])
    }

    @Test("K7, K8: calls that have joined before the identity is added send when it is")
    func joinedBefore() async throws {
        echo("X-User-Id")
        let client = client([Changing { $0.headers["X-User-Id"] = Caller.name }]) {
            $0.limiter = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        }
        try await client.limiter.acquire()
        // They wait for the permit of the first, and then for permits of their own.
        #expect(try await answers(of: client, for: ["ann", "ben", "cem"]) == ["ann", "ben", "cem"])
        #expect(network.sent.count == 3)
    }

    @Test("K7, K8: an identity that only the first attempt has, or a hop of a redirect, counts as well")
    func hops() async throws {
        network.on(.get, "/x") { request in
            .status(302, headers: ["Location": "/of/\(request.headers["X-User-Id"] ?? "nobody")"])
        }
        network.onAny { request in
            try await clock.sleep(for: .seconds(5))
            return .status(
                200, headers: ["Content-Type": "application/json"], body: "\"\(request.url.path.dropFirst(4))\"")
        }
        let client = client([
            Changing { if $0.url.path == "/x" { $0.headers["X-User-Id"] = Caller.name } }
        ])
        #expect(try await answers(of: client, for: ["ann", "ben"]) == ["ann", "ben"])
    }

    @Test("K7, K8: a middleware that answers by itself answers one call")
    func answering() async throws {
        struct Answering: Middleware {
            let clock: TestClock

            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                let name = Caller.name ?? "nobody"
                try await clock.sleep(for: .seconds(5))
                return HTTPResponse(
                    status: 200, headers: ["Content-Type": "application/json"], body: .bytes(Data("\"\(name)\"".utf8)))
            }
        }
        let client = client([Answering(clock: clock)])
        #expect(try await answers(of: client, for: ["ann", "ben"]) == ["ann", "ben"])
    }

    @Test("K8: an identifier of a trace or a request is nobody's, so the calls share one request")
    func traces() async throws {
        echo("X-User-Id")
        let client = client([
            Changing("X-Request-Id", to: "1"), Changing("traceparent", to: "00-1-1-00"), Changing("X-Step", to: "1"),
        ]) { $0.anonymousHeaders = ["x-step"] }
        #expect(try await answers(of: client, for: ["ann", "ben", "cem"]) == ["", "", ""])
        #expect(network.sent.count == 1)
    }

    @Test("K8: a header that is the same in each request, as the program says, is nobody's either")
    func constant() async throws {
        echo()
        let client = client([Changing("X-Api-Key", to: "k")]) { $0.constantHeaders = ["X-Api-Key"] }
        #expect(try await answers(of: client, for: ["ann", "ben"]) == ["", ""])
        #expect(network.sent.count == 1)
    }

    @Test("K8: what the library adds by itself is compared above: the token, the cookies")
    func ownCredentials() async throws {
        echo("Authorization", "Cookie")
        let (tokens, jar) = (TokenStore(time: clock), CookieJar())
        try jar.insert([Cookie("a", "1", domain: "api.test")])
        await tokens.signIn(Token(accessToken: "t"))
        let client = client([Changing("X-Request-Id", to: "1")]) {
            $0.tokens = tokens
            $0.cookies = jar
        }
        #expect(try await answers(of: client, for: ["ann", "ben"]) == ["Bearer ta=1", "Bearer ta=1"])
        #expect(network.sent.count == 1)
    }

    @Test("K7, K12: the call that began leaves; those who wait send for themselves")
    func leaderLeaves() async throws {
        echo("X-User-Id")
        let client = client([Changing { $0.headers["X-User-Id"] = Caller.name }]) {
            $0.limiter = RateLimiter(.requests(1, per: .seconds(10)), time: clock)
        }
        try await client.limiter.acquire()
        try await clock.run {
            let first = Task(executorPreference: clock.executor) {
                try await Caller.$name.withValue("ann") { try await client.run(endpoint) }
            }
            try await clock.sleep(for: .seconds(1))
            async let second = Caller.$name.withValue("ben") { try await client.run(endpoint) }
            try await clock.sleep(for: .seconds(1))
            first.cancel()
            #expect(try await second == "ben")
        }
    }
}
