@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("What the cache keeps belongs to a session", .timeLimit(.minutes(10))) struct CacheSessionTests {
    private let clock = TestClock()
    private let network = scripted()
    private let cache = HTTPCache.memory(megabytes: 1)
    private let endpoint = Endpoint<String>.get("me")

    /// A server whose answer names the token that it was asked with.
    private func echo(_ headers: HTTPHeaders = ["Cache-Control": "max-age=600"]) {
        network.onAny { request in
            let token = request.headers["Authorization"] ?? "nobody"
            return .status(200, headers: headers, body: "\"\(token)\"")
        }
    }

    private func client(_ tokens: TokenStore? = nil, _ configure: (inout Configuration) -> Void = { _ in }) -> APIClient
    {
        testClient(network, clock) { configuration in
            configuration.cache = cache
            configuration.tokens = tokens
            configure(&configuration)
        }
    }

    @Test("K7: credentials are found after requests without any, also where only one value of a name is secret")
    func credentials() {
        let fields = IdentityFields(.standard, anonymous: ["X-Device"])
        let plain: HTTPHeaders = ["Accept": "text/plain", "X-Device": "phone 77"]
        var marked = plain
        marked.hide(by: Redactor(hiding: ["phone 77"]))
        for _ in 0..<2 {
            #expect(fields.identity(in: plain) == nil)
            #expect(fields.identity(in: marked) == "x-device: phone 77")
            #expect(fields.identity(in: ["Accept": "text/plain", "X-Token": "phone"]) == "x-token: phone")
        }
    }

    private func token(_ text: String, expiresIn seconds: Double? = nil) -> Token {
        Token(accessToken: text, expiry: seconds.map { clock.date.addingTimeInterval($0) })
    }

    @Test("K7: a signed answer goes to no other user, to no call without one, and to no later session")
    func users() async throws {
        echo()
        let tokens = TokenStore(time: clock)
        let client = client(tokens)
        await tokens.signIn(token("ann"))
        #expect(try await client.run(endpoint) == "Bearer ann")
        #expect(try await client.reply(to: endpoint).cache?.kind == .hit)
        #expect(try await client.run(endpoint.authentication(.none)) == "nobody")
        await tokens.signIn(token("ben"))
        #expect(try await client.run(endpoint) == "Bearer ben")
        await tokens.signIn(token("ann"))
        #expect(try await client.reply(to: endpoint).cache?.kind == .miss)
    }

    @Test("K7: a call with an Authorization header of its own is looked up without the session, before it is sent too")
    func lookedUp() async throws {
        echo()
        let tokens = TokenStore(time: clock)
        let client = client(tokens)
        let own = Endpoint<String>.get("me", headers: ["Authorization": "Basic YTpi"])
        func outlook() -> String? {
            client.explain(own).split(separator: "\n").last { $0.hasPrefix("cache:") }.map { String($0.dropFirst(13)) }
        }
        func kinds() async throws -> [CacheStatus.Kind?] {
            var kinds: [CacheStatus.Kind?] = []
            for try await reply in client.replies(to: own) { kinds.append(reply.cache?.kind) }
            return kinds
        }
        await tokens.signIn(token("ann"))
        _ = try await client.run(endpoint)
        #expect(outlook() == "nothing is stored; it is sent")
        #expect(try await kinds() == [.miss])
        #expect(outlook() == "hit, 0 s old")
        #expect(try await kinds() == [.hit])
        #expect(network.sent.count == 2)
    }

    @Test("K7: a refresh of the token keeps what is stored, and a sign-out removes it")
    func refresh() async throws {
        echo(["Cache-Control": "max-age=600", "Vary": "Authorization"])
        let tokens = TokenStore(leeway: .zero, time: clock) { [clock] _ in
            Token(accessToken: "second", expiry: clock.date.addingTimeInterval(1000))
        }
        let client = client(tokens)
        await tokens.signIn(token("first", expiresIn: 60))
        #expect(try await client.run(endpoint) == "Bearer first")
        await clock.advance(by: .seconds(100))
        #expect(try await client.run(Endpoint<String>.get("other")) == "Bearer second")
        #expect(try await client.run(endpoint) == "Bearer first")
        #expect(try await client.run(endpoint.authentication(.none)) == "nobody")
        #expect(cache.statistics.responses == 3)
        await tokens.signOut()
        #expect(cache.statistics.responses == 1)
        await #expect(throws: ServiceError.self) { try await client.run(endpoint) }
    }

    @Test("K4, K7: the response to a request with a proof (DPoP) is stored, confirmed, and belongs to the session")
    func proved() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"1\"", "Vary": "DPoP"]
        network.on(.get, "/me", .json("\"ann\"", headers: headers), .status(304, headers: headers))
        let tokens = TokenStore(time: clock)
        let client = client(tokens)
        let key = try SigningKey()
        await tokens.signIn(Token(accessToken: "ann", type: "DPoP", proofKey: key))
        #expect(try await client.reply(to: endpoint).cache == CacheStatus(.miss))
        #expect(try await client.reply(to: endpoint).cache?.kind == .hit)
        await clock.advance(by: .seconds(100))
        let confirmed = try await client.reply(to: endpoint)
        #expect(confirmed.value == "ann" && confirmed.cache == CacheStatus(.revalidated, age: .zero))
        #expect(cache.statistics.responses == 1)
        #expect(network.sent.count == 2 && network.sent.allSatisfy { $0.request.headers["DPoP"] != nil })
        await tokens.signOut()
        #expect(cache.statistics.responses == 0)
    }

    @Test("K7: an answer that arrives after the sign-out is not stored")
    func late() async throws {
        network.on(.get, "/me") {
            ScriptedReply.json("\"ann\"", headers: ["Cache-Control": "max-age=600"]).after(.seconds(5))
        }
        let tokens = TokenStore(time: clock)
        let client = client(tokens)
        await tokens.signIn(token("ann"))
        try await clock.run {
            async let reply = client.reply(to: endpoint.outlivingSession())
            try await clock.sleep(for: .seconds(1))
            await tokens.signOut()
            #expect(try await reply.cache?.reason == .overtaken)
        }
        #expect(cache.statistics.responses == 0)
    }

    @Test("S16: what a call has written to the cache is gone when its session ends during the next call")
    func ended() async throws {
        network.on(.get, "/me") {
            ScriptedReply.json("\"ann\"", headers: ["Cache-Control": "max-age=600"]).after(.seconds(5)).times(2)
        }
        let tokens = TokenStore(time: clock)
        let client = client(tokens)
        await tokens.signIn(token("ann"))
        try await clock.run {
            _ = try await client.run(endpoint)
            #expect(cache.statistics.responses == 1)
            async let error = failure { () async throws(ServiceError) in
                try await client.run(endpoint.query("page", 2))
            }
            try await clock.sleep(for: .seconds(1))
            await tokens.signIn(token("ben"))
            #expect(await error?.reason == .otherSession)
            try await clock.sleep(for: .seconds(10))
        }
        #expect(cache.statistics.responses == 0)
    }

    @Test("K7: requests with credentials of their own share only with requests that have the same")
    func ownCredentials() async throws {
        network.onAny { request in
            let who = ["Authorization", "Cookie", "X-Api-Key"].compactMap { request.headers[$0] }.joined()
            return .status(200, headers: ["Cache-Control": "max-age=600"], body: "\"\(who)\"")
        }
        let client = client()
        for (name, value) in [("Authorization", "Basic a"), ("Cookie", "sid=1"), ("X-Api-Key", "7")] {
            let (one, other) = (endpoint.header(name, value), endpoint.header(name, value + "x"))
            #expect(try await client.run(one) == value)
            #expect(try await client.run(other) == value + "x")
            #expect(try await client.run(one) == value)
            #expect(try await client.reply(to: other).cache?.kind == .hit)
        }
        #expect(try await client.run(endpoint) == "")
    }

    @Test("K7: what is kept and shown has no credential of a request")
    func traces() async throws {
        echo(["Cache-Control": "max-age=600", "Vary": "Authorization, Cookie, X-Api-Key, Accept"])
        let tokens = TokenStore(time: clock)
        await tokens.signIn(token("hunter2"))
        let client = client(tokens)
        let secrets: HTTPHeaders = ["Cookie": "hunter3", "X-Api-Key": "hunter4"]
        let reply = try await client.reply(to: Endpoint<Data>.get("me", headers: secrets))
        #expect(reply.cache == CacheStatus(.miss))
        let store = try #require(cache.store as? MemoryCacheStore)
        let stored = try #require(store.everything.first)
        var text = ""
        // Everything that is reachable, except the body, which repeats the token here.
        dump(stored.key, to: &text)
        dump(stored.response.variant, to: &text)
        dump(stored.response.headers, to: &text)
        dump(cache, to: &text)
        for secret in ["hunter2", "hunter3", "hunter4"] { #expect(!text.contains(secret)) }
        #expect(text.contains("authorization") && !"\(cache)".contains("me"))
    }

    @Test("K7, K13: a hop to another origin belongs to nobody, and the refresh of what it stored is not signed")
    func leaving() async throws {
        network.on(.get, "https://api.test/me") {
            ScriptedReply.status(302, headers: ["Location": "https://other.test/y", "Cache-Control": "max-age=600"])
                .always
        }
        network.on(.get, "https://other.test/y") {
            ScriptedReply.json("\"y\"", headers: ["Cache-Control": "max-age=10, stale-while-revalidate=60"]).always
        }
        let tokens = TokenStore(time: clock)
        await tokens.signIn(token("hunter2"))
        let client = client(tokens)
        try await clock.run {
            #expect(try await client.run(endpoint) == "y")
            try await clock.sleep(for: .seconds(20))
            #expect(try await client.reply(to: endpoint).cache?.reason == .refreshing)
            try await clock.sleep(for: .seconds(1))
        }
        #expect(network.sent.map(\.request.url.origin.host) == ["api.test", "other.test", "other.test"])
        #expect(network.sent.map { $0.request.headers["Authorization"] != nil } == [true, false, false])
        await tokens.signOut()
        #expect(cache.statistics.responses == 1)
    }

    @Test("K3: what a middleware adds below the cache, and the response depends on, is not stored")
    func middleware() async throws {
        echo(["Cache-Control": "max-age=600", "Vary": "X-Device"])
        let client = client { $0.attemptMiddlewares = [Adding(name: "X-Device")] }
        #expect(try await client.reply(to: endpoint).cache == CacheStatus(.miss, reason: .addedBelow))
        let other = self.client { $0.attemptMiddlewares = [Adding(name: "X-Other")] }
        #expect(try await other.reply(to: endpoint).cache == CacheStatus(.miss, reason: .addedBelow))
        let keyed = self.client { $0.attemptMiddlewares = [Adding(name: "X-Api-Key")] }
        #expect(try await keyed.reply(to: Endpoint<String>.get("z")).cache == CacheStatus(.miss, reason: .addedBelow))
        let constant = self.client { configuration in
            configuration.attemptMiddlewares = [Adding(name: "X-Api-Key"), Adding(name: "X-Device")]
            configuration.constantHeaders = ["x-api-key", "X-Device"]
        }
        for kind in [CacheStatus.Kind.miss, .hit] {
            let reply = try await constant.reply(to: Endpoint<String>.get("z"))
            #expect(reply.cache?.kind == kind && reply.cache?.reason == nil)
        }
    }

    private struct Adding: Middleware {
        let name: String

        func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
            var request = request
            request.headers[name] = "7"
            return try await next(request, context)
        }
    }
}
