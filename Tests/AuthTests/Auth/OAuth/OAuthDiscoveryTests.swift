@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("OAuth: discovery")
struct OAuthDiscoveryTests {
    private static let issuer = "https://login.test"

    private static func document(_ issuer: String, _ members: String = "") -> String {
        #"{"issuer":"\#(issuer)","token_endpoint":"https://login.test/token"\#(members)}"#
    }

    private func discover(
        _ issuer: String, on network: ScriptedTransport, _ configure: (inout Configuration) -> Void = { _ in }
    ) async throws(ServiceError) -> OAuth {
        try await OAuth.discover(issuer, client: .public(id: "tool")) {
            $0.transport = network
            $0.time = TestClock()
            $0.rateLimit = .unlimited
            configure(&$0)
        }
    }

    @Test(
        "S8: the document is at the path of RFC 8414, else at that of OpenID Connect, with and without a path",
        arguments: [
            ("https://login.test", ["/.well-known/oauth-authorization-server"], 0),
            ("https://login.test/", ["/.well-known/oauth-authorization-server"], 0),
            ("https://login.test/a/b", ["/.well-known/oauth-authorization-server/a/b"], 0),
            (
                "https://login.test",
                ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"], 1
            ),
            (
                "https://login.test/a/b/",
                ["/.well-known/oauth-authorization-server/a/b", "/a/b/.well-known/openid-configuration"], 1
            ),
        ] as [(String, [String], Int)])
    func paths(issuer: String, paths: [String], hit: Int) async throws {
        for miss in [ScriptedReply.status(404), .status(400), .status(200, headers: Self.page, body: "<html>")] {
            let network = scripted()
            for (index, path) in paths.enumerated() {
                network.on(.get, path, index == hit ? .json(Self.document(issuer)) : miss)
            }
            let oauth = try await discover(issuer, on: network)
            #expect(network.sent.map(\.request.url.path) == paths)
            #expect(oauth.metadata?.tokenEndpoint == "https://login.test/token")
            #expect("\(oauth)" == "OAuth(tool at \(issuer))")
        }
    }

    @Test("what was discovered can be saved, and is the same when an app is started without a network")
    func saved() async throws {
        let network = scripted()
        let members = """
            ,"authorization_endpoint":"https://login.test/authorize","device_authorization_endpoint":"https://a.test/b",
            "revocation_endpoint":"https://login.test/revoke","pushed_authorization_request_endpoint":
            "https://login.test/par","userinfo_endpoint":"https://login.test/me","end_session_endpoint":
            "https://login.test/out","introspection_endpoint":"https://login.test/look",
            "require_pushed_authorization_requests":true,"code_challenge_methods_supported":["S256"],
            "authorization_response_iss_parameter_supported":true,"scopes_supported":["openid"],
            "grant_types_supported":["refresh_token"],"mtls_endpoint_aliases":{"token_endpoint":"https://m.test/token"}
            """
        network.on(.get, "*", .json(Self.document(Self.issuer, members)))
        let metadata = try #require(try await discover(Self.issuer, on: network).metadata)
        let read = try JSONDecoder().decode(OAuth.ServerMetadata.self, from: JSONEncoder().encode(metadata))
        #expect(read == metadata)
        #expect(read.requiresPushedAuthorizationRequests && read.namesIssuerInRedirect)
        #expect(read.endSessionEndpoint == "https://login.test/out" && read.grantTypes == ["refresh_token"])
        // As published, with the endpoints for an app with a certificate.
        let published = try JSONDecoder().decode(
            OAuth.ServerMetadata.self, from: Data(Self.document(Self.issuer, members).utf8))
        let copy = try JSONDecoder().decode(OAuth.ServerMetadata.self, from: JSONEncoder().encode(published))
        #expect(copy == published && copy != metadata)
        let offline = OAuth(read, client: .public(id: "tool")) { $0.transport = network }
        #expect("\(offline)" == "OAuth(tool at \(Self.issuer))" && offline.metadata == metadata)
        #expect(network.sent.count == 1)
    }

    private static let page: HTTPHeaders = ["Content-Type": "text/html"]

