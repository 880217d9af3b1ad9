import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("OAuth: requests")
struct OAuthRequestTests {
    @Test("each grant, with the credentials in each place, byte for byte")
    func forms() async throws {
        let password = "grant_type=password&username=ann&password=pass%20word"
        let refresh = "grant_type=refresh_token&refresh_token=r%2B1"
        let client = "grant_type=client_credentials"
        let inBody = "&client_id=pins&client_secret=s3cret"
        for (credentials, tail) in [(OAuth.Credentials.inHeader, ""), (.inBody, inBody), (.idOnly, "&client_id=pins")] {
            let scene = OAuthScene(.json(OAuthScene.answer).always, credentials: credentials)
            _ = try await scene.signIn(scopes: ["read", "write"])
            _ = try await scene.oauth.refresh(Token(accessToken: "a", refreshToken: "r+1"))
            var expected = [password + "&scope=read%20write" + tail, refresh + tail]
            if credentials != .idOnly {
                _ = try await scene.oauth.token(.clientCredentials)
                expected.append(client + tail)
            }
            #expect(scene.forms == expected)
            let header = credentials == .inHeader ? "Basic cGluczpzM2NyZXQ=" : nil
            for sent in scene.network.sent {
                #expect(sent.request.headers["Authorization"] == header)
                #expect(sent.request.headers["Content-Type"] == "application/x-www-form-urlencoded")
                #expect(sent.request.headers["Accept"] == "application/json, text/json")
                #expect(sent.request.url.query == nil)
            }
        }
    }

    @Test(
        "in the header id and secret are percent-encoded before they are joined, so a colon in the id is no separator",
        arguments: [
            ("a:b", "c%d", "a%3Ab:c%25d"), ("é", "ü:ß", "%C3%A9:%C3%BC%3A%C3%9F"), ("a b", "c+d", "a%20b:c%2Bd"),
            ("plain-1._~", "A0", "plain-1._~:A0"), ("😀", "\n", "%F0%9F%98%80:%0A"),
        ])
    func escaping(id: String, secret: String, pair: String) async throws {
        let scene = OAuthScene(.json(OAuthScene.answer), id: id, secret: secret)
        _ = try await scene.signIn()
        let header = try #require(scene.network.sent.first?.request.headers["Authorization"])
        let bytes = try #require(Data(base64Encoded: String(header.dropFirst("Basic ".count))))
        #expect(String(decoding: bytes, as: UTF8.self) == pair)
    }

