import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("The authorization server of the test kit")
struct ScriptedServerTests {
    @Test("a code that was used before gets no token, and nobody is signed in")
    func usedCode() async throws {
        let scene = try await SignInScene(misbehavior: [.usedCode])
        let error = await failure { () async throws(ServiceError) in try await scene.signIn() }
        #expect(error?.refusalCode == "invalid_grant")
        #expect(scene.forms.count == 1)
    }

    @Test("a user who takes too long is not signed in, although the answer comes in the end")
    func late() async throws {
        let scene = try await SignInScene()
        scene.server.delayOfUser = .seconds(599)
        let browser = scene.server.browser
        let token = try await scene.clock.run { try await scene.oauth.signIn(using: browser) }
        #expect(token.accessToken == "access-2")
        scene.server.delayOfUser = .seconds(601)
        let error = await scene.clock.run {
            await failure { () async throws(ServiceError) in try await scene.oauth.signIn(using: browser) }
        }
        guard case .timedOut(let timeout) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(timeout.bound == .signIn)
        #expect(scene.forms.count == 1)
    }

    @Test("S7: a device that is told to slow down asks five seconds later each time, and gets its token")
    func slowDown() async throws {
        let scene = try await SignInScene(misbehavior: [.slowDown])
        scene.server.answerOfUser = .leaves
        let token = try await scene.clock.run {
            async let token = scene.oauth.signInOnAnotherDevice { _ in }
            // After the first poll and before the second.
            try await scene.clock.sleep(for: .seconds(10))
            scene.server.answerOfUser = .agrees
            return try await token
        }
        #expect(token.accessToken.hasPrefix("access"))
        let polls = scene.network.sent.filter { $0.request.url.path == "/token" }
        #expect(polls.map { Instant.zero.duration(to: $0.at) } == [.seconds(5), .seconds(15)])
    }

