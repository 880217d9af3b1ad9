import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("A request that a middleware leads to another origin", .timeLimit(.minutes(10)))
struct OriginBoundaryTests {
    private static let evil = "https://evil.test/x"

    /// Where in the pipeline the middleware is.
    enum Place: CaseIterable { case call, attempt }

    private func middlewares(_ middlewares: [any Middleware], _ place: Place, in configuration: inout Configuration) {
        switch place {
        case .call: configuration.callMiddlewares = middlewares
        case .attempt: configuration.attemptMiddlewares = middlewares
        }
    }

    private func scene(
        _ place: Place, to url: String = evil, _ configure: (inout Configuration) -> Void = { _ in }
    ) -> AuthScene {
        AuthScene(answering: false) {
            middlewares([Changing(to: url)], place, in: &$0)
            configure(&$0)
        }
    }

    private func sent(by scene: AuthScene) throws -> HTTPRequest {
        try #require(scene.network.sent.first?.request)
    }

    @Test("C64: it is not signed, and has no cookie, no key and no header that may be one", arguments: Place.allCases)
    func credentials(place: Place) async throws {
        let jar = CookieJar()
        try jar.insert([Cookie("sid", "1", domain: "api.test")])
        let scene = scene(place) {
            $0.cookies = jar
            $0.headers = ["X-Tenant": "7", "X-Api-Key": "k", "Accept-Language": "de"]
        }
        scene.network.onAny { .json("\"x\"") }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            _ = try await scene.me()
        }
        let request = try sent(by: scene)
        #expect(request.url.absoluteString == Self.evil)
        #expect(request.headers.map(\.name) == ["Accept-Language"])
    }

    @Test("C64: its 401 refreshes nothing, and its success accepts no token", arguments: Place.allCases, [401, 200])
    func refused(place: Place, status: Int) async throws {
        let scene = scene(place)
        scene.network.onAny { .json("\"x\"", status: status) }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            _ = try? await scene.me()
        }
        #expect(scene.server.refreshes.isEmpty && scene.network.sent.count == 1)
    }

    @Test("C64: what the middleware itself sets was set for that server, and is sent", arguments: Place.allCases)
    func ownHeaders(place: Place) async throws {
        let scene = AuthScene(answering: false) {
            let signing = Changing { request in
                request.url = try HTTPURL(Self.evil)
                request.headers["Authorization"] = "Basic upload"
                request.headers["X-Upload"] = "1"
            }
            middlewares([signing], place, in: &$0)
        }
        scene.network.onAny { .json("\"x\"", status: 401) }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            _ = try? await scene.me()
        }
        let headers = try sent(by: scene).headers
        #expect(headers["Authorization"] == "Basic upload" && headers["X-Upload"] == "1")
        #expect(scene.server.refreshes.isEmpty)
    }

    @Test(
        "C64: middleware below sees that it has left, whatever context is passed on, and if calls share the request",
        arguments: Place.allCases, [true, false])
    func context(place: Place, isShared: Bool) async throws {
        struct Forgetful: Middleware {
            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                var request = request
                request.url = try HTTPURL(OriginBoundaryTests.evil)
                return try await next(request, CallContext())
            }
        }
        struct Witness: Middleware {
            let seen: Noted<[Bool]>

            func intercept(_ request: HTTPRequest, _ context: CallContext, next: Next) async throws -> HTTPResponse {
                seen.update { $0.append(context.hasLeftOrigin) }
                return try await next(request, context)
            }
        }
        let (network, seen) = (scripted(), Noted<[Bool]>([]))
        network.onAny { .json("1") }
        let client = testClient(network) {
            middlewares([Forgetful()] + (place == .attempt ? [Witness(seen: seen)] : []), place, in: &$0)
            if place == .call { $0.attemptMiddlewares = [Witness(seen: seen)] }
            $0.sharesEqualRequests = isShared
        }
        #expect(try await client.run(Endpoint<Int>.get("x")) == 1)
        #expect(seen.value == [true])
    }

    @Test("C64: a key in the query does not go along", arguments: Place.allCases)
    func query(place: Place) async throws {
        let network = scripted()
        network.onAny { .json("1") }
        let client = testClient(network) {
            $0.credentials = .apiKey(query: "key", "se cret")
            let moving = Changing { $0.url = try HTTPURL("https://evil.test\($0.url.target)") }
            middlewares([moving], place, in: &$0)
        }
        _ = try await client.run(Endpoint<Int>.get("x", query: ["a": 1]))
        #expect(network.sent.map(\.request.url.absoluteString) == ["https://evil.test/x?a=1"])
    }

    @Test("C64: the cookies that another server sets are not those of the client's host", arguments: Place.allCases)
    func setCookies(place: Place) async throws {
        let (network, jar) = (scripted(), CookieJar())
        network.onAny { .json("1", headers: ["Set-Cookie": "sid=evil"]) }
        let client = testClient(network) {
            $0.cookies = jar
            middlewares([Changing(to: Self.evil)], place, in: &$0)
        }
        _ = try await client.run(Endpoint<Int>.get("x"))
        #expect(await jar.cookies.isEmpty)
    }

    @Test("C64: an origin that the program trusts is like its own: signed, with all headers", arguments: Place.allCases)
    func trusted(place: Place) async throws {
        let scene = scene(place, to: "https://uploads.test:8443/x") {
            $0.headers = ["X-Tenant": "7"]
            $0.trustedOrigins = ["https://Uploads.test:8443"]
        }
        scene.network.onAny {
            ScriptedReply.status(401)
            ScriptedReply.json("\"ann\"")
        }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            let name = try await scene.me()
            #expect(name == "ann")
        }
        #expect(scene.sentTokens == ["ann.0", "ann.1"])
        #expect(scene.network.sent.allSatisfy { $0.request.headers["X-Tenant"] == "7" })
    }

    @Test("C64: a redirect to an origin that the program trusts stays at home, and one back as well")
    func redirect() async throws {
        let scene = AuthScene(answering: false) {
            $0.headers = ["X-Tenant": "7"]
            $0.trustedOrigins = ["https://uploads.test"]
        }
        scene.network.on(.post, "https://api.test/me") {
            .status(307, headers: ["Location": "https://uploads.test/a"])
        }
        scene.network.on(.post, "https://uploads.test/a") {
            .status(307, headers: ["Location": "https://api.test/b"])
        }
        scene.network.on(.post, "https://api.test/b") { .json("\"ann\"") }
        try await scene.clock.runTest {
            await scene.tokens.signIn(scene.server.signIn("ann"))
            let body = RequestBody.data(Data("x".utf8), contentType: "text/plain")
            let name = try await scene.client.run(Endpoint<String>.post("me", body: body))
            #expect(name == "ann")
        }
        #expect(scene.sentTokens == ["ann.0", "ann.0", "ann.0"])
        #expect(scene.network.sent.allSatisfy { $0.request.headers["X-Tenant"] == "7" && $0.body == Data("x".utf8) })
    }

    @Test(
        "C64: what is no origin, or would get credentials in cleartext, is refused",
        arguments: ["uploads.test", "https://*.test", "https://a.test/x", "https://a.test?x", "http://a.test", ""])
    func invalid(origin: String) async throws {
        let invalid = try await refusal(of: Endpoint<Int>.get("x")) { $0.trustedOrigins = [origin] }
        #expect(invalid.reason.contains("trustedOrigins"))
    }
}
