import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("OAuth: signing in with a browser")
struct SignInTests {
    @Test("a sign-in, with and without a secret: the page, the exchange, the token, and its refresh")
    func whole() async throws {
        for secret in [nil, "s3cret-1"] {
            let scene = try await SignInScene(secret: secret)
            let addresses = Noted<[String]>([])
            let browser = ScriptedBrowser { [server = scene.server] address in
                addresses.update { $0.append(address) }
                return try server.visit(address)
            }
            let token = try await scene.oauth.signIn(
                scopes: ["read", "write"], using: browser, parameters: ["prompt": "login"])
            #expect(token.accessToken == "access-2")
            #expect(token.scopes == ["read", "write"])
            #expect(token.expiry == scene.clock.date.addingTimeInterval(3600))
            let address = try #require(addresses.value.first)
            #expect(address.hasPrefix("https://login.test/authorize?"))
            var page = parameters(of: address)
            #expect(page.removeValue(forKey: "state")?.utf8.count == 43)
            #expect(page.removeValue(forKey: "code_challenge")?.utf8.count == 43)
            #expect(
                page == [
                    "response_type": "code", "client_id": "app", "redirect_uri": "https://app.test/signed-in",
                    "code_challenge_method": "S256", "scope": "read write", "prompt": "login",
                ])
            let form = parameters(of: "?" + (scene.forms.first ?? ""))
            #expect(form["grant_type"] == "authorization_code")
            #expect(form["client_id"] == (secret == nil ? "app" : nil))
            #expect(form["scope"] == nil)
            let refreshed = try await scene.oauth.refresh(token)
            #expect(refreshed.refreshToken != token.refreshToken)
        }
    }

    @Test(
        "S1: an answer whose state is missing, wrong or there twice is refused, and nothing is exchanged",
        arguments: [
            { _ in "https://app.test/signed-in?code=x" }, { _ in "https://app.test/signed-in?code=x&state=" },
            { _ in "https://app.test/signed-in?code=x&state=y" }, { $0.replacing("state=", with: "State=") },
            { $0 + "&state=" + (parameters(of: $0)["state"] ?? "") }, { $0 + "&state=x" },
            { $0.replacing("?", with: "#") },
            { _ in "" }, { _ in "https://app.test/signed-in?error=access_denied&error_description=x" },
            { $0 + String(repeating: "x", count: 70_000) },
        ] as [@Sendable (String) -> String])
    func state(change: @escaping @Sendable (String) -> String) async throws {
        let scene = try await SignInScene()
        let error = await failure { () async throws(ServiceError) in try await scene.signIn(change) }
        #expect(error?.refusedPath == "state")
        #expect(scene.forms.isEmpty)
    }

    @Test("S1: an answer is used once, also the answer of another sign-in")
    func twice() async throws {
        let scene = try await SignInScene()
        let request = try await scene.oauth.signInRequest(redirectURI: "https://app.test/signed-in")
        let address = try scene.server.visit(request.address)
        let other = try await scene.oauth.signInRequest(redirectURI: "https://app.test/signed-in")
        #expect(request.isAnswered(by: address) && !other.isAnswered(by: address))
        let foreign = await failure { () async throws(ServiceError) in try await other.token(redirectedTo: address) }
        #expect(foreign?.refusedPath == "state")
        _ = try await request.token(redirectedTo: address)
        let second = await failure { () async throws(ServiceError) in try await request.token(redirectedTo: address) }
        #expect(second?.refusedPath == "state")
        #expect(scene.forms.count == 1)
    }

    @Test(
        "S1: a server that leaves out the state, sends another one, or all parameters twice, signs nobody in",
        arguments: [AuthorizationServer.Misbehavior.noState, .wrongState, .repeatedParameters])
    func wrongServer(misbehavior: AuthorizationServer.Misbehavior) async throws {
        let scene = try await SignInScene(misbehavior: [misbehavior])
        let error = await failure { () async throws(ServiceError) in try await scene.signIn() }
        #expect(error?.refusedPath == "state")
        #expect(scene.forms.isEmpty)
    }

    @Test("S2: the verifier comes from the system, whatever the time source, and its challenge is its SHA-256")
    func challenge() async throws {
        // RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        #expect(
            Base64URL.encode(SHA256.hash(of: Data(verifier.utf8))) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
        var seen: Set<String> = []
        for _ in 0..<20 {
            // Each scene has the same seed.
            let scene = try await SignInScene()
            _ = try await scene.signIn()
            let form = parameters(of: "?" + (scene.forms.first ?? ""))
            let sent = try #require(form["code_verifier"])
            #expect((43...128).contains(sent.utf8.count))
            #expect(sent.utf8.allSatisfy { Character(Unicode.Scalar($0)).isASCII && $0 > 0x2C })
            seen.insert(sent)
        }
        #expect(seen.count == 20)
        let scene = try await SignInScene()
        let scripted = try await SystemRandom.$scripted.withValue({ 0 }) {
            try await scene.oauth.signInRequest(redirectURI: "https://app.test")
        }
        #expect(parameters(of: scripted.address)["state"] == String(repeating: "A", count: 43))
    }

    @Test("S2: a server that lists methods without S256 is refused, and no page is opened; one that lists none is not")
    func methods() async throws {
        let plain = try await SignInScene(misbehavior: [.plainChallengesOnly])
        let opened = Noted(false)
        let browser = ScriptedBrowser { _ in
            opened.value = true
            return ""
        }
        let error = await failure { () async throws(ServiceError) in try await plain.oauth.signIn(using: browser) }
        #expect(error?.refusedPath == "code_challenge_methods_supported")
        #expect(!opened.value)
        let silent = try await SignInScene(misbehavior: [.noChallengeMethods])
        #expect(try await silent.signIn().accessToken == "access-2")
    }

    @Test(
        "S3: a code without the issuer that the metadata promise, or any answer with another one, is refused",
        arguments: [AuthorizationServer.Misbehavior.noIssuer, .wrongIssuer], AnswerKind.allCases)
    func issuer(misbehavior: AuthorizationServer.Misbehavior, kind: AnswerKind) async throws {
        let scene = try await SignInScene(misbehavior: [misbehavior])
        scene.server.answerOfUser = kind == .code ? .agrees : .refuses
        let error = await failure { () async throws(ServiceError) in try await scene.signIn() }
        #expect(scene.forms.isEmpty)
        if kind == .error, misbehavior == .noIssuer {
            #expect(error?.refusalCode == "access_denied")
        } else {
            #expect(error?.refusedPath == "iss")
        }
    }

    enum AnswerKind: CaseIterable { case code, error }

    @Test("S3: an answer that names another issuer does not use up the sign-in; the right one succeeds after it")
    func foreignIssuerFirst() async throws {
        let scene = try await SignInScene()
        let request = try await scene.oauth.signInRequest(redirectURI: "https://app.test/signed-in")
        let address = try scene.server.visit(request.address)
        let state = try #require(parameters(of: address)["state"])
        let foreign = "https://app.test/signed-in?code=x&state=\(state)&iss=https://evil.test"
        let error = await failure { () async throws(ServiceError) in try await request.token(redirectedTo: foreign) }
        #expect(error?.refusedPath == "iss" && scene.forms.isEmpty)
        await #expect(throws: Never.self) { try await request.token(redirectedTo: address) }
        #expect(scene.forms.count == 1)
    }

    @Test("S4: an error in the redirect is rejected with its code and words, and shows no secrets")
    func refusal() async throws {
        let scene = try await SignInScene()
        scene.server.answerOfUser = .refuses
        let error = await failure { () async throws(ServiceError) in try await scene.signIn() }
        guard case .rejected(let rejection) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(rejection.code == "access_denied")
        #expect(rejection.message == "Ann said no")
        let request = try await scene.oauth.signInRequest(redirectURI: "https://app.test")
        let state = try #require(parameters(of: request.address)["state"])
        let echo = await failure { () async throws(ServiceError) in
            let answer = "state=\(state)&iss=https://login.test&error=x&error_description=\(state)%0A"
            return try await request.token(redirectedTo: "https://app.test?\(answer)")
        }
        #expect(echo?.status == 302)
        #expect(!printed(echo as Any).contains(state))
        #expect(scene.forms.isEmpty)
    }

    @Test("a browser can be a closure of the app")
    func closure() async throws {
        let (scene, address) = (try await SignInScene(), "https://app.test/signed-in")
        let browser = CustomBrowser(redirectURI: address) { page in try scene.server.visit(page) }
        let token = try await scene.oauth.signIn(using: browser)
        #expect(!token.accessToken.isEmpty)
        let closed = CustomBrowser(redirectURI: address) { _ in throw CancellationError() }
        let left = await failure { () async throws(ServiceError) in try await scene.oauth.signIn(using: closed) }
        #expect(left == .cancelled)
    }

    @Test("S4: a user who closes the window, and a canceled task, are cancelled; other errors of a browser are named")
    func leaving() async throws {
        let scene = try await SignInScene()
        scene.server.answerOfUser = .leaves
        let left = await failure { () async throws(ServiceError) in try await scene.signIn() }
        #expect(left == .cancelled)
        scene.server.answerOfUser = .agrees
        struct Broken: Error {}
        let broken = await failure { () async throws(ServiceError) in try await scene.signIn { _ in throw Broken() } }
        #expect("\(String(describing: broken))".contains("Broken"))
        let clock = scene.clock
        let browser = ScriptedBrowser { _ in
            try await clock.sleep(until: .distantFuture, in: StopScope<ServiceError>())
            return ""
        }
        let task = Task(executorPreference: clock.executor) { [oauth = scene.oauth] in
            await failure { () async throws(ServiceError) in try await oauth.signIn(using: browser) }
        }
        await clock.sleepers(atLeast: 1)
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(scene.forms.isEmpty)
    }

    @Test("a user who takes longer than the limit is timed out, and the browser's task is canceled")
    func limit() async throws {
        let scene = try await SignInScene()
        let clock = scene.clock
        let ended = Noted(false)
        let browser = ScriptedBrowser { _ in
            defer { ended.value = true }
            try await clock.sleep(until: .distantFuture, in: StopScope<ServiceError>())
            return ""
        }
        try await clock.runTest {
            let error = await failure { () async throws(ServiceError) in
                try await scene.oauth.signIn(using: browser, within: .seconds(90))
            }
            #expect(error == .timedOut(Timeout(.signIn, limit: .seconds(90), phase: .preparing)))
            #expect("\(String(describing: error))".contains("The sign-in was not completed within 90 s"))
        }
        #expect(ended.value && clock.elapsed == .seconds(90))
    }

    @Test("S6: two sign-ins at once: each gets its own answer, and the later session is the store's")
    func twoAtOnce() async throws {
        let scene = try await SignInScene()
        let first = try await scene.oauth.signInRequest(redirectURI: "https://app.test")
        let second = try await scene.oauth.signInRequest(redirectURI: "https://app.test")
        let (one, two) = (try scene.server.visit(first.address), try scene.server.visit(second.address))
        let tokens = TokenStore(time: scene.clock) { $0 }
        let laterOne = try await second.token(redirectedTo: two)
        await tokens.signIn(laterOne)
        let token = try await first.token(redirectedTo: one)
        await tokens.signIn(token)
        #expect(token.accessToken != laterOne.accessToken)
        #expect(try await tokens.token() == token)
    }

    @Test("S10: nothing of a sign-in shows a secret: its values, its events and its errors")
    func secrets() async throws {
        let scene = try await SignInScene()
        let request = try await scene.oauth.signInRequest(redirectURI: "https://app.test")
        let address = try scene.server.visit(request.address)
        let code = try #require(parameters(of: address)["code"])
        let token = try await request.token(redirectedTo: address)
        let verifier = try #require(parameters(of: "?" + (scene.forms.first ?? ""))["code_verifier"])
        let again = await failure { () async throws(ServiceError) in try await request.token(redirectedTo: address) }
        let text = printed(request) + printed(scene.oauth) + printed(token) + printed(again as Any)
        let sent = scene.network.sent.map { printed($0.request) }.joined()
        for secret in [code, verifier, token.accessToken, parameters(of: address)["state"] ?? "none"] {
            #expect(!text.contains(secret), "\(secret) in \(text)")
            #expect(!sent.contains(secret) || secret == code, "\(secret) in \(sent)")
        }
    }

    @Test("a server without an authorization endpoint, or one over plain http, opens no page")
    func noPage() async throws {
        let oauth = OAuth(server: testClient(scripted()), clientID: "app", credentials: .idOnly)
        let unknown = await failure { () async throws(ServiceError) in
            try await oauth.signInRequest(redirectURI: "https://app.test")
        }
        #expect("\(String(describing: unknown))".contains("OAuth.discover"))
        let exposed = OAuth(
            OAuth.ServerMetadata(authorizationEndpoint: "http://login.test/"), client: .public(id: "app"))
        let error = await failure { () async throws(ServiceError) in
            try await exposed.signInRequest(redirectURI: "https://app.test")
        }
        guard case .invalidRequest(let invalid) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(invalid.subject == .cleartext)
    }

    @Test("a sign-in that was archived is finished by another process, and by no other app, server or key")
    func archived() async throws {
        let scene = try await SignInScene()
        let request = try await scene.oauth.signInRequest(scopes: ["openid"], redirectURI: "https://app.test/in")
        let archive = try request.archive()
        let redirect = try scene.server.visit(request.address)
        let restored = try scene.oauth.signInRequest(restoring: archive)
        #expect(restored.address == request.address && restored.isAnswered(by: redirect))
        #expect(try await restored.token(redirectedTo: redirect).claims?.subject == "ann")
        let metadata = try #require(scene.oauth.metadata)
        var elsewhere = metadata
        elsewhere.issuer = "https://other.test"
        let others = [
            OAuth(metadata, client: .public(id: "other")), OAuth(elsewhere, client: .public(id: "app")),
            scene.oauth.bindingTokens(to: try SigningKey()),
        ]
        for oauth in others {
            #expect(throws: ServiceError.self) { try oauth.signInRequest(restoring: archive) }
        }
        for damaged in [Data(), Data("{}".utf8), archive.dropLast()] {
            #expect(throws: ServiceError.self) { try scene.oauth.signInRequest(restoring: damaged) }
        }
        // With a key, the key has to be the same.
        let bound = scene.oauth.bindingTokens(to: try SigningKey())
        let second = try await bound.signInRequest(redirectURI: "https://app.test/in").archive()
        #expect(throws: Never.self) { try bound.signInRequest(restoring: second) }
        #expect(throws: ServiceError.self) { try scene.oauth.signInRequest(restoring: second) }
    }
}
