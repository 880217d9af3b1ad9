import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("OAuth: grants and apps of one's own")
struct OAuthOpenValuesTests {
    private struct Scene {
        let network = scripted()
        let oauth: OAuth

        init(_ client: OAuth.Client, token: String? = "https://login.test/token") {
            network.on(.post, "https://login.test/token", .json(#"{"access_token":"a"}"#).always)
            let metadata = OAuth.ServerMetadata(issuer: "https://login.test", tokenEndpoint: token)
            oauth = OAuth(metadata, client: client, parameters: ["tenant": "x"]) { [network] in
                $0.transport = network
                $0.time = TestClock()
            }
        }

        var forms: [String] { network.sent.map { String(decoding: $0.body, as: UTF8.self) } }
    }

    @Test("each grant, byte for byte, with the further parameters of every request")
    func grants() async throws {
        let scene = Scene(.public(id: "app"))
        let own = OAuth.Grant("urn:example:ticket", parameters: ["ticket_token": "t+1"])
        for grant in [
            own, .jwtBearer(assertion: "e.y.s"), .tokenExchange(subject: "s"),
            .tokenExchange(subject: "s", subjectType: .idToken, actor: "b", actorType: .jwt, requestedType: .jwt),
        ] {
            _ = try await scene.oauth.token(grant, scopes: ["read"])
        }
        let tail = "&scope=read&client_id=app&tenant=x"
        let urn = "urn%3Aietf%3Aparams%3Aoauth%3A"
        #expect(
            scene.forms == [
                "grant_type=urn%3Aexample%3Aticket&ticket_token=t%2B1\(tail)",
                "grant_type=\(urn)grant-type%3Ajwt-bearer&assertion=e.y.s\(tail)",
                "grant_type=\(urn)grant-type%3Atoken-exchange&subject_token=s"
                    + "&subject_token_type=\(urn)token-type%3Aaccess_token\(tail)",
                "grant_type=\(urn)grant-type%3Atoken-exchange&subject_token=s"
                    + "&subject_token_type=\(urn)token-type%3Aid_token&actor_token=b"
                    + "&actor_token_type=\(urn)token-type%3Ajwt&requested_token_type=\(urn)token-type%3Ajwt\(tail)",
            ])
    }

    @Test(
        "S15: an app proves itself in the header, encoded and raw, in the body, or not at all",
        arguments: [
            (OAuth.Client.basic(id: "a:b", secret: "c+d"), "a%3Ab:c%2Bd", ""),
            (.basic(id: "a:b", secret: "c+d", encoding: .raw), "a:b:c+d", ""),
            (.body(id: "a:b", secret: "c+d"), nil, "client_id=a%3Ab&client_secret=c%2Bd&"),
            (.public(id: "a:b"), nil, "client_id=a%3Ab&"),
            (.certificate(id: "a:b"), nil, "client_id=a%3Ab&"),
        ] as [(OAuth.Client, String?, String)])
    func clients(client: OAuth.Client, pair: String?, form: String) async throws {
        let scene = Scene(client)
        _ = try await scene.oauth.token(.jwtBearer(assertion: "x"))
        let sent = try #require(scene.network.sent.first).request.headers["Authorization"]
        #expect(sent == pair.map { "Basic \(Data($0.utf8).base64EncodedString())" })
        let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=x&"
        #expect(scene.forms == ["\(grant)\(form)tenant=x"])
    }

    @Test("S15: an app with a certificate may act for itself, which one that only says its id may not")
    func certificate() async throws {
        let scene = Scene(.certificate(id: "app"))
        _ = try await scene.oauth.token(.clientCredentials)
        #expect(scene.forms == ["grant_type=client_credentials&client_id=app&tenant=x"])
        let other = Scene(.public(id: "app"))
        let error = await failure { () async throws(ServiceError) in try await other.oauth.token(.clientCredentials) }
        guard case .invalidRequest = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(other.network.sent.isEmpty)
    }

    @Test("S15: an app of another kind is asked for each request, with its issuer and its URL")
    func proof() async throws {
        let asked = Noted<[OAuth.Client.Request]>([])
        let scene = Scene(
            OAuth.Client(id: "app") { request in
                asked.update { $0.append(request) }
                return OAuth.Client.Proof(
                    headers: ["X-Proof": "p"], parameters: ["client_assertion": "j\(asked.value.count)"])
            })
        _ = try await scene.oauth.token(.clientCredentials)
        _ = try await scene.oauth.refresh(Token(accessToken: "a", refreshToken: "r"))
        let request = OAuth.Client.Request(issuer: "https://login.test", endpoint: "https://login.test/token")
        #expect(asked.value == [request, request])
        #expect(
            scene.forms == [
                "grant_type=client_credentials&tenant=x&client_assertion=j1",
                "grant_type=refresh_token&refresh_token=r&tenant=x&client_assertion=j2",
            ])
        #expect(scene.network.sent.allSatisfy { $0.request.headers["X-Proof"] == "p" })
    }

