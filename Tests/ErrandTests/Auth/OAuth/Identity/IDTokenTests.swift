import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("OAuth: ID tokens")
struct IDTokenTests {
    @Test("S11: a good ID token is kept with the token, its claims are readable, and it survives being saved")
    func good() async throws {
        let scene = try await SignInScene()
        let token = try await scene.signIn(scopes: ["openid"])
        let claims = try #require(token.claims)
        #expect(claims.subject == "ann")
        #expect(claims.name == "Ann")
        #expect(claims.issuer == "https://login.test")
        #expect(claims.audience == ["app"])
        #expect(claims.expiry == scene.clock.date.addingTimeInterval(300))
        #expect(claims["nonce"]?.string?.utf8.count == 43)
        let saved = try JSONDecoder().decode(Token.self, from: try JSONEncoder().encode(token))
        #expect(saved == token)
        #expect(!printed(token).contains(token.idToken ?? "none") && !printed(claims).contains("Ann"))
        let old = try JSONDecoder().decode(
            Token.self, from: Data(#"{"access":"a","type":"Bearer","scopes":[]}"#.utf8))
        #expect(old.claims == nil)
    }

    @Test(
        "S11: a wrong or missing claim refuses the sign-in",
        arguments: [
            ("iss", nil), ("iss", "https://evil.test"), ("sub", nil), ("sub", ""), ("aud", nil), ("aud", "other"),
            ("aud", ["other", "another"]), ("exp", nil), ("exp", 999_999_900), ("exp", "soon"), ("nonce", nil),
            ("nonce", "x"), ("azp", "other"), ("azp", 1),
        ] as [(String, JSONValue?)])
    func wrong(name: String, value: JSONValue?) async throws {
        let scene = try await SignInScene()
        scene.server.claims = [name: value ?? .null]
        let error = await failure { () async throws(ServiceError) in try await scene.signIn(scopes: ["openid"]) }
        #expect(error?.refusedPath == "id_token.\(name)")
    }

    @Test("S11: several audiences need the app among them, and its id as `azp`")
    func audiences() async throws {
        let scene = try await SignInScene()
        scene.server.claims = ["aud": ["other", "app"]]
        let error = await failure { () async throws(ServiceError) in try await scene.signIn(scopes: ["openid"]) }
        #expect(error?.refusedPath == "id_token.azp")
        scene.server.claims = ["aud": ["other", "app"], "azp": "app"]
        #expect(try await scene.signIn(scopes: ["openid"]).claims?.audience == ["other", "app"])
    }

    @Test("S11: a sign-in with `openid` and without an ID token is refused; without `openid` none is needed")
    func missing() async throws {
        let scene = try await SignInScene(misbehavior: [.noIDToken])
        let error = await failure { () async throws(ServiceError) in try await scene.signIn(scopes: ["openid"]) }
        #expect(error?.refusedPath == "id_token")
        #expect(try await scene.signIn(scopes: ["read"]).claims == nil)
    }

    @Test("S11: a new ID token at a refresh must be the same user's; without one, the old one stays")
    func refresh() async throws {
        let scene = try await SignInScene()
        let token = try await scene.signIn(scopes: ["openid"])
        let refreshed = try await scene.oauth.refresh(token)
        #expect(refreshed.claims?.subject == "ann")
        scene.server.misbehavior = [.noIDToken]
        let kept = try await scene.oauth.refresh(refreshed)
        #expect(kept.idToken == refreshed.idToken)
        scene.server.misbehavior = []
        scene.server.claims = ["sub": "bob"]
        let error = await failure { () async throws(ServiceError) in try await scene.oauth.refresh(kept) }
        #expect(error?.refusedPath == "id_token.sub")
    }

    @Test("an ID token that could not be checked is not asked for")
    func unknownIssuer() async throws {
        let oauth = OAuth(
            OAuth.ServerMetadata(authorizationEndpoint: "https://login.test/a", tokenEndpoint: "https://login.test/t"),
            client: .public(id: "app"))
        let error = await failure { () async throws(ServiceError) in
            try await oauth.signInRequest(scopes: ["openid"], redirectURI: "https://app.test")
        }
        #expect("\(String(describing: error))".contains("issuer"))
    }

    @Test(
        "the expiry of an access token that is a JWT, where the answer names none",
        arguments: [
            (#"{"exp":1000000060}"#, "", 60), (#"{"exp":1000000060}"#, #","expires_in":10"#, 10),
            (#"{"exp":1000000060.5}"#, #","expires_in":0"#, 60.5), (#"{"exp":999999999}"#, "", nil),
            (#"{"exp":"1000000060"}"#, "", nil), (#"{}"#, "", nil), ("[]", "", nil), ("x", "", nil),
            (#"{"exp":1e300}"#, "", 3_155_760_000),
        ] as [(String, String, Double?)])
    func expiry(payload: String, member: String, seconds: Double?) async throws {
        let jwt = "e30.\(Base64URL.encode(payload.utf8)).c2ln"
        let scene = OAuthScene(.json(#"{"access_token":"\#(jwt)"\#(member)}"#))
        let token = try await scene.signIn()
        #expect(token.expiry == seconds.map { scene.clock.date.addingTimeInterval($0) })
    }

    @Test(
        "base64 for URLs, both ways; text with padding or of another alphabet is none",
        arguments: ["", "f", "fo", "foo", "foob", "\u{00FB}\u{00FF}?>~", "\0\0\0"])
    func base64(text: String) {
        let encoded = Base64URL.encode(text.utf8)
        #expect(encoded.utf8.allSatisfy { $0 != 0x3D && $0 != 0x2B && $0 != 0x2F })
        #expect(Base64URL.decode(encoded).map { String(decoding: $0, as: UTF8.self) } == text)
        #expect(Base64URL.decode("Zg==") == nil && Base64URL.decode("Z+/a") == nil && Base64URL.decode("Z") == nil)
    }
}
