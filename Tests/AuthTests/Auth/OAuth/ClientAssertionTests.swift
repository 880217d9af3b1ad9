@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("OAuth: apps that sign") struct ClientAssertionTests {
    private struct Claims: Decodable, Equatable {
        var iss, sub, aud, jti: String
        var iat, exp: Int
    }

    private let network = scripted()
    private let clock = TestClock()

    private func oauth(
        _ client: OAuth.Client, issuer: String? = "https://login.test", rateLimit: RateLimit = .unlimited
    ) -> OAuth {
        network.on(.post, "https://login.test/token", .json(#"{"access_token":"a"}"#).always)
        let metadata = OAuth.ServerMetadata(issuer: issuer, tokenEndpoint: "https://login.test/token")
        return OAuth(metadata, client: client) { [network, clock] in
            $0.transport = network
            $0.time = clock
            $0.rateLimit = rateLimit
        }
    }

    /// The fields of the forms that were sent.
    private var forms: [[String: String]] {
        network.sent.map { sent in
            let items = String(decoding: sent.body, as: UTF8.self).split(separator: "&").map {
                $0.split(separator: "=", maxSplits: 1).map { String($0).removingPercentEncoding ?? "" }
            }
            return Dictionary(items.map { ($0[0], $0.count > 1 ? $0[1] : "") }) { first, _ in first }
        }
    }

    /// Returns the parts of a token, and checks that the key has signed it.
    private func parts(of token: String, by key: SigningKey) throws -> (header: [String: String], claims: Claims) {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        try #require(parts.count == 3)
        let bytes = try parts.map { try #require(Base64URL.decode($0)) }
        #if os(Linux)
        #expect(
            try SignatureCheck.accepts(Array(bytes[2]), of: Data(parts.prefix(2).joined(separator: ".").utf8), by: key))
        #endif
        let decoder = JSONDecoder()
        return (
            try decoder.decode([String: String].self, from: bytes[0]), try decoder.decode(Claims.self, from: bytes[1])
        )
    }

    @Test("S15: each request has a signature of its own, for the issuer and for a minute, and no secret")
    func assertions() async throws {
        let key = try SigningKey()
        let oauth = oauth(.privateKey(id: "billing", key))
        _ = try await oauth.token(.clientCredentials)
        await clock.advance(by: .seconds(5))
        _ = try await oauth.refresh(Token(accessToken: "a", refreshToken: "r"))
        let tokens = try forms.map { form in
            #expect(form["client_id"] == "billing" && form["client_secret"] == nil)
            #expect(form["client_assertion_type"] == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
            return try parts(of: try #require(form["client_assertion"]), by: key)
        }
        #expect(forms.map { $0["grant_type"] } == ["client_credentials", "refresh_token"])
        #expect(network.sent.allSatisfy { $0.request.headers["Authorization"] == nil })
        let header = ["alg": "ES256", "kid": key.thumbprint, "typ": "JWT"]
        #expect(tokens.map(\.header) == [header, header])
        let claims = tokens.map(\.claims)
        #expect(claims.allSatisfy { $0.iss == "billing" && $0.sub == "billing" && $0.aud == "https://login.test" })
        #expect(claims[1].iat == claims[0].iat + 5 && claims.allSatisfy { $0.exp == $0.iat + 60 })
        #expect(claims[0].jti != claims[1].jti && claims[0].jti.utf8.count == 43)
    }

    /// Accepts each signature once, and then wants a nonce in the proof of the key.
    private static func answer(to body: String, noting used: Noted<[String]>) -> HTTPResponse {
        func json(_ text: String, status: Int, headers: HTTPHeaders = [:]) -> HTTPResponse {
            HTTPResponse(status: status, headers: headers, body: .bytes(Data(text.utf8)))
        }
        let assertions = body.split(separator: "&").filter { $0.hasPrefix("client_assertion=") }.map(String.init)
        guard assertions.count == 1, !used.value.contains(assertions[0]) else {
            return json(#"{"error":"invalid_client"}"#, status: 401)
        }
        used.update { $0 += assertions }
        guard used.value.count > 1 else {
            return json(#"{"error":"use_dpop_nonce"}"#, status: 400, headers: ["DPoP-Nonce": "n-1"])
        }
        return json(#"{"access_token":"a","token_type":"DPoP"}"#, status: 200)
    }

    @Test("S13, S15: a server that wants a nonce, and takes each signature once, gets a new signature with the nonce")
    func nonce() async throws {
        let (key, used) = (try SigningKey(), Noted<[String]>([]))
        network.on(.post, "https://sign.test/token") { request in
            let body = String(decoding: request.body?.bytes ?? Data(), as: UTF8.self)
            return .response(Self.answer(to: body, noting: used))
        }
        let metadata = OAuth.ServerMetadata(issuer: "https://sign.test", tokenEndpoint: "https://sign.test/token")
        let oauth = OAuth(metadata, client: .privateKey(id: "billing", key)) { [network, clock] in
            $0.transport = network
            $0.time = clock
            $0.rateLimit = .unlimited
        }
        let token = try await oauth.bindingTokens(to: SigningKey()).token(.clientCredentials)
        #expect(token.accessToken == "a" && token.type == "DPoP")
        let tokens = try forms.map { try parts(of: try #require($0["client_assertion"]), by: key).claims.jti }
        #expect(tokens.count == 2 && Set(tokens).count == 2)
        #expect(forms.allSatisfy { $0["client_id"] == "billing" && $0["grant_type"] == "client_credentials" })
    }

    @Test("S15: a request that waits for its permit is signed after the wait, so its signature has not expired")
    func afterWait() async throws {
        let key = try SigningKey()
        let oauth = oauth(.privateKey(id: "billing", key), rateLimit: .requests(1, per: .seconds(50)))
        try await clock.run {
            for _ in 1...2 { _ = try await oauth.token(.clientCredentials) }
        }
        let signed = try forms.map { try parts(of: try #require($0["client_assertion"]), by: key).claims.iat }
        let sent = network.sent.map { Int(Instant.zero.duration(to: $0.at).components.seconds) }
        #expect(signed == sent.map { 1_000_000_000 + $0 })
        #expect(sent.count == 2 && sent[1] >= 50)
    }

    @Test("S15: without an issuer the endpoint is the audience, and a key can have a name")
    func endpoint() async throws {
        let key = try SigningKey()
        _ = try await oauth(.privateKey(id: "billing", key, keyID: "key-7"), issuer: nil).token(.clientCredentials)
        let token = try parts(of: try #require(forms.first?["client_assertion"]), by: key)
        #expect(token.header["kid"] == "key-7" && token.claims.aud == "https://login.test/token")
    }

    #if os(Linux)
    @Test("S15: a key for RSA signs with RS256")
    func rsa() async throws {
        let key = try SigningKey(rawRepresentation: Data(RSAExample.plainForm()))
        _ = try await oauth(.privateKey(id: "billing", key)).token(.clientCredentials)
        let token = try #require(forms.first?["client_assertion"])
        let parts = token.split(separator: ".").map(String.init)
        let header = try JSONDecoder().decode([String: String].self, from: try #require(Base64URL.decode(parts[0])))
        #expect(header == ["alg": "RS256", "kid": key.thumbprint, "typ": "JWT"])
        let signed = try key.signature(of: Data(parts.prefix(2).joined(separator: ".").utf8))
        #expect(parts[2] == Base64URL.encode(signed))
    }
    #endif

    @Test("S15: a server that wants another audience than its issuer gets it")
    func audience() async throws {
        let key = try SigningKey()
        _ = try await oauth(.privateKey(id: "billing", key, audience: "https://login.test/token"))
            .token(.clientCredentials)
        let token = try parts(of: try #require(forms.first?["client_assertion"]), by: key)
        #expect(token.claims.aud == "https://login.test/token")
    }

    @Test("S15: with only the path of the endpoint nothing is sent, and the error says what to do")
    func noServer() async throws {
        let server = APIClient("https://login.test") { [network] in $0.transport = network }
        let oauth = OAuth(
            OAuthServer(login: server, tokenPath: "token"), client: .privateKey(id: "billing", try SigningKey()),
            tokenType: "Bearer", parameters: [:])
        let error = await #expect(throws: ServiceError.self) { try await oauth.token(.clientCredentials) }
        #expect(error.map { "\($0)".contains("OAuth.discover") } ?? false)
        #expect(network.sent.isEmpty)
    }

    @Test("S10: neither the key nor a signature is in an error, an event or a description")
    func secrets() async throws {
        let key = try SigningKey()
        let events = Noted<[String]>([])
        let metadata = OAuth.ServerMetadata(issuer: "https://login.test", tokenEndpoint: "https://login.test/token")
        network.onAny { request in
            // A server that repeats what it was sent.
            .status(
                400, headers: ["Content-Type": "application/json"],
                body:
                    try JSONEncoder().encode([
                        "error": "invalid_client",
                        "error_description": String(decoding: request.body?.bytes ?? Data(), as: UTF8.self),
                    ]))
        }
        let client = OAuth.Client.privateKey(id: "billing", key)
        let oauth = OAuth(metadata, client: client) { [network, clock] in
            $0.transport = network
            $0.time = clock
            $0.observe = { event in events.update { $0.append("\(event)") } }
        }
        let error = await #expect(throws: ServiceError.self) { try await oauth.token(.clientCredentials) }
        let assertion = try #require(forms.first?["client_assertion"])
        let secret = Base64URL.encode(Array(key.rawRepresentation))
        var dumped = ""
        dump(client, to: &dumped)
        for text in ["\(error as Any)", "\(client)", "\(oauth)", dumped] + events.value {
            #expect(!text.contains(assertion) && !text.contains(secret), "\(text)")
        }
    }
}
