import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("OAuth: pushed parameters of a sign-in")
struct PushedParametersTests {
    private static let redirectURI = "https://app.test/signed-in"

    @Test("S14: the server gets the parameters, with the app's credentials, and the browser only their reference")
    func pushes() async throws {
        for (secret, isRequired) in [(nil, true), ("s3cret-1", true), (nil, false)] as [(String?, Bool)] {
            let scene = try await SignInScene(secret: secret, requiresPush: isRequired)
            let addresses = Noted<[String]>([])
            let browser = ScriptedBrowser { [server = scene.server] address in
                addresses.update { $0.append(address) }
                return try server.visit(address)
            }
            let token = try await scene.oauth.signIn(
                scopes: ["read"], using: browser, parameters: ["prompt": "login"], pushesParameters: !isRequired)
            #expect(token.scopes == ["read"])
            let page = parameters(of: try #require(addresses.value.first))
            #expect(
                page == ["client_id": "app", "request_uri": "urn:ietf:params:oauth:request_uri:pushed-1"])
            let sent = try #require(scene.network.sent.first { $0.request.url.path == "/par" })
            #expect(sent.request.method == .post)
            #expect((sent.request.headers["Authorization"] == nil) == (secret == nil))
            let body = String(decoding: sent.body, as: UTF8.self)
            #expect(body.split(separator: "&").filter { $0.hasPrefix("client_id=") }.count == 1)
            var form = parameters(of: "?" + body)
            #expect(form.removeValue(forKey: "state")?.utf8.count == 43)
            #expect(form.removeValue(forKey: "code_challenge")?.utf8.count == 43)
            #expect(
                form == [
                    "response_type": "code", "client_id": "app", "redirect_uri": Self.redirectURI,
                    "code_challenge_method": "S256", "scope": "read", "prompt": "login",
                ])
        }
    }

    @Test("S14: a server that does not ask for it gets no pushed parameters, and one that does takes no others")
    func required() async throws {
        let plain = try await SignInScene()
        _ = try await plain.signIn()
        #expect(!plain.network.sent.contains { $0.request.url.path == "/par" })
        plain.server.requiresPushedParameters = true
        let error = await failure { () async throws(ServiceError) in try await plain.signIn() }
        guard case .rejected(let rejection) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(rejection.code == "invalid_request")
        // Nothing was pushed that could have expired.
        #expect(rejection.message == "invalid_request")
    }

    @Test("S14: a reference that has expired is an error that says so, with the lifetime that the server has named")
    func expired() async throws {
        let scene = try await SignInScene(requiresPush: true)
        let request = try await scene.oauth.signInRequest(redirectURI: Self.redirectURI)
        #expect(request.expiry == scene.clock.date.addingTimeInterval(60))
        await scene.clock.advance(by: .seconds(60))
        let address = try scene.server.visit(request.address)
        let error = await failure { () async throws(ServiceError) in try await request.token(redirectedTo: address) }
        guard case .rejected(let rejection) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(rejection.code == "invalid_request_uri")
        #expect("\(rejection)".contains("keeps the parameters of a sign-in for 60 s; begin the sign-in again"))
        #expect(scene.forms.isEmpty)
        let soon = try await scene.oauth.signInRequest(redirectURI: Self.redirectURI)
        await scene.clock.advance(by: .seconds(59))
        _ = try await soon.token(redirectedTo: scene.server.visit(soon.address))
    }

    @Test("S14: a server with another word for an expired reference is understood after the lifetime, not before")
    func otherWord() async throws {
        let scene = try await SignInScene(requiresPush: true)
        let words = Noted<[String]>([])
        for wait in [Duration.seconds(59), .seconds(60)] {
            let request = try await scene.oauth.signInRequest(redirectURI: Self.redirectURI)
            let answer = try scene.server.visit(request.address).replacing("code=", with: "error=invalid_request&x=")
            await scene.clock.advance(by: wait)
            let error = await failure { () async throws(ServiceError) in try await request.token(redirectedTo: answer) }
            words.update { $0.append("\(String(describing: error))") }
        }
        #expect(words.value.map { $0.contains("begin the sign-in again") } == [false, true])
    }

    @Test("S14: the lifetime of a reference may be text", arguments: [#""90""#, "90"])
    func lifetime(seconds: String) async throws {
        var metadata = OAuth.ServerMetadata(
            authorizationEndpoint: "https://login.test/authorize", tokenEndpoint: "https://login.test/token")
        metadata.pushedAuthorizationRequestEndpoint = "https://login.test/par"
        let (network, clock) = (scripted(), TestClock())
        network.on(.post, "/par", .json(#"{"request_uri":"urn:x","expires_in":\#(seconds)}"#, status: 201))
        let oauth = OAuth(metadata, client: .public(id: "app")) {
            $0.transport = network
            $0.time = clock
        }
        let request = try await oauth.signInRequest(redirectURI: Self.redirectURI, pushesParameters: true)
        #expect(request.expiry == clock.date.addingTimeInterval(90))
    }

    @Test("S14: a refusal, a broken answer, or no endpoint opens no page")
    func refused() async throws {
        let metadata: OAuth.ServerMetadata = {
            var metadata = OAuth.ServerMetadata(
                authorizationEndpoint: "https://login.test/authorize", tokenEndpoint: "https://login.test/token")
            metadata.requiresPushedAuthorizationRequests = true
            return metadata
        }()
        func outcome(_ reply: ScriptedReply?) async -> ServiceError? {
            let network = scripted()
            var metadata = metadata
            if let reply {
                metadata.pushedAuthorizationRequestEndpoint = "https://login.test/par"
                network.on(.post, "/par", reply)
            }
            let oauth = OAuth(metadata, client: .public(id: "app")) { $0.transport = network }
            let browser = ScriptedBrowser { _ in
                Issue.record("a page was opened")
                return ""
            }
            return await failure { () async throws(ServiceError) in
                try await oauth.signIn(using: browser)
            }
        }
        let refused = await outcome(.json(#"{"error":"invalid_scope"}"#, status: 400))
        guard case .rejected(let rejection) = refused else {
            Issue.record("\(String(describing: refused))")
            return
        }
        #expect(rejection.code == "invalid_scope")
        for answer in ["{}", #"{"request_uri":""}"#, #"{"request_uri":7}"#] {
            let error = await outcome(.json(answer, status: 201))
            #expect(error?.refusedPath == "request_uri", "\(answer): \(String(describing: error))")
        }
        #expect("\(String(describing: await outcome(nil)))".contains("pushed authorization request endpoint"))
    }
}
