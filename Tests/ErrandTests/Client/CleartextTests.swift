import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Cleartext: what may be sent over plain http")
struct CleartextTests {
    private func signedIn() async -> TokenStore {
        let store = TokenStore(time: TestClock()) { $0 }
        await store.signIn(Token(accessToken: "secret-token"))
        return store
    }

    @Test("C63: plain http to another machine is refused unless it is allowed")
    func remote() async throws {
        let http = ServerEnvironment(name: "test", baseURL: "http://api.test")
        let invalid = try await refusal(of: Endpoint<Int>.get("x")) { $0.environment = http }
        #expect(invalid.subject == .cleartext)
        #expect(invalid.reason.contains("http://api.test") && invalid.reason.contains("allowsCleartext"))
        let sent = try await request(for: Endpoint<Int>.get("x")) {
            $0.environment = http
            $0.allowsCleartext = true
        }
        #expect(sent.request.url.absoluteString == "http://api.test/x")
    }

    @Test("C63: a token is not sent there even if cleartext is allowed")
    func signed() async throws {
        let tokens = await signedIn()
        let invalid = try await refusal(of: Endpoint<Int>.get("x")) {
            $0.environment = ServerEnvironment(name: "test", baseURL: "http://api.test")
            $0.allowsCleartext = true
            $0.tokens = tokens
        }
        #expect(invalid.subject == .cleartext)
        #expect(!invalid.reason.contains("secret-token"))
    }

    @Test("C63: the same applies to an Authorization header of the user's own, wherever it comes from")
    func ownHeader() async throws {
        struct Signing: Middleware {
            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                var signed = request
                signed.headers["authorization"] = "Basic abc"
                return try await next(signed, context)
            }
        }
        let changes: [(inout Configuration) -> Void] = [
            { $0.headers = ["Authorization": "Basic abc"] }, { $0.callMiddlewares = [Signing()] },
            { $0.attemptMiddlewares = [Signing()] },
        ]
        for change in changes {
            let invalid = try await refusal(of: Endpoint<Int>.get("x")) {
                $0.environment = ServerEnvironment(name: "test", baseURL: "http://api.test")
                $0.allowsCleartext = true
                change(&$0)
            }
            #expect(invalid.subject == .cleartext)
        }
    }

    @Test("C63: a host that the program names gets everything, also without the permission for other hosts")
    func named() async throws {
        let tokens = await signedIn()
        let sent = try await request(for: Endpoint<Int>.get("x")) {
            $0.environment = ServerEnvironment(name: "test", baseURL: "http://orders.default.svc:8080")
            $0.tokens = tokens
            $0.cleartextHosts = ["Orders.default.svc"]
        }
        #expect(sent.request.headers["Authorization"] == "Bearer secret-token")
        let key = try await request(for: Endpoint<Int>.get("x")) {
            $0.environment = ServerEnvironment(name: "test", baseURL: "http://orders.default.svc")
            $0.credentials = .apiKey("X-Api-Key", "k")
            $0.cleartextHosts = ["orders.default.svc"]
        }
        #expect(key.request.headers["X-Api-Key"] == "k")
    }

    @Test("C63: any other host is as it was, with another beginning, end or port as well")
    func unnamed() async throws {
        let tokens = await signedIn()
        for host in ["other.default.svc", "x.orders.default.svc", "orders.default.svc.test"] {
            let invalid = try await refusal(of: Endpoint<Int>.get("x")) {
                $0.environment = ServerEnvironment(name: "test", baseURL: "http://\(host)")
                $0.tokens = tokens
                $0.allowsCleartext = true
                $0.cleartextHosts = ["orders.default.svc"]
            }
            #expect(invalid.subject == .cleartext)
        }
    }

    @Test(
        "C63: each host is named whole: no pattern, no scheme, no port",
        arguments: ["*", "*.svc", "", "http://a.test", "a.test:80", "a.test/", "a b"])
    func pattern(host: String) async throws {
        let invalid = try await refusal(of: Endpoint<Int>.get("x")) { $0.cleartextHosts = [host] }
        #expect(invalid.reason.contains("cleartextHosts"))
    }

    @Test("C63: everything may be sent to this machine", arguments: ["localhost", "127.0.0.1", "[::1]", "x.localhost"])
    func loopback(host: String) async throws {
        let tokens = await signedIn()
        let sent = try await request(for: Endpoint<Int>.get("x")) {
            $0.environment = ServerEnvironment(name: "test", baseURL: "http://\(host):8080")
            $0.tokens = tokens
        }
        #expect(sent.request.headers["Authorization"] == "Bearer secret-token")
    }

    @Test("C63: an unsigned call of a client with tokens needs only the permission for cleartext")
    func unsigned() async throws {
        let tokens = await signedIn()
        let sent = try await request(for: Endpoint<Int>.get("x").authentication(.none)) {
            $0.environment = ServerEnvironment(name: "test", baseURL: "http://api.test")
            $0.allowsCleartext = true
            $0.tokens = tokens
        }
        #expect(sent.request.headers["Authorization"] == nil)
    }
}
