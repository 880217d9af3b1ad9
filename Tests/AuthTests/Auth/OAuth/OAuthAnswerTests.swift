@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("OAuth: responses")
struct OAuthAnswerTests {
    private func token(_ json: String, tokenType: String = "Bearer") async throws -> Token {
        try await OAuthScene(.json(json), tokenType: tokenType).signIn(scopes: ["read", "write"])
    }

    @Test("a complete response: every member is in the token, and the lifetime counts from now")
    func whole() async throws {
        let scene = OAuthScene(
            .json(
                #"{"access_token":"a","token_type":"bearer","expires_in":3600,"refresh_token":"r","scope":"x y","#
                    + #""id":7}"#))
        let token = try await scene.signIn(scopes: ["x", "y", "z"])
        var expected = Token(
            accessToken: "a", refreshToken: "r", type: "Bearer", expiry: scene.clock.date.addingTimeInterval(3600),
            scopes: ["x", "y"])
        expected.members = ["id": 7]
        #expect(token == expected)
    }

    @Test(
        "optional members, and what their absence means",
        arguments: [
            #"{"access_token":"a"}"#, #"{"access_token":"a","token_type":null,"expires_in":null,"scope":null}"#,
            #"{"access_token":"a","refresh_token":"","token_type":"","scope":""}"#,
            #"{"access_token":"a","refresh_token":null,"expires_in":0}"#, #"{"access_token":"a","error":"not one"}"#,
        ])
    func little(json: String) async throws {
        #expect(try await token(json) == Token(accessToken: "a", scopes: ["read", "write"]))
    }

    @Test(
        "a lifetime is a number, or a string with a number; a century is the maximum",
        arguments: [
            ("60", 60), ("60.5", 60.5), (#""60""#, 60), (#""3599.5""#, 3599.5), ("1e300", 3_155_760_000),
            (#""99999999999999999999""#, 3_155_760_000),
        ] as [(String, Double)])
    func lifetime(json: String, seconds: Double) async throws {
        let scene = OAuthScene(.json(#"{"access_token":"a","expires_in":\#(json)}"#))
        #expect(try await scene.signIn().expiry == scene.clock.date.addingTimeInterval(seconds))
    }

    @Test(
        "the lifetime of a refresh token is read where a server names it, and stays with that refresh token",
        arguments: [
            (#","refresh_expires_in":1800"#, 1800), (#","refresh_token_expires_in":"86400""#, 86_400),
            (#","refresh_expires_in":0"#, nil), (#","refresh_expires_in":"soon""#, nil), ("", nil),
        ] as [(String, Double?)])
    func refreshLifetime(member: String, seconds: Double?) async throws {
        let scene = OAuthScene(
            .json(#"{"access_token":"a","refresh_token":"r"\#(member)}"#), .json(#"{"access_token":"b"}"#),
            .json(#"{"access_token":"c","refresh_token":"s"}"#))
        let token = try await scene.signIn()
        let expiry = seconds.map { scene.clock.date.addingTimeInterval($0) }
        #expect(token.refreshTokenExpiry == expiry)
        await scene.clock.advance(by: .seconds(5))
        let second = try await scene.oauth.refresh(token)
        #expect(second.refreshToken == "r" && second.refreshTokenExpiry == expiry)
        let saved = try JSONDecoder().decode(Token.self, from: JSONEncoder().encode(second))
        #expect(saved == second)
        let session = SavedSession(id: UUID(), token: saved, received: Date())
        #expect(session.continued(with: Token(accessToken: "d"), at: Date()).token.refreshTokenExpiry == expiry)
        // Another refresh token has a lifetime of its own.
        let third = try await scene.oauth.refresh(saved)
        #expect(third.refreshToken == "s" && third.refreshTokenExpiry == nil)
    }

    @Test(
        "an invalid response is decodingFailed with the coding path, and yields no token",
        arguments: [
            (#"{}"#, "access_token"), (#"{"access_token":null}"#, "access_token"),
            (#"{"access_token":""}"#, "access_token"), (#"{"access_token":7}"#, "access_token"),
            (#"{"access_token":{"token":"a"}}"#, "access_token"), (#"{"access_token":"a\nb"}"#, "access_token"),
            (#"{"accessToken":""}"#, "access_token"), (#"{"error":7}"#, "access_token"),
            (#"{"access_token":"a","token_type":"mac"}"#, "token_type"),
            (#"{"access_token":"a","token_type":"JWT"}"#, "token_type"),
            (#"[{"access_token":"a"}]"#, ""), ("null", ""), ("", ""), ("access_token=a&token_type=bearer", ""),
            ("<html>Sign in</html>", ""),
        ])
    func wrong(json: String, path: String) async throws {
        let error = try await #require(throws: ServiceError.self) { try await token(json) }
        guard case .decodingFailed(let failure) = error else { throw error }
        // Only some versions of Foundation report where a number out of range is.
        #expect(failure.path == path || (path.isEmpty && failure.path == "expires_in"))
        #expect(failure.status == 200)
    }

    @Test("a page of HTML with a success status is reported as such")
    func html() async throws {
        let page = ScriptedReply.status(200, headers: ["Content-Type": "text/html"], body: "<html>Sign in</html>")
        let error = try await #require(throws: ServiceError.self) { try await OAuthScene(page).signIn() }
        guard case .decodingFailed(let failure) = error else { throw error }
        #expect(failure.found == "text/html")
    }

    @Test("another token type can be accepted, and is spelled as the app spells it")
    func otherType() async throws {
        #expect(try await token(#"{"access_token":"a","token_type":"jwt"}"#, tokenType: "JWT").type == "JWT")
        #expect(try await token(#"{"access_token":"a"}"#, tokenType: "JWT").type == "JWT")
        let error = try await #require(throws: ServiceError.self) {
            try await token(OAuthScene.answer, tokenType: "JWT")
        }
        #expect(
            error.description
                == "decodingFailed(The server's response could not be read: expected JWT at token_type, found Bearer)")
    }

    @Test(
        "a type that is not a plain word, and so might be a secret, is not shown",
        arguments: ["eyJhbGciOiJIUzI1NiJ9", "a1b2c3d4", "seventeen-letters", "abcdefghijklmnopq"])
    func typeThatIsNoWord(type: String) async throws {
        let error = try await #require(throws: ServiceError.self) {
            try await token(#"{"access_token":"a","token_type":"\#(type)"}"#)
        }
        #expect(error.description.contains("expected Bearer at token_type, found another type)"))
    }

    @Test("a client whose decoder converts keys to camelCase reads the same")
    func camelCase() async throws {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let scene = OAuthScene(.json(OAuthScene.answer)) { $0.decoder = decoder }
        let expiry = scene.clock.date.addingTimeInterval(3600)
        #expect(try await scene.signIn() == Token(accessToken: "a", refreshToken: "r", expiry: expiry))
    }

    @Test(
        "a refusal keeps the server's message and its code (RFC 6749, 5.2)",
        arguments: [
            (
                400, #"{"error":"invalid_grant","error_description":"Wrong password"}"#, "invalid_grant",
                "Wrong password"
            ),
            (401, #"{"error":"invalid_client"}"#, "invalid_client", "invalid_client"),
            (400, #"{"error":"invalid_scope","error_description":[7]}"#, "invalid_scope", "invalid_scope"),
            (403, #"{"error":"unauthorized_client"}"#, "unauthorized_client", "unauthorized_client"),
            (200, #"{"error":"bad_code","error_description":"Too late"}"#, "bad_code", "Too late"),
            (200, #"{"error":"bad_code","error_description":[]}"#, "bad_code", "bad_code"),
            (200, #"{"access_token":null,"error":"bad_code","error_description":null}"#, "bad_code", "bad_code"),
        ])
    func refused(status: Int, json: String, code: String, message: String) async throws {
        let scene = OAuthScene(.json(json, status: status))
        let error = try await #require(throws: ServiceError.self) { try await scene.signIn() }
        guard case .rejected(let rejection) = error else { throw error }
        #expect(rejection.status == status)
        #expect(rejection.code == code)
        #expect(rejection.message == message)
        #expect(scene.network.sent.count == 1)
    }

    @Test("other failures are reported as for every call, and a request that may have arrived is not repeated")
    func failures() async throws {
        let cases: [(ScriptedReply, ServiceError, Int)] = [
            (.status(503), .serverFailure(Rejection(status: 503)), 1),
            (.status(429), .rateLimited(RateLimited(status: 429)), 1),
            (.failure(.reset), .transport(TransportFailure(.reset, "scripted")), 1),
            (.failure(.refused), .transport(TransportFailure(.refused, "scripted")), 3),
        ]
        for (reply, expected, sends) in cases {
            let scene = OAuthScene(reply.times(sends))
            try await scene.clock.runTest {
                #expect(await failure { () async throws(ServiceError) in try await scene.signIn() } == expected)
            }
            #expect(scene.network.sent.count == sends)
        }
    }
}