    @Test("S8: the document is read once, whatever the decoder, and its endpoints may be at other origins")
    func once() async throws {
        let network = scripted()
        let members = #","device_authorization_endpoint":"https://devices.test/begin?x=1""#
        network.on(.get, "*", .json(Self.document(Self.issuer, members)))
        network.on(.post, "https://login.test/token", .json(#"{"access_token":"a"}"#).times(2))
        let oauth = try await discover(Self.issuer, on: network) { $0.decoder = .json(keys: .snakeCase) }
        for _ in 0..<2 { _ = try await oauth.token(.password(username: "ann", password: "p")) }
        #expect(network.sent.map(\.request.method) == [.get, .post, .post])
        #expect(oauth.metadata?.deviceAuthorizationEndpoint == "https://devices.test/begin?x=1")
    }

    @Test("S8: a redirect of the document is followed within its origin, and not to another one")
    func redirects() async throws {
        let network = scripted()
        network.on(
            .get, "/.well-known/oauth-authorization-server", .status(307, headers: ["Location": "/document"]))
        network.on(.get, "/document", .json(Self.document(Self.issuer)))
        #expect(try await discover(Self.issuer, on: network).metadata?.tokenEndpoint == "https://login.test/token")
        let other = scripted()
        other.on(
            .get, "https://login.test/.well-known/oauth-authorization-server",
            .status(302, headers: ["Location": "https://evil.test/document"]))
        other.on(.get, "https://login.test/.well-known/openid-configuration", .status(404))
        let error = await failure { () async throws(ServiceError) in try await discover(Self.issuer, on: other) }
        #expect(error?.status == 302)
        #expect(other.sent.count == 2)
    }

    @Test("S8: a server without a document is rejected with the status of the first path; other failures end at once")
    func none() async throws {
        let network = scripted()
        network.on(.get, "/.well-known/oauth-authorization-server", .status(403))
        network.on(.get, "/.well-known/openid-configuration", .status(404))
        let error = await failure { () async throws(ServiceError) in try await discover(Self.issuer, on: network) }
        #expect(error?.status == 403)
        for reply in [ScriptedReply.status(503), .failure(.refused)] {
            let network = scripted()
            network.on(.get, "/.well-known/oauth-authorization-server", reply)
            let error = await failure { () async throws(ServiceError) in
                try await discover(Self.issuer, on: network) { $0.retry = .never }
            }
            #expect(error?.status == 503 || error?.isTransient == true)
            #expect(network.sent.count == 1)
        }
    }

    private func refusal(of document: String, issuer: String = issuer) async -> DecodingFailure? {
        let network = scripted()
        network.on(.get, "*", .json(document).always)
        let error = await failure { () async throws(ServiceError) in try await discover(issuer, on: network) }
        guard case .decodingFailed(let failure) = error else { return nil }
        return failure
    }

    @Test(
        "S3: metadata whose issuer is not exactly the one asked for are refused",
        arguments: [
            "https://evil.test", "https://login.test/", "https://LOGIN.test", "http://login.test",
            "https://login.test/tenant", "",
        ])
    func issuer(found: String) async throws {
        #expect(await refusal(of: Self.document(found))?.path == "issuer")
        #expect(await refusal(of: #"{"token_endpoint":"https://login.test/token"}"#)?.path == "issuer")
    }

    @Test(
        "S8: endpoints of another scheme, over plain http or with credentials are refused",
        arguments: [
            "token_endpoint", "authorization_endpoint", "device_authorization_endpoint", "revocation_endpoint",
            "pushed_authorization_request_endpoint",
        ],
        [
            "http://login.test/x", "http://evil.test/x", "http://127.0.0.1/x", "file:///etc/passwd",
            "javascript:alert(1)", "-x", "", "https://ann@login.test/x", "/x",
        ])
    func endpoints(name: String, url: String) async throws {
        let document = #"{"issuer":"https://login.test","\#(name)":"\#(url)"}"#
        #expect(await refusal(of: document)?.path == name)
    }

    @Test("S8: a document that is huge, recursive, no object or of wrong types is an error")
    func hostile() async throws {
        let deep = String(repeating: "[", count: 100_000)
        for document in [deep, "[]", "null", #"{"issuer":"https://login.test","x":\#(deep)"#] {
            #expect(await refusal(of: document)?.path == "")
        }
        #expect(await refusal(of: #"{"issuer":["https://login.test"]}"#)?.path == "issuer")
        // What is not needed counts as missing.
        let odd = [
            #","code_challenge_methods_supported":"S256""#, #","scopes_supported":7"#, #","grant_types_supported":[7]"#,
            #","mtls_endpoint_aliases":[]"#, #","revocation_endpoint":7"#, #","userinfo_endpoint":[]"#,
            #","authorization_response_iss_parameter_supported":"true""#,
        ]
        for member in odd {
            let network = scripted()
            network.on(.get, "*", .json(Self.document(Self.issuer, member)))
            let metadata = try #require(try await discover(Self.issuer, on: network).metadata)
            #expect(metadata.issuer == Self.issuer && metadata.revocationEndpoint == nil)
            #expect(metadata.namesIssuerInRedirect == member.contains("iss_parameter"))
            #expect(metadata.codeChallengeMethods == (member.contains("S256") ? ["S256"] : nil))
        }
        let network = scripted()
        let padding = String(repeating: " ", count: 1 << 20)
        network.on(.get, "*", .json(Self.document(Self.issuer) + padding))
        let error = await failure { () async throws(ServiceError) in try await discover(Self.issuer, on: network) }
        guard case .transport(let failure) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(failure.kind == .tooLarge)
    }

    @Test(
        "an issuer over plain http to another machine, with a query, or of no server is refused, and nothing is sent",
        arguments: ["http://login.test", "https://login.test?x", "https://login.test#x", "login.test", ""])
    func badIssuer(issuer: String) async throws {
        let network = scripted()
        let error = await failure { () async throws(ServiceError) in try await discover(issuer, on: network) }
        guard case .invalidRequest = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(network.sent.isEmpty)
    }

    @Test("on this machine plain http is accepted, for the issuer and its endpoints")
    func loopback() async throws {
        let network = scripted()
        network.on(
            .get, "*",
            .json(#"{"issuer":"http://127.0.0.1:8080","token_endpoint":"http://127.0.0.1:8080/token"}"#))
        #expect(try await discover("http://127.0.0.1:8080", on: network).metadata?.scopes == nil)
    }

    @Test(
        "S8, S11: Microsoft's issuer of many tenants has the tenant of the user in ID tokens, and nothing else",
        arguments: [
            ("common", "{tenantid}", true), ("organizations", "{tenantid}", true), ("t-7", "{tenantid}", false),
            ("common", "t-7", false), ("common", "common", true), ("t-7", "t-7", true),
        ])
    func tenants(asked: String, found: String, isRight: Bool) async throws {
        func issuer(_ tenant: String) -> String { "https://login.test/\(tenant)/v2.0" }
        let network = scripted()
        let document = #"{"issuer":"\#(issuer(found))","token_endpoint":"https://login.test/token"}"#
        network.on(.get, "*", ScriptedReply.json(document).always)
        let outcome = await Result { () async throws(ServiceError) in try await discover(issuer(asked), on: network) }
        #expect(((try? outcome.get()) != nil) == isRight)
    }

    @Test("S11: the tenant in an ID token stands for the one in the issuer, and for no other part of it")
    func tenantOfToken() {
        let issuer = "https://login.test/{tenantid}/v2.0"
        #expect(TenantIssuer.matches("https://login.test/t-7/v2.0", issuer, tenant: "t-7"))
        let wrong: [(String?, String?)] = [
            (issuer, "{tenantid}"), ("https://login.test/t-7/v2.0", "t-8"), ("https://login.test/t-7/v2.0", nil),
            ("https://login.test/a/b/v2.0", "a/b"), ("https://login.test//v2.0", ""), (nil, "t-7"),
            ("https://evil.test/t-7/v2.0", "t-7"),
        ]
        for (found, tenant) in wrong {
            #expect(!TenantIssuer.matches(found, issuer, tenant: tenant), "\(found ?? "none")")
        }
        #expect(TenantIssuer.matches("https://login.test", "https://login.test", tenant: nil))
        #expect(!TenantIssuer.matches("https://login.test/t", "https://login.test", tenant: "t"))
    }

    @Test("S8: the endpoints for the user, the end of a session and introspection are known, and checked like others")
    func furtherEndpoints() async throws {
        let members = ["userinfo_endpoint", "end_session_endpoint", "introspection_endpoint"]
        let list = members.map { #","\#($0)":"https://login.test/\#($0)""# }.joined()
        let network = scripted()
        network.on(.get, "*", .json(Self.document(Self.issuer, list)))
        let metadata = try #require(try await discover(Self.issuer, on: network).metadata)
        let found = [metadata.userinfoEndpoint, metadata.endSessionEndpoint, metadata.introspectionEndpoint]
        #expect(found == members.map { "https://login.test/\($0)" })
        for name in members {
            let other = Self.document(Self.issuer, #","\#(name)":"http://evil.test/x""#)
            #expect(await refusal(of: other)?.path == name)
        }
    }
}
