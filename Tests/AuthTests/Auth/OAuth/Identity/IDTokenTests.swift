import Errand
import ErrandJSON
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

    @Test("S11: a new ID token at a refresh replaces the old one; without one, the old one stays")
    func refresh() async throws {
        let scene = try await SignInScene()
        let token = try await scene.signIn(scopes: ["openid"])
        scene.server.claims = ["name": "Ann B."]
        let refreshed = try await scene.oauth.refresh(token)
        #expect(refreshed.claims?.subject == "ann" && refreshed.claims?.name == "Ann B.")
        scene.server.misbehavior = [.noIDToken]
        let kept = try await scene.oauth.refresh(refreshed)
        #expect(kept.idToken == refreshed.idToken)
    }

    @Test(
        "S11: at a refresh, an ID token that fails its check is dropped, and the rotated refresh token is not lost",
        arguments: [
            ("exp", 999_999_900), ("exp", nil), ("iss", "https://evil.test"), ("aud", "other"), ("azp", "other"),
            ("sub", nil),
        ] as [(String, JSONValue?)])
    func unchecked(name: String, value: JSONValue?) async throws {
        let scene = try await SignInScene()
        let token = try await scene.signIn(scopes: ["openid"])
        scene.server.claims = [name: value ?? .null]
        let refreshed = try await scene.oauth.refresh(token)
        #expect(refreshed.idToken == token.idToken)
        // The server accepts each refresh token once.
        let again = try await scene.oauth.refresh(refreshed)
        #expect(again.accessToken != refreshed.accessToken)
    }

    @Test(
        "S11: the ID token of another user at a refresh ends the session, whatever else is wrong with it",
        arguments: [
            [:], ["exp": 999_999_900], ["iss": "https://evil.test"], ["aud": "other"], ["azp": "other"],
            ["iss": "https://evil.test", "aud": ["other", "another"], "exp": .null],
        ] as [[String: JSONValue]])
    func otherUser(others: [String: JSONValue]) async throws {
        let scene = try await SignInScene()
        let tokens = TokenStore(time: scene.clock) { [oauth = scene.oauth] in try await oauth.refresh($0) }
        var token = try await scene.signIn(scopes: ["openid"])
        token.expiry = scene.clock.date
        scene.server.claims = others.merging(["sub": "bob"]) { $1 }
        try await scene.clock.runTest { [token] in
            await tokens.signIn(token)
            let error = await failure(of: tokens.token)
            let expiry = SessionExpiry(.refreshRefused, message: "the new ID token is that of another user")
            #expect(error == .sessionExpired(expiry))
            #expect(await tokens.isSignedIn == false)
        }
    }

    @Test(
        "S11: how recently and by which means the user has signed in is checked where it was asked for",
        arguments: [
            ("600", nil, ["auth_time": 999_999_500], nil), ("600", nil, ["auth_time": 999_999_300], "auth_time"),
            ("600", nil, ["auth_time": 999_999_340], nil), ("600", nil, [:], "auth_time"),
            ("0", nil, ["auth_time": 1_000_000_000], nil), ("600", nil, ["auth_time": "now"], "auth_time"),
            (nil, "gold silver", ["acr": "silver"], nil), (nil, "gold silver", ["acr": "bronze"], "acr"),
            (nil, "gold silver", [:], nil), (nil, nil, ["acr": "bronze", "auth_time": 0], nil),
        ] as [(String?, String?, [String: JSONValue], String?)])
    func demands(maxAge: String?, values: String?, claims: [String: JSONValue], wrong: String?) async throws {
        let scene = try await SignInScene()
        scene.server.claims = claims
        let browser = ScriptedBrowser { [server = scene.server] in try server.visit($0) }
        let error = await failure { () async throws(ServiceError) in
            try await scene.oauth.signIn(
                scopes: ["openid"], using: browser, parameters: ["max_age": maxAge, "acr_values": values])
        }
        #expect(error?.refusedPath == wrong.map { "id_token.\($0)" })
    }

    @Test("S11: a password with `openid` and a wrong or missing ID token signs nobody in")
    func password() async throws {
        let scene = try await SignInScene()
        let token = try await scene.oauth.token(.ann, scopes: ["openid"])
        #expect(token.claims?.subject == "ann")
        scene.server.claims = ["aud": "other"]
        for (scopes, further) in [(["openid"], [:]), ([], ["scope": "read openid"])] as [([String], QueryItems)] {
            let wrong = await failure { () async throws(ServiceError) in
                try await scene.oauth.token(.ann, scopes: scopes, parameters: further)
            }
            #expect(wrong?.refusedPath == "id_token.aud")
        }
        scene.server.misbehavior = [.noIDToken]
        let missing = await failure { () async throws(ServiceError) in
            try await scene.oauth.token(.ann, scopes: ["openid"])
        }
        #expect(missing?.refusedPath == "id_token")
    }

    @Test("S11: an ID token that was not asked for must be good with a password; other grants may bring another app's")
    func unasked() async throws {
        let network = scripted()
        let answer = ScriptedReply.json(#"{"access_token":"a","id_token":"nonsense"}"#)
        network.on(.post, "https://login.test/token", answer.times(2))
        let metadata = OAuth.ServerMetadata(issuer: "https://login.test", tokenEndpoint: "https://login.test/token")
        let oauth = OAuth(metadata, client: .public(id: "app")) {
            $0.transport = network
            $0.time = TestClock()
        }
        let error = await failure { () async throws(ServiceError) in try await oauth.token(.ann) }
        #expect(error?.refusedPath == "id_token")
        let exchanged = try await oauth.token(.tokenExchange(subject: "s"))
        #expect(exchanged.accessToken == "a" && exchanged.idToken == nil)
    }

    @Test("S11: `openid` in a parameter is checked like one of the scopes", arguments: [true, false])
    func parameter(isPushed: Bool) async throws {
        let scene = try await SignInScene(requiresPush: isPushed)
        let browser = ScriptedBrowser { [server = scene.server] in try server.visit($0) }
        let token = try await scene.oauth.signIn(using: browser, parameters: ["scope": "openid read"])
        #expect(token.claims?["nonce"]?.string?.utf8.count == 43)
        #expect(token.scopes == ["openid", "read"])
        scene.server.claims = ["nonce": "x"]
        let error = await failure { () async throws(ServiceError) in
            try await scene.oauth.signIn(using: browser, parameters: ["scope": "openid read"])
        }
        #expect(error?.refusedPath == "id_token.nonce")
    }

    @Test("S11: an ID token that could not be checked is not asked for, whichever way a user signs in")
    func unknownIssuer() async throws {
        let metadata = OAuth.ServerMetadata(
            authorizationEndpoint: "https://login.test/a", tokenEndpoint: "https://login.test/t",
            deviceAuthorizationEndpoint: "https://login.test/d")
        let network = scripted()
        func oauth(_ parameters: QueryItems = [:]) -> OAuth {
            OAuth(metadata, client: .public(id: "app"), parameters: parameters) { $0.transport = network }
        }
        let errors = [
            await failure { () async throws(ServiceError) in
                try await oauth().signInRequest(scopes: ["openid"], redirectURI: "https://app.test")
            },
            await failure { () async throws(ServiceError) in
                try await oauth(["scope": "read openid"]).signInRequest(redirectURI: "https://app.test")
            },
            await failure { () async throws(ServiceError) in
                try await oauth().signInOnAnotherDevice(parameters: ["scope": "openid"]) { _ in }
            },
            await failure { () async throws(ServiceError) in try await oauth().token(.ann, scopes: ["openid"]) },
        ]
        for error in errors {
            guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
            #expect(invalid.reason.contains("issuer"))
        }
        #expect(network.sent.isEmpty)
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
