@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// An answer to a refresh, which has an access token and a new refresh token, and something besides.
struct OddAnswer: Sendable, CustomTestStringConvertible {
    /// The member besides, in JSON.
    let member: String
    var scopes = ["read", "write"]
    var seconds: Double? = nil
    var type = "Bearer"
    /// The name of the member that cannot be read; `nil` if it can.
    var unread: String? = nil

    var testDescription: String { member }

    /// In the order of the members' names.
    static let all: [OddAnswer] = lifetimes + scopeLists + types + others

    private static let lifetimes: [OddAnswer] =
        [
            ("3600", 3600), ("\"3600\"", 3600), ("\"3600 \"", 3600), ("\" 3600\"", 3600), ("60.5", 60.5), ("0", nil),
            ("\"0\"", nil), ("null", nil), ("1e300", 3_155_760_000),
        ].map { text, seconds in OddAnswer(member: "\"expires_in\":\(text)", seconds: seconds) }
        + [
            "-1", "\"-1\"", "\"\"", "\" \"", "true", "\"soon\"", "\"nan\"", "\"inf\"", "\"1h\"", "\"3600s\"", "[60]",
            "1e999",
            "{\"seconds\":60}", "\"0x10 \\n x\"",
        ].map { OddAnswer(member: "\"expires_in\":\($0)", unread: "expires_in") }

    private static let scopeLists: [OddAnswer] =
        [
            ("\"a b\"", ["a", "b"]), ("\"a  b \"", ["a", "b"]), ("[\"a\",\"b\"]", ["a", "b"]), ("\"a,b\"", ["a", "b"]),
            ("\"a, b\"", ["a", "b"]), ("[]", ["read", "write"]), ("\"\"", ["read", "write"]),
            ("null", ["read", "write"]),
        ].map { OddAnswer(member: "\"scope\":\($0)", scopes: $1) }
        + ["7", "true", "{}", "[7]", "[\"a\",7]"].map { OddAnswer(member: "\"scope\":\($0)", unread: "scope") }

    private static let types: [OddAnswer] =
        ["\"Bearer\"", "\"bearer\"", "\"Bearer \"", "\"BEARER\"", "\"\"", "null"].map {
            OddAnswer(member: "\"token_type\":\($0)")
        }
        + ["7", "[]", "{}"].map { OddAnswer(member: "\"token_type\":\($0)", unread: "token_type") }
        + [
            ("\"mac\"", "mac"), ("\"N_A\"", "Unknown"), ("\"DPoP\"", "DPoP"), ("\"urn:x:bearer\"", "Unknown"),
            ("\"x\\r\\ny: z\"", "Unknown"),
        ].map { OddAnswer(member: "\"token_type\":\($0)", type: $1, unread: "token_type") }

    private static let others: [OddAnswer] =
        ["7", "[]", "{}", "true"].map { OddAnswer(member: "\"id_token\":\($0)", unread: "id_token") }
        + [
            "\"id_token\":\"\"", "\"id_token\":null", "\"id_token\":\"no token\"", "\"error\":\"none\"", "\"error\":7",
            "\"error\":null", "\"refresh_expires_in\":\"soon\"", "\"instance_url\":7", "\"athlete\":{\"id\":7}",
        ].map { OddAnswer(member: $0) }
}

