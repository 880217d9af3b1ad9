import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("OAuth: apps that prove themselves with a certificate (RFC 8705)", .timeLimit(.minutes(10)))
struct ClientCertificateTests {
    private static let document = #"""
        {
            "issuer": "https://login.test", "token_endpoint": "https://login.test/token",
            "revocation_endpoint": "https://login.test/revoke", "authorization_endpoint": "https://login.test/page",
            "mtls_endpoint_aliases": {
                "token_endpoint": "https://mtls.login.test/token",
                "revocation_endpoint": "https://mtls.login.test/revoke",
                "authorization_endpoint": "https://mtls.login.test/page", "x": 1
            }
        }
        """#

    private func oauth(_ app: OAuth.Client, _ document: String, on network: ScriptedTransport)
        async throws(ServiceError) -> OAuth
    {
        network.on(.get, "*", .json(document))
        return try await OAuth.discover("https://login.test", client: app) {
            $0.transport = network
            $0.time = TestClock()
        }
    }

    @Test(
        "S15: an app with a certificate uses the URLs that ask for one, where the server names them; no other app does",
        arguments: [(OAuth.Client.certificate(id: "app"), "mtls."), (.basic(id: "app", secret: "s"), "")])
    func aliases(app: OAuth.Client, host: String) async throws {
        let network = ScriptedTransport()
        network.on(.post, "*", .json(OAuthScene.answer), .status(200))
        let oauth = try await oauth(app, Self.document, on: network)
        let token = try await oauth.token(.clientCredentials)
        try await oauth.revoke(token)
        let sent = network.sent.dropFirst().map(\.request.url.absoluteString)
        #expect(sent == ["https://\(host)login.test/token", "https://\(host)login.test/revoke"])
        // The user's browser has another certificate, or none.
        #expect(oauth.metadata?.authorizationEndpoint == "https://login.test/page")
        #expect(oauth.metadata?.tokenEndpoint == sent.first)
    }

    @Test("S8: such a URL is checked like the others, whatever the app is")
    func badAlias() async throws {
        for app in [OAuth.Client.certificate(id: "app"), .public(id: "app")] {
            let document = Self.document.replacing("https://mtls.login.test/rev", with: "http://mtls.login.test/rev")
            let error = await failure { () async throws(ServiceError) in
                try await oauth(app, document, on: ScriptedTransport())
            }
            #expect(error?.refusedPath == "mtls_endpoint_aliases.revocation_endpoint")
        }
    }

    #if os(Linux)
    @Test(
        "S15: over TLS, a server that knows apps by their certificates takes the right one, and no other",
        .enabled(if: Program.openssl.isInstalled && Program.nginx.isInstalled, "openssl or nginx is not installed"))
    func realServer() async throws {
        let authority = try await TestAuthority()
        let (own, backend) = (try await authority.issue(), try LoopbackServer())
        // As such a server does: the certificate's subject has to be the one that the app has registered.
        backend.on(.post, "/token") { request in
            let form = String(decoding: request.body, as: UTF8.self)
            let isKnown = request.headers["X-Subject"] == "CN=billing" && form.hasSuffix("client_id=billing")
            return isKnown ? .json(OAuthScene.answer) : .json(#"{"error":"invalid_client"}"#, status: 401)
        }
        let nginx = try await Nginx(
            in: Scratch(), listening: "ssl",
            server: """
                ssl_certificate "\(own.file)"; ssl_certificate_key "\(own.key)";
                ssl_client_certificate "\(authority.file)"; ssl_verify_client optional;
                location / {
                    proxy_pass http://127.0.0.1:\(backend.port); proxy_set_header X-Subject $ssl_client_s_dn;
                }
                """)
        let metadata = OAuth.ServerMetadata(tokenEndpoint: "https://localhost:\(nginx.port)/token")
        for (subject, isRight) in [("billing", true), ("other", false), (nil, false)] {
            var options = CurlTransport.Options()
            options.certificateAuthorities = authority.file
            options.proxy = .none
            if let subject {
                let mine = try await authority.issue(to: subject)
                options.clientCertificate = .init(certificate: mine.file, key: mine.key)
            }
            let transport = CurlTransport(options)
            let oauth = OAuth(metadata, client: .certificate(id: "billing")) {
                $0.transport = transport
                $0.rateLimit = .unlimited
            }
            let error = await failure { () async throws(ServiceError) in
                _ = try await oauth.token(.clientCredentials)
            }
            #expect(error?.status == (isRight ? nil : 401), "\(subject ?? "none"): \(String(describing: error))")
            if !isRight, case .rejected(let rejection) = error { #expect(rejection.code == "invalid_client") }
            await transport.shutdown()
        }
        #expect(backend.received.count == 3)
    }
    #endif
}