    @Test("in the body they are escaped once, like every other parameter")
    func escapingInBody() async throws {
        let scene = OAuthScene(.json(OAuthScene.answer), id: "a:b", secret: "c%é&", credentials: .inBody)
        _ = try await scene.oauth.token(.password(username: "a&b=c", password: "p+q %"))
        #expect(
            scene.forms == [
                "grant_type=password&username=a%26b%3Dc&password=p%2Bq%20%25"
                    + "&client_id=a%3Ab&client_secret=c%25%C3%A9%26"
            ])
    }

    @Test("extra parameters go with every request; those of a single request take precedence")
    func parameters() async throws {
        let scene = OAuthScene(
            .json(OAuthScene.answer).always, parameters: ["audience": "all", "resource": ["x", "y"]])
        _ = try await scene.oauth.token(.clientCredentials)
        _ = try await scene.oauth.token(.clientCredentials, parameters: ["otp": "1", "audience": "one"])
        _ = try await scene.oauth.refresh(Token(accessToken: "a", refreshToken: "r"))
        #expect(
            scene.forms == [
                "grant_type=client_credentials&audience=all&resource=x&resource=y",
                "grant_type=client_credentials&otp=1&audience=one&resource=x&resource=y",
                "grant_type=refresh_token&refresh_token=r&audience=all&resource=x&resource=y",
            ])
    }

    private static let withoutSecret = "the client secret is empty; an app without one uses `credentials: .idOnly`"

    @Test(
        "a missing parameter is named, and nothing is sent",
        arguments: [
            ("", "s", OAuth.Credentials.inHeader, OAuth.Grant.ann, "the client id is empty"),
            ("", "s", .inBody, .clientCredentials, "the client id is empty"),
            ("", "", .idOnly, .ann, "the client id is empty"),
            ("i", "", .inHeader, .ann, withoutSecret), ("i", "", .inBody, .ann, withoutSecret),
            ("i", "", .inHeader, .clientCredentials, "the client secret is empty"),
            ("i", "s", .idOnly, .clientCredentials, "this grant is for apps that have a client secret"),
            ("i", "s", .inHeader, .password(username: "", password: "p"), "the user name is empty"),
            ("i", "s", .inBody, .password(username: "ann", password: ""), "the password is empty"),
            ("i", "", .idOnly, .password(username: "", password: ""), "the user name is empty"),
        ] as [(String, String, OAuth.Credentials, OAuth.Grant, String)])
    func missing(
        id: String, secret: String, credentials: OAuth.Credentials, grant: OAuth.Grant, reason: String
    ) async throws {
        let scene = OAuthScene(id: id, secret: secret, credentials: credentials)
        let error = await failure { () async throws(ServiceError) in try await scene.oauth.token(grant) }
        #expect(error == .invalidRequest(InvalidRequest(.configuration, reason)))
        #expect(scene.network.sent.isEmpty)
    }

    @Test("a refresh reports an empty id or secret too, and does not end the session")
    func missingAtRefresh() async throws {
        let scene = OAuthScene(secret: "")
        let tokens = TokenStore(time: scene.clock) { [oauth = scene.oauth] in try await oauth.refresh($0) }
        try await scene.clock.runTest {
            await tokens.signIn(Token(accessToken: "a", refreshToken: "r", expiry: scene.clock.date))
            let error = await failure(of: tokens.token)
            #expect(error == .invalidRequest(InvalidRequest(.configuration, Self.withoutSecret)))
            #expect(await tokens.isSignedIn)
        }
    }

    @Test(
        "a redirect of the token endpoint is an error that names it, and nothing is requested there",
        arguments: [301, 302, 303, 307, 308], ["https://evil.test/token", "/elsewhere"])
    func redirected(status: Int, location: String) async throws {
        let scene = OAuthScene(.status(status, headers: ["Location": location]))
        let error = await failure { () async throws(ServiceError) in try await scene.signIn() }
        guard case .rejected(let rejection) = error else { throw try #require(error) }
        #expect(rejection.status == status)
        #expect("\(rejection)".contains("a redirect that was not followed"))
        #expect(scene.network.sent.count == 1)
    }

    @Test("a parameter that is already set is named, and nothing is sent", arguments: ["username", "scope"])
    func twice(name: String) async throws {
        let scene = OAuthScene(parameters: QueryItems([QueryItems.Item(name: name, value: "x")]))
        let error = await failure { () async throws(ServiceError) in try await scene.signIn(scopes: ["read"]) }
        let reason = "the parameter \"\(name)\" is already set"
        #expect(error == .invalidRequest(InvalidRequest(.configuration, reason)))
        #expect(scene.network.sent.isEmpty)
    }

    @Test(
        "nothing is sent over plain http to another machine, wherever the secrets are",
        arguments: [OAuth.Credentials.inHeader, .inBody, .idOnly])
    func cleartext(credentials: OAuth.Credentials) async throws {
        let network = scripted()
        let login = testClient(network, TestClock()) {
            $0.environment = ServerEnvironment(name: "test", baseURL: "http://auth.test")
            $0.allowsCleartext = true
        }
        let oauth = OAuth(server: login, clientID: "i", clientSecret: "s", credentials: credentials)
        let error = await failure { () async throws(ServiceError) in try await oauth.token(.ann) }
        guard case .invalidRequest(let invalid) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(invalid.subject == .cleartext)
        #expect(network.sent.isEmpty)
    }

    @Test("C63: a host that the program names gets secrets over plain http")
    func namedCleartext() async throws {
        let network = scripted()
        network.onAny { .json(OAuthScene.answer) }
        let login = testClient(network, TestClock()) {
            $0.environment = ServerEnvironment(name: "test", baseURL: "http://auth.default.svc")
            $0.cleartextHosts = ["auth.default.svc"]
        }
        _ = try await OAuth(server: login, clientID: "i", clientSecret: "s").token(.clientCredentials)
        #expect(network.sent.map(\.request.url.origin.description) == ["http://auth.default.svc"])
    }

    @Test("a client that has tokens itself does not sign the request")
    func unsigned() async throws {
        let clock = TestClock()
        let tokens = TokenStore(time: clock) { $0 }
        await tokens.signIn(Token(accessToken: "mine"))
        let scene = OAuthScene(.json(OAuthScene.answer), credentials: .inBody) { $0.tokens = tokens }
        _ = try await scene.signIn()
        #expect(scene.network.sent.first?.request.headers["Authorization"] == nil)
    }

    @Test("a cancelled task sends nothing")
    func cancelled() async throws {
        let scene = OAuthScene()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await failure { () async throws(ServiceError) in try await scene.signIn() }
        }
        #expect(await task.value == .cancelled)
        #expect(scene.network.sent.isEmpty)
    }
}