    @Test("S7: a device that polls too fast is told to slow down, and its code expires")
    func devices() async throws {
        let scene = try await SignInScene()
        scene.server.answerOfUser = .leaves
        let login = APIClient(scene.server.issuer) {
            $0.transport = scene.network
            $0.time = scene.clock
            $0.rateLimit = .unlimited
        }
        _ = try await login.run(Endpoint<Data>.post("device", body: .form(["client_id": "app"])))
        let grant = OAuth.Grant(
            "urn:ietf:params:oauth:grant-type:device_code", parameters: ["device_code": "device-1"])
        var codes: [String?] = []
        // The interval is 5, 10 and then 15 seconds.
        for pause in [0, 4, 9, 15, 600] {
            await scene.clock.advance(by: .seconds(pause))
            let error = await failure { () async throws(ServiceError) in try await scene.oauth.token(grant) }
            codes.append(error?.refusalCode)
        }
        #expect(
            codes == ["authorization_pending", "slow_down", "slow_down", "authorization_pending", "expired_token"])
    }

    @Test("T8: the second use of a refresh token ends all tokens of its sign-in, and none of another")
    func reuse() async throws {
        let scene = try await SignInScene()
        let (first, other) = (try await scene.signIn(), try await scene.signIn())
        let second = try await scene.oauth.refresh(first)
        #expect(scene.refusal(of: second) == nil)
        for used in [first, second] {
            let error = await failure { () async throws(ServiceError) in try await scene.oauth.refresh(used) }
            #expect(error?.refusalCode == "invalid_grant")
        }
        #expect(scene.refusal(of: second)?.status == 401 && scene.refusal(of: other) == nil)
        _ = try await scene.oauth.refresh(other)
    }

    @Test("S9: a revoked token is refused: a refresh token with its access tokens, an access token alone")
    func revoked() async throws {
        let scene = try await SignInScene()
        let (first, second) = (try await scene.signIn(), try await scene.signIn())
        try await scene.oauth.revoke(first)
        try await scene.oauth.revoke(Token(accessToken: second.accessToken))
        let refresh = try #require(first.refreshToken)
        #expect(scene.server.revokedTokens == [refresh, second.accessToken])
        #expect(scene.refusal(of: first)?.status == 401 && scene.refusal(of: second)?.status == 401)
        let error = await failure { () async throws(ServiceError) in try await scene.oauth.refresh(first) }
        #expect(error?.refusalCode == "invalid_grant")
        let next = try await scene.oauth.refresh(second)
        #expect(scene.refusal(of: next) == nil)
        await scene.clock.advance(by: .seconds(3600))
        #expect(scene.refusal(of: next)?.status == 401)
    }

    @Test("S13: tokens are bound to a key, with a nonce if one is set, and each proof is good for one request")
    func bound() async throws {
        let scene = try await SignInScene()
        scene.server.proofNonce = "n-1"
        let oauth = scene.oauth.bindingTokens(to: try SigningKey())
        let token = try await oauth.signIn(using: scene.server.browser)
        #expect(token.type == "DPoP" && scene.forms.count == 2)
        scene.network.on(.get, "https://api.test/me") { [server = scene.server] request in
            server.refusal(of: request).map { .response($0) } ?? .status(204)
        }
        let tokens = TokenStore(time: scene.clock) { try await oauth.refresh($0) }
        await tokens.signIn(token)
        let api = APIClient("https://api.test") {
            $0.transport = scene.network
            $0.time = scene.clock
            $0.tokens = tokens
            $0.rateLimit = .unlimited
        }
        try await api.run(Endpoint<NoContent>.get("me"))
        scene.server.proofNonce = "n-2"
        try await api.run(Endpoint<NoContent>.get("me"))
        let calls = scene.network.sent.filter { $0.request.url.origin.host == "api.test" }.map(\.request)
        #expect(calls.count == 4, "each nonce costs a repetition")
        // The proof was used, and is for another method.
        for method in [HTTPMethod.get, .delete] {
            var copy = try #require(calls.last)
            copy.method = method
            let refusal = try #require(scene.server.refusal(of: copy))
            #expect(refusal.status == 401 && refusal.headers["WWW-Authenticate"]?.contains("dpop_proof") == true)
        }
        #expect(scene.refusal(of: token)?.status == 401, "without a proof")
        let next = try await oauth.refresh(token)
        #expect(next.type == "DPoP" && next.proofKey == token.proofKey)
    }

    @Test("S13: a thief without the key gets neither an answer nor another token")
    func stolen() async throws {
        let scene = try await SignInScene()
        var token = try await scene.oauth.bindingTokens(to: SigningKey()).signIn(using: scene.server.browser)
        token.proofKey = try SigningKey()
        let stolen = token
        let error = await failure { () async throws(ServiceError) in try await scene.oauth.refresh(stolen) }
        #expect(error?.refusalCode == "invalid_grant")
        scene.network.on(.get, "https://api.test/me") { [server = scene.server] request in
            server.refusal(of: request).map { .response($0) } ?? .status(204)
        }
        let tokens = TokenStore(time: scene.clock)
        await tokens.signIn(stolen)
        let api = APIClient("https://api.test") {
            $0.transport = scene.network
            $0.time = scene.clock
            $0.tokens = tokens
        }
        let call = Endpoint<NoContent>.get("me")
        let refused = await failure { () async throws(ServiceError) in try await api.run(call) }
        #expect(refused?.status == 401)
    }
}

extension SignInScene {
    /// Returns why an API refuses that access token by itself.
    fileprivate func refusal(of token: Token) -> HTTPResponse? {
        guard let url = try? HTTPURL("https://api.test/me") else { return HTTPResponse(status: 500) }
        return server.refusal(
            of: HTTPRequest(method: .get, url: url, headers: ["Authorization": "\(token.type) \(token.accessToken)"]))
    }

    @Test("an app that it does not know is told what to do, also if its user would leave")
    func unknownApp() async throws {
        let network = scripted()
        let server = AuthorizationServer(clientID: "social", time: TestClock())
        server.serve(on: network)
        let oauth = try await OAuth.discover(server.issuer, client: .public(id: "app")) { $0.transport = network }
        let error = await #expect(throws: ServiceError.self) { try await oauth.signIn(using: server.browser) }
        guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
        #expect(invalid.reason.contains(#"knows the app "social", not "app""#))
    }
}
