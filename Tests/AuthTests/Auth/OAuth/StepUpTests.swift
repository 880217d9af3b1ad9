@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("OAuth: a token with too few scopes")
struct StepUpTests {
    private func client(_ network: ScriptedTransport, refreshes: Noted<Int>) async -> APIClient {
        let tokens = TokenStore { _ in
            refreshes.update { $0 += 1 }
            return Token(accessToken: "new", refreshToken: "r2")
        }
        await tokens.signIn(Token(accessToken: "old", refreshToken: "r1"))
        return APIClient("https://api.test") {
            $0.transport = network
            $0.time = TestClock()
            $0.tokens = tokens
            $0.retry = .never
        }
    }

    @Test("a refusal names the scopes, and starts no refresh", arguments: [401, 403])
    func scopes(status: Int) async {
        let network = scripted()
        let challenge = #"Basic realm="x", Bearer error="insufficient_scope", scope="files.read files.write""#
        network.on(.get, "/files", .status(status, headers: ["WWW-Authenticate": challenge]))
        let refreshes = Noted(0)
        let client = await client(network, refreshes: refreshes)
        let error = await failure { () async throws(ServiceError) in
            try await client.run(Endpoint<NoContent>.get("/files"))
        }
        guard case .rejected(let rejection) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(rejection.requiredScopes == ["files.read", "files.write"])
        #expect(rejection.code == "insufficient_scope")
        #expect("\(rejection)".contains("the token needs the scopes files.read files.write"))
        #expect(refreshes.value == 0)
        #expect(network.sent.count == 1)
    }

    @Test("a refusal for another reason names none, and a 401 is refreshed as before")
    func otherReasons() async {
        let network = scripted()
        let expired = #"Bearer error="invalid_token", scope="a""#
        network.on(.get, "/a", .status(401, headers: ["WWW-Authenticate": expired]), .status(204))
        network.on(.get, "/b", .status(403))
        network.on(.get, "/c", .status(403, headers: ["WWW-Authenticate": #"Bearer error="insufficient_scope""#]))
        let refreshes = Noted(0)
        let client = await client(network, refreshes: refreshes)
        await #expect(throws: Never.self) { try await client.run(Endpoint<NoContent>.get("/a")) }
        #expect(refreshes.value == 1)
        for (call, scopes) in [(.get("/b"), nil), (.get("/c"), [])] as [(Endpoint<NoContent>, [String]?)] {
            let error = await failure { () async throws(ServiceError) in try await client.run(call) }
            guard case .rejected(let rejection) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(rejection.requiredScopes == scopes)
        }
    }

    @Test("a refusal because of the sign-in says what the server wants, and starts no refresh")
    func signIn() async {
        let network = scripted()
        let code = #"Bearer error="insufficient_user_authentication""#
        let cases: [(String, [String], Duration?)] = [
            (#"\#(code), acr_values="gold silver", max_age="5""#, ["gold", "silver"], .seconds(5)),
            (#"\#(code), max_age=600"#, [], .seconds(600)), (#"\#(code), acr_values="gold""#, ["gold"], nil),
            (#"\#(code), max_age="soon""#, [], nil),
        ]
        network.on(.get, "/pay") { cases.map { .status(401, headers: ["WWW-Authenticate": $0.0]) } }
        let refreshes = Noted(0)
        let client = await client(network, refreshes: refreshes)
        for (_, values, age) in cases {
            let error = await failure { () async throws(ServiceError) in
                try await client.run(Endpoint<NoContent>.get("/pay"))
            }
            guard case .rejected(let rejection) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(rejection.requiredSignIn == .init(acrValues: values, maxAge: age))
            #expect(rejection.requiredScopes == nil && rejection.code == "insufficient_user_authentication")
            #expect("\(rejection)".contains("the user has to sign in again"))
        }
        #expect(refreshes.value == 0 && network.sent.count == cases.count)
        let required = Rejection.RequiredSignIn(acrValues: ["gold", "silver"], maxAge: .seconds(5))
        #expect(required.parameters.encoded == "acr_values=gold%20silver&max_age=5")
        #expect(Rejection(status: 401).requiredSignIn == nil)
    }
}
