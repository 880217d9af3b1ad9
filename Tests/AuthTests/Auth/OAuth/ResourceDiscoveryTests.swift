import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("OAuth: from an API to its authorization server")
struct ResourceDiscoveryTests {
    private static let api = "https://api.test/v1"

    private static func document(_ resource: String = api, servers: [String] = ["https://login.test"]) -> ScriptedReply
    {
        let list = servers.map { "\"\($0)\"" }.joined(separator: ",")
        return .json(#"{"resource":"\#(resource)","authorization_servers":[\#(list)]}"#)
    }

    private static func server(_ issuer: String) -> ScriptedReply {
        .json(#"{"issuer":"\#(issuer)","token_endpoint":"\#(issuer)/token"}"#)
    }

    private func configure(_ network: ScriptedTransport) -> (inout Configuration) -> Void {
        {
            $0.transport = network
            $0.time = TestClock()
            $0.rateLimit = .unlimited
        }
    }

    private func discover(
        for resource: String = api, on network: ScriptedTransport
    ) async throws(ServiceError) -> OAuth {
        try await OAuth.discover(for: resource, client: .public(id: "tool"), configure(network))
    }

    @Test(
        "S12: the document's name stands before the path of the API",
        arguments: [
            ("https://api.test", "/.well-known/oauth-protected-resource"),
            ("https://api.test/", "/.well-known/oauth-protected-resource"),
            ("https://api.test/v1/a", "/.well-known/oauth-protected-resource/v1/a"),
        ])
    func paths(resource: String, path: String) async throws {
        let network = scripted()
        network.on(.get, path, Self.document(resource))
        network.on(.get, "https://login.test/.well-known/oauth-authorization-server", Self.server("https://login.test"))
        let oauth = try await discover(for: resource, on: network)
        #expect(oauth.metadata?.tokenEndpoint == "https://login.test/token")
    }

    @Test("S12: a redirect of the API's document is followed within its origin, and not to another one")
    func redirects() async throws {
        let path = "https://api.test/.well-known/oauth-protected-resource/v1"
        let network = scripted()
        network.on(.get, path, .status(301, headers: ["Location": "/document"]))
        network.on(.get, "https://api.test/document", Self.document())
        network.on(.get, "https://login.test/.well-known/oauth-authorization-server", Self.server("https://login.test"))
        #expect(try await discover(on: network).metadata?.issuer == "https://login.test")
        let other = scripted()
        other.on(.get, path, .status(301, headers: ["Location": "https://evil.test/document"]))
        let error = await failure { () async throws(ServiceError) in try await discover(on: other) }
        #expect(error?.status == 301)
        #expect(other.sent.count == 1)
    }

    @Test(
        "S12: a document about another API is refused, also if only a slash differs",
        arguments: [
            ("https://api.test/v2", false), ("https://api.test", false), ("https://evil.test/v1", false),
            ("https://api.test/v1/", true),
        ])
    func otherResource(found: String, isSlash: Bool) async {
        let network = scripted()
        network.on(.get, "*", Self.document(found))
        let error = await failure { () async throws(ServiceError) in try await discover(on: network) }
        #expect(error?.refusedPath == "resource")
        #expect("\(String(describing: error))".contains("only the slash at the end differs") == isSlash)
        #expect(network.sent.count == 1, "no authorization server was asked")
    }

    @Test("S12: the first server that works, with the credentials for its issuer; none go to another")
    func severalServers() async throws {
        let network = scripted()
        network.on(
            .get, "/.well-known/oauth-protected-resource/v1",
            Self.document(servers: ["https://unknown.test", "https://broken.test", "https://login.test"]))
        network.on(.get, "https://broken.test/.well-known/oauth-authorization-server", .status(404))
        network.on(.get, "https://broken.test/.well-known/openid-configuration", .status(404))
        network.on(.get, "https://login.test/.well-known/oauth-authorization-server", Self.server("https://login.test"))
        let asked = Noted<[String]>([])
        let oauth = try await OAuth.discover(
            for: Self.api,
            client: { issuer in
                asked.update { $0.append(issuer) }
                return issuer == "https://unknown.test" ? nil : .basic(id: "app-\(asked.value.count)", secret: "s")
            }, configure(network))
        #expect(asked.value == ["https://unknown.test", "https://broken.test", "https://login.test"])
        #expect(oauth.metadata?.issuer == "https://login.test")
        #expect("\(oauth)".contains("app-3"))
        #expect(!network.sent.contains { $0.request.url.origin.host == "unknown.test" })
    }

    @Test("S12: without a server that works, the error is that of the first; without credentials, it names them")
    func noServer() async {
        let network = scripted()
        network.on(
            .get, "/.well-known/oauth-protected-resource/v1",
            Self.document(servers: ["https://one.test", "https://two.test"]).always)
        for path in ["oauth-authorization-server", "openid-configuration"] {
            network.on(.get, "https://one.test/.well-known/\(path)", .status(404))
            network.on(.get, "https://two.test/.well-known/\(path)", .status(400))
        }
        let error = await failure { () async throws(ServiceError) in try await discover(on: network) }
        #expect(error?.status == 404)
        let unknown = await failure { () async throws(ServiceError) in
            try await OAuth.discover(for: Self.api, client: { _ in nil }, configure(network))
        }
        #expect("\(String(describing: unknown))".contains("https://two.test"))
    }

    @Test("S12: a hostile document leads nowhere")
    func hostile() async throws {
        let replies: [(ScriptedReply, String)] = [
            (Self.document(servers: []), "authorization_servers"),
            (.json(#"{"resource":"https://api.test/v1"}"#), "authorization_servers"),
            (Self.document(servers: ["http://127.0.0.1:80"]), "authorization_servers"),
            (Self.document(servers: ["ftp://login.test"]), ""),
            (Self.document(servers: ["http://login.test"]), ""),
            (.json(String(repeating: "[", count: 20_000)), ""),
            (.json(#"{"resource":""# + String(repeating: "a", count: 2 << 20) + #""}"#), ""),
        ]
        for (reply, path) in replies {
            let network = scripted()
            network.on(.get, "*", reply)
            let error = await failure { () async throws(ServiceError) in try await discover(on: network) }
            #expect(error != nil)
            if !path.isEmpty { #expect(error?.refusedPath == path) }
            #expect(network.sent.count == 1, "\(network.sent.map(\.request.url))")
        }
        let many = scripted()
        many.on(
            .get, "/.well-known/oauth-protected-resource/v1",
            Self.document(servers: (0..<500).map { "https://s\($0).test" }))
        many.on(.get, "*", .status(404).always)
        _ = await failure { () async throws(ServiceError) in try await discover(on: many) }
        #expect(many.sent.count == 21, "ten servers, two paths each")
        for url in ["http://api.test/v1", "https://api.test/v1#a", "no url"] {
            let network = scripted()
            let error = await failure { () async throws(ServiceError) in try await discover(for: url, on: network) }
            guard case .invalidRequest = error else {
                Issue.record("\(url): \(String(describing: error))")
                continue
            }
            #expect(network.sent.isEmpty)
        }
    }

    @Test(
        "S12: a server that only an API names signs users in if it names itself in redirects, or is trusted",
        arguments: [
            (false, [], false), (true, [], true), (false, ["https://login.test"], true),
            (false, ["https://other.test"], false),
        ] as [(Bool, Set<String>, Bool)])
    func mixUp(namesItself: Bool, trusted: Set<String>, isRight: Bool) async throws {
        let members = [
            #""issuer":"https://login.test""#, #""authorization_endpoint":"https://login.test/in""#,
            #""token_endpoint":"https://login.test/token""#, #""device_authorization_endpoint":"https://login.test/d""#,
            #""authorization_response_iss_parameter_supported":\#(namesItself)"#,
        ]
        func network() -> ScriptedTransport {
            let network = scripted()
            network.on(.get, "/.well-known/oauth-protected-resource/v1", Self.document())
            network.on(
                .get, "https://login.test/.well-known/oauth-authorization-server",
                ScriptedReply.json("{\(members.joined(separator: ","))}"))
            if trusted == ["https://login.test"] {
                network.on(.post, "https://login.test/d", times: nil) { _ in .status(400) }
            }
            return network
        }
        let oauth = try await OAuth.discover(
            for: Self.api, client: .public(id: "tool"), trustedIssuers: trusted, configure(network()))
        let error = await failure { () async throws(ServiceError) in
            _ = try await oauth.signInRequest(redirectURI: "https://app.test/in")
        }
        #expect((error == nil) == isRight)
        if let error { #expect("\(error)".contains("`trustedIssuers`")) }
        // The answer to a device names nobody.
        let device = await failure { () async throws(ServiceError) in
            _ = try await oauth.signInOnAnotherDevice { _ in }
        }
        #expect(
            "\(try #require(device))".contains("`trustedIssuers`") == trusted.isDisjoint(with: ["https://login.test"]))
        // A server that the program knows is one that it trusts.
        let known = try await OAuth.discover(
            for: Self.api, client: { $0 == "https://login.test" ? .public(id: "tool") : nil }, configure(network()))
        let request = try await known.signInRequest(redirectURI: "https://app.test/in")
        #expect(request.address.contains("login.test/in"))
        // Nor does an archive let a stranger finish it.
        let archive = try request.archive()
        #expect(((try? oauth.signInRequest(restoring: archive)) != nil) == isRight)
    }
}
