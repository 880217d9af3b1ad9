@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Whom a stored response is for", .timeLimit(.minutes(10))) struct CacheIdentityTests {
    private let clock = TestClock()
    private let network = scripted()
    private let cache = HTTPCache.memory(megabytes: 1)
    private let endpoint = Endpoint<String>.get("me")

    private func client(
        _ network: (any Transport)? = nil, _ configure: (inout Configuration) -> Void = { _ in }
    ) -> APIClient {
        testClient(network ?? self.network, clock) { configuration in
            configuration.cache = cache
            configure(&configuration)
        }
    }

    /// Answers with whom the request is for.
    private func echo(_ names: String..., setting cookie: String? = nil) {
        network.onAny { request in
            let who = names.compactMap { request.headers[$0] }.joined()
            var headers: HTTPHeaders = ["Cache-Control": "max-age=600"]
            headers["Set-Cookie"] = cookie
            return .status(200, headers: headers, body: "\"\(who)\"")
        }
    }

    // MARK: The token that signs

    @Test("K7: a token in the place of the store's own is another user's, and that response is not stored")
    func onBehalfOf() async throws {
        echo("Authorization")
        let tokens = TokenStore(time: clock)
        await tokens.signIn(Token(accessToken: "ann"))
        let behalf = client { configuration in
            configuration.tokens = tokens
            configuration.attemptMiddlewares = [Changing("Authorization", to: "Bearer ben")]
        }
        let own = client { $0.tokens = tokens }
        let reply = try await behalf.reply(to: endpoint)
        #expect(reply.value == "Bearer ben" && reply.cache == CacheStatus(.miss, reason: .addedBelow))
        #expect(try await own.run(endpoint) == "Bearer ann")
        #expect(try await own.reply(to: endpoint).cache?.kind == .hit)
    }

    @Test("K7: which of two requests of a middleware has brought the response is not known, so it is not stored")
    func twice() async throws {
        struct Asking: Middleware {
            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                var other = request
                other.headers["X-User-Id"] = "ben"
                let response = try await next(other, context)
                _ = try await next(request, context)
                return response
            }
        }
        echo("X-User-Id")
        let reply = try await client { $0.attemptMiddlewares = [Asking()] }.reply(to: endpoint)
        #expect(reply.value == "ben" && reply.cache == CacheStatus(.miss, reason: .addedBelow))
    }

    // MARK: Headers

    static let identities = [
        "Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "Api-Key", "X-Auth-Token", "X-Access-Token",
        "X-User", "X-User-Id", "X-Username", "X-Account", "X-Account-Id", "X-Tenant", "X-Tenant-Id", "X-Org-Id",
        "X-Organization", "X-Customer-Id", "X-Client-Id", "X-Device-Id", "X-Installation-Id", "X-Session-Id",
        "X-Remote-User", "Remote-User", "X-Forwarded-User", "X-Forwarded-Email", "X-Forwarded-For", "Forwarded",
        "X-Real-IP", "From", "Host", "Stripe-Account", "OpenAI-Organization", "OpenAI-Project", "anthropic-beta",
        "X-Goog-User-Project", "X-Amz-Security-Token", "X-Goog-Authenticated-User-Email", "X-Ms-Client-Principal",
        "X-MS-Token", "X-GitLab-Token", "X-Shopify-Access-Token", "X-Workspace", "X-Role", "X-On-Behalf-Of",
        "X-Impersonate", "Impersonate-User",
    ]

    @Test("K7: requests share only with requests that have the same in any header that may say who asks")
    func headers() async throws {
        network.onAny { request in
            let who = Self.identities.compactMap { request.headers[$0] }.joined()
            return .status(200, headers: ["Cache-Control": "max-age=600"], body: "\"\(who)\"")
        }
        let client = client()
        #expect(try await client.run(endpoint) == "")
        for name in Self.identities {
            for value in ["1", "2"] { #expect(try await client.run(endpoint.header(name, value)) == value, "\(name)") }
            for value in ["1", "2"] {
                let reply = try await client.reply(to: endpoint.header(name, value))
                #expect(reply.value == value && reply.cache?.kind == .hit, "\(name)")
            }
        }
    }

    @Test(
        "K7: a header that says nothing about who asks parts nothing",
        arguments: [
            "Accept-Language", "User-Agent", "X-Request-Id", "traceparent", "tracestate", "X-B3-TraceId",
            "X-Correlation-ID", "Date", "X-Step",
        ])
    func anonymous(name: String) async throws {
        echo()
        let client = client { $0.anonymousHeaders = ["x-step"] }
        _ = try await client.run(endpoint.header(name, "1"))
        #expect(try await client.reply(to: endpoint.header(name, "2")).cache?.kind == .hit)
    }

    @Test("K7: a name that the program calls secret says who asks, whatever it is")
    func secret() async throws {
        echo("X-Request-Id")
        let client = client { $0.secretNames = ["x-request-id"] }
        for value in ["1", "2"] {
            #expect(try await client.run(endpoint.header("X-Request-Id", value)) == value)
        }
    }

    @Test("K7: attempt middleware that adds an identity prevents storing; one that adds a trace does not")
    func below() async throws {
        echo()
        let trace = client { $0.attemptMiddlewares = [Changing("traceparent", to: "00-1-1-00")] }
        #expect(try await trace.reply(to: endpoint).cache == CacheStatus(.miss))
        #expect(try await trace.reply(to: endpoint).cache?.kind == .hit)
        cache.forgetAll()
        for name in ["X-User-Id", "Stripe-Account", "X-Anything"] {
            let client = client { $0.attemptMiddlewares = [Changing(name, to: "1")] }
            #expect(try await client.reply(to: endpoint).cache == CacheStatus(.miss, reason: .addedBelow), "\(name)")
        }
    }

    // MARK: The client

    private struct Certified: Transport {
        let name: String
        let identity: String?

        var connectivity: Connectivity { .always }

        func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
            HTTPResponse(status: 200, headers: ["Cache-Control": "max-age=600"], body: .bytes(Data("\"\(name)\"".utf8)))
        }

        func shutdown() async {}
    }

    @Test("K7: clients share only if their transports have the same identity; one that is not known is like no other")
    func transports() async throws {
        let (ann, ben) = (Certified(name: "ann", identity: "a"), Certified(name: "ben", identity: "b"))
        let other = Certified(name: "cem", identity: nil)
        for endpoint in [endpoint, endpoint.cache(key: "me")] {
            #expect(try await client(ann).run(endpoint) == "ann")
            #expect(try await client(ben).run(endpoint) == "ben")
            #expect(try await client(ann).reply(to: endpoint).cache?.kind == .hit)
            let (first, second) = (client(other), client(other))
            #expect(try await first.run(endpoint) == "cem")
            #expect(try await first.reply(to: endpoint).cache?.kind == .hit)
            #expect(try await second.reply(to: endpoint).cache?.kind == .miss)
        }
    }

    @Test("K7: what a transport without an identity brings is in memory only")
    func unknownTransport() async throws {
        let scratch = try Scratch()
        let cache = HTTPCache.disk(scratch.path("cache"), megabytes: 1)
        try await withoutDiskThreads {
            let client = testClient(Certified(name: "ann", identity: nil), clock) { $0.cache = cache }
            _ = try await client.run(endpoint)
            #expect(try await client.reply(to: endpoint).cache?.kind == .hit)
        }
        let files = (try? FileManager.default.subpathsOfDirectory(atPath: scratch.path("cache"))) ?? []
        #expect(!files.contains { $0.hasPrefix("u/") || $0.hasPrefix("u-") }, "\(files)")
    }

    #if os(Linux)
    @Test("K7: certificates, pins, proxy and Unix socket are a transport's identity, of which nothing can be read")
    func curl() {
        func identity(_ change: (inout CurlTransport.Options) -> Void) -> String {
            var options = CurlTransport.Options()
            change(&options)
            return options.identity
        }
        let all = [
            identity { _ in }, identity { $0.certificateAuthorities = "/ca" }, identity { $0.pinnedPublicKeys = ["a"] },
            identity { $0.clientCertificate = .init(certificate: "/a", key: "/k") },
            identity { $0.clientCertificate = .init(certificate: "/b", key: "/k") }, identity { $0.proxy = .none },
            identity { $0.proxy = .url("http://user:hunter2@proxy.test") },
            identity { $0.unixSocket = "/run/a" }, identity { $0.unixSocket = "/run/b" },
        ]
        #expect(Set(all).count == all.count && all[0] == "" && !all.contains { $0.contains("hunter2") })
        #expect(identity { $0.connectionsPerOrigin = 2 } == "")
        #expect(identity { $0.proxy = .none } == identity { $0.proxy = .none })
    }
    #endif

    @Test("K7: under a name, clients with other keys or parameters in the query share nothing")
    func named() async throws {
        network.onAny { request in
            .status(200, headers: ["Cache-Control": "max-age=600"], body: "\"\(request.url.query ?? "")\"")
        }
        let named = endpoint.cache(key: "me")
        let ann = client { $0.credentials = .apiKey(query: "key", "a") }
        let ben = client { $0.credentials = .apiKey(query: "key", "b") }
        let cem = client { $0.parameters = ["account": 7] }
        #expect(try await ann.run(named) == "key=a")
        #expect(try await ben.run(named) == "key=b")
        #expect(try await cem.run(named) == "account=7")
        #expect(try await client().run(named) == "")
        for client in [ann, ben, cem] { #expect(try await client.reply(to: named).cache?.kind == .hit) }
    }

    // MARK: Cookies that are set

    @Test(
        "K7: a response that sets a cookie, and belongs to no session, is stored for nobody", arguments: [true, false])
    func settingCookie(hasJar: Bool) async throws {
        echo(setting: "csrf=1")
        let client = client { if hasJar { $0.cookies = CookieJar() } }
        #expect(try await client.reply(to: endpoint).cache == CacheStatus(.miss, reason: .setsCookie))
        let other = self.client { if hasJar { $0.cookies = CookieJar() } }
        #expect(try await other.reply(to: endpoint).cache?.kind == .miss)
    }

    @Test("K7: one that belongs to a session goes with it, as the cookie does")
    func settingCookieOfSession() async throws {
        echo(setting: "csrf=1")
        let tokens = TokenStore(time: clock)
        await tokens.signIn(Token(accessToken: "ann"))
        let client = client { $0.tokens = tokens }
        #expect(try await client.reply(to: endpoint).cache == CacheStatus(.miss))
        #expect(try await client.reply(to: endpoint).cache?.kind == .hit)
    }
}

extension HTTPCache {
    fileprivate func forgetAll() {
        (store as? MemoryCacheStore)?.remove(.everything)
    }
}