    private struct NoKey: Error {}

    @Test("an app that cannot prove itself sends nothing, and its error names the closure's")
    func noProof() async throws {
        let scene = Scene(OAuth.Client(id: "app") { _ in throw NoKey() })
        let error = await failure { () async throws(ServiceError) in try await scene.oauth.token(.clientCredentials) }
        #expect("\(String(describing: error))".contains("NoKey"))
        #expect(error?.mayHaveReachedServer == false)
        #expect(scene.network.sent.isEmpty)
    }

    @Test(
        "a missing value or endpoint is named, and nothing is sent",
        arguments: [
            (OAuth.Client.public(id: ""), OAuth.Grant.ann, "the client id is empty"),
            (.public(id: "a"), .clientCredentials, "this grant is for apps that have a client secret"),
            (
                .basic(id: "a", secret: ""), .ann,
                "the client secret is empty; an app without one uses `.public(id:)`"
            ),
            (.public(id: "a"), .jwtBearer(assertion: ""), "the assertion is empty"),
            (.public(id: "a"), .tokenExchange(subject: ""), "a token to exchange is empty"),
            (.public(id: "a"), .tokenExchange(subject: "s", actor: ""), "a token to exchange is empty"),
            (.public(id: "a"), OAuth.Grant(""), "the type of the grant is empty"),
        ] as [(OAuth.Client, OAuth.Grant, String)])
    func missing(client: OAuth.Client, grant: OAuth.Grant, reason: String) async throws {
        let scene = Scene(client)
        let error = await failure { () async throws(ServiceError) in try await scene.oauth.token(grant) }
        #expect(error == .invalidRequest(InvalidRequest(.configuration, reason)))
        let nowhere = Scene(.public(id: "a"), token: nil)
        let missing = await failure { () async throws(ServiceError) in try await nowhere.oauth.token(.ann) }
        let words = "the authorization server names no token endpoint"
        #expect(missing == .invalidRequest(InvalidRequest(.configuration, words)))
        #expect(scene.network.sent.isEmpty && nowhere.network.sent.isEmpty)
    }

    @Test("over plain http to another machine nothing is sent, even if the endpoint was given")
    func cleartext() async throws {
        let network = scripted()
        let oauth = OAuth(
            OAuth.ServerMetadata(tokenEndpoint: "http://login.test/token"), client: .public(id: "app")
        ) {
            $0.transport = network
            $0.allowsCleartext = true
        }
        let error = await failure { () async throws(ServiceError) in try await oauth.token(.ann) }
        guard case .invalidRequest(let invalid) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(invalid.subject == .cleartext)
        #expect(network.sent.isEmpty)
    }

    @Test("S10: apps, proofs and grants print without secrets, and a response that echoes them shows none")
    func secrets() async throws {
        let clients = [
            OAuth.Client.basic(id: "app", secret: "s3cret-1"), .body(id: "app", secret: "s3cret-1"),
            OAuth.Client(id: "app") { _ in OAuth.Client.Proof(parameters: ["client_assertion": "s3cret-1"]) },
        ]
        for client in clients {
            let scene = Scene(client)
            scene.network.on(.post, "https://echo.test/token") { request in
                let body = try await request.body?.collect(upTo: 9999) ?? Data()
                let text = "\(String(decoding: body, as: UTF8.self)) s3cret-1 e.y.s-secret"
                let answer = ["error": "invalid_grant", "error_description": text]
                return .status(200, body: try JSONEncoder().encode(answer))
            }
            let oauth = OAuth(OAuth.ServerMetadata(tokenEndpoint: "https://echo.test/token"), client: client) {
                $0.transport = scene.network
            }
            let grant = OAuth.Grant.jwtBearer(assertion: "e.y.s-secret")
            let error = await failure { () async throws(ServiceError) in try await oauth.token(grant) }
            let proof = OAuth.Client.Proof(headers: ["X": "s3cret-1"], parameters: ["client_assertion": "s3cret-1"])
            let text = printed(error as Any) + printed(oauth) + printed(client) + printed(grant) + printed(proof)
            #expect(!text.contains("s3cret-1") && !text.contains("e.y.s-secret"), "\(text)")
            #expect(error?.status == 200)
            #expect(text.contains("app"))
        }
    }
}