@Suite("OAuth: odd answers to a refresh")
struct OddAnswerTests {
    @Test("T22: the tokens are kept, and what cannot be read counts as missing and is told", arguments: OddAnswer.all)
    func refresh(answer: OddAnswer) async throws {
        let warnings = Noted<[String]>([])
        let scene = OAuthScene(.json(#"{"access_token":"a2","refresh_token":"r2",\#(answer.member)}"#)) {
            $0.observe = { event in if case .warned(let text) = event.kind { warnings.update { $0.append(text) } } }
        }
        let old = Token(accessToken: "a", refreshToken: "r", scopes: ["read", "write"], idToken: "old")
        let token = try await scene.oauth.refresh(old)
        #expect(token.accessToken == "a2" && token.refreshToken == "r2" && token.type == answer.type)
        #expect(token.scopes == answer.scopes && token.idToken == "old")
        #expect(token.expiry == answer.seconds.map { scene.clock.date.addingTimeInterval($0) })
        #expect(warnings.value.count == (answer.unread == nil ? 0 : 1))
        if let name = answer.unread {
            let words = answer.type == "Bearer" ? "cannot be read: \(name);" : "a token of the type"
            #expect(warnings.value.first?.contains(words) == true)
        }
    }

    @Test("T22: there are as many answers as were found at servers")
    func count() {
        #expect(OddAnswer.all.count >= 55)
    }

    @Test("T22: a refresh token that cannot be read leaves the old one")
    func refreshToken() async throws {
        let scene = OAuthScene(.json(#"{"access_token":"a2","refresh_token":7}"#))
        let token = try await scene.oauth.refresh(Token(accessToken: "a", refreshToken: "r"))
        #expect(token.accessToken == "a2" && token.refreshToken == "r")
    }

    @Test("T22: at a sign-in too, but for the type and the access token", arguments: OddAnswer.all)
    func signIn(answer: OddAnswer) async throws {
        let scene = OAuthScene(.json(#"{"access_token":"a2","refresh_token":"r2",\#(answer.member)}"#))
        let outcome = await Result { () async throws(ServiceError) in
            try await scene.signIn(scopes: ["read", "write"])
        }
        if answer.type != "Bearer" {
            guard case .failure(.decodingFailed(let failure)) = outcome else { throw try #require(outcome.failure) }
            #expect(failure.path == "token_type")
        } else {
            let token = try outcome.get()
            #expect(token.accessToken == "a2" && token.refreshToken == "r2" && token.scopes == answer.scopes)
        }
    }

    @Test("T22: a scope that has a comma, among those that were asked for, is not parted")
    func commas() async throws {
        let scene = OAuthScene(.json(#"{"access_token":"a2","scope":"a,b c"}"#))
        let token = try await scene.signIn(scopes: ["a,b", "c"])
        #expect(token.scopes == ["a,b", "c"])
    }

    @Test("T3, T22: a token of another type is saved, never sent as Bearer, and replaced before the next call")
    func misfit() async throws {
        let odd = ScriptedReply.json(#"{"access_token":"a2","refresh_token":"r2","token_type":"DPoP"}"#)
        let scene = OAuthScene(odd, odd, .json(#"{"access_token":"a3","refresh_token":"r3"}"#))
        let tokens = TokenStore(time: scene.clock) { [oauth = scene.oauth] in try await oauth.refresh($0) }
        await tokens.signIn(Token(accessToken: "a", refreshToken: "r"))
        let network = scripted()
        network.on(.get, "/x", .status(401), .status(204))
        let client = testClient(network, scene.clock) { $0.tokens = tokens }
        for _ in 0..<2 {
            let error = try await #require(throws: ServiceError.self) {
                try await client.run(Endpoint<NoContent>.get("x"))
            }
            guard case .invalidRequest = error else { throw error }
            #expect("\(error)".contains("the type DPoP"))
            #expect(await tokens.current?.refreshToken == "r2")
        }
        try await client.run(Endpoint<NoContent>.get("x"))
        #expect(network.sent.map { $0.request.headers["Authorization"] } == ["Bearer a", "Bearer a3"])
    }

    @Test("T3: a server that issues only tokens that cannot be sent is not asked for ever")
    func misfits() async throws {
        let refreshes = Noted(0)
        let clock = TestClock()
        let tokens = TokenStore(time: clock) { _ in
            refreshes.update { $0 += 1 }
            return Token(accessToken: "a\(refreshes.value)", refreshToken: "r", type: "DPoP")
        }
        await tokens.signIn(Token(accessToken: "a", refreshToken: "r", expiry: clock.date))
        let client = testClient(scripted(), clock) { $0.tokens = tokens }
        for _ in 0..<20 { _ = try? await client.run(Endpoint<NoContent>.get("x")) }
        #expect(refreshes.value == 5)
    }

    @Test("T22: a token that is bound to a key stays so, whatever the server calls it")
    func bound() async throws {
        let key = try SigningKey()
        let scene = OAuthScene(.json(#"{"access_token":"a2","refresh_token":"r2","token_type":"Bearer"}"#))
        let old = Token(accessToken: "a", refreshToken: "r", type: "DPoP", proofKey: key)
        let token = try await scene.oauth.refresh(old)
        #expect(token.type == "DPoP" && token.proofKey == key && token.refreshToken == "r2")
    }

    @Test(
        "T8, T21: empty 400s end the session when three have come in a row, for a minute, and not before",
        arguments: [false, true])
    func mute(isInterrupted: Bool) async throws {
        let (empty, other) = (ScriptedReply.status(400), ScriptedReply.status(400, body: "<html>no</html>"))
        let scene =
            isInterrupted ? OAuthScene(empty, empty, other, empty) : OAuthScene(empty, empty, empty)
        let tokens = TokenStore(time: scene.clock) { [oauth = scene.oauth] in try await oauth.refresh($0) }
        await tokens.signIn(Token(accessToken: "a", refreshToken: "r", expiry: scene.clock.date.addingTimeInterval(-9)))
        let network = scripted()
        network.onAny { _ in .status(401) }
        let client = testClient(network, scene.clock) { $0.tokens = tokens }
        let ends = Noted<[Bool]>([])
        try await scene.clock.runTest {
            for _ in 0..<(isInterrupted ? 4 : 3) {
                let error = await failure { () async throws(ServiceError) in
                    try await client.run(Endpoint<NoContent>.get("x"))
                }
                let isEnd = if case .sessionExpired = error { true } else { false }
                ends.update { $0.append(isEnd) }
                try await scene.clock.sleep(for: .seconds(120))
            }
        }
        #expect(ends.value == (isInterrupted ? [false, false, false, false] : [false, false, true]))
    }
}

extension Result {
    fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}
