import Errand
import ErrandTesting
import ExampleServer
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite("Example server: the tokens of Pins", .timeLimit(.minutes(10)))
struct ServerTokenTests {
    private let clock = TestClock()
    private let server: ExampleServer
    private let pins: PinsClient

    init() throws {
        server = try patientServer { [clock] in
            $0.accessTokenLifetime = .seconds(30)
            $0.time = clock
        }
        pins = PinsClient(server)
    }

    @Test("a password yields a token of its user", arguments: ExampleData.accounts)
    func password(account: ExampleData.Account) async throws {
        let reply = try await pins.client.reply(to: PinsClient.password(account))
        #expect(reply.headers["Cache-Control"] == "no-store")
        #expect(reply.value.token_type == "Bearer")
        #expect(reply.value.expires_in == 30)
        #expect(reply.value.scope == "read write")
        #expect(try await pins.run(.signedInUser, reply.value).user_id == account.id)
    }

    @Test("an access token is valid until its lifetime is over, by the given clock")
    func expiry() async throws {
        let token = try await pins.signIn()
        await clock.advance(by: .milliseconds(29_999))
        #expect(try await pins.run(.signedInUser, token).user_name == "ann")
        await clock.advance(by: .milliseconds(1))
        let error = await pins.failure(of: .signedInUser, token)
        #expect(error?.status == 401)
        #expect(error?.code == "invalid_token")
        #expect(error?.localizedDescription == "The access token expired")
        let next = try await pins.client.run(PinsClient.refresh(token.refresh_token))
        #expect(try await pins.run(.signedInUser, next).user_name == "ann")
    }

    @Test("a refresh token is used up by its use, and the next one is valid")
    func rotation() async throws {
        var token = try await pins.signIn(scope: "read")
        var seen: Set<String> = [token.access_token]
        for _ in 0..<3 {
            token = try await pins.client.run(PinsClient.refresh(token.refresh_token))
            #expect(seen.insert(token.access_token).inserted)
            #expect(token.scope == "read")
            #expect(try await pins.run(.signedInUser, token).user_name == "ann")
        }
    }

    @Test("a refresh token that is used twice ends its family, and no other")
    func reuse() async throws {
        let (first, other) = (try await pins.signIn(), try await pins.signIn())
        let second = try await pins.client.run(PinsClient.refresh(first.refresh_token))
        let error = await pins.client.failure(of: PinsClient.refresh(first.refresh_token))
        #expect(error?.status == 400)
        #expect(error?.code == "invalid_grant")
        #expect(await pins.client.failure(of: PinsClient.refresh(second.refresh_token))?.code == "invalid_grant")
        for token in [first, second] { #expect(await pins.failure(of: .signedInUser, token)?.code == "invalid_token") }
        #expect(try await pins.run(.signedInUser, other).user_name == "ann")
    }

    @Test("of fifty concurrent uses of one refresh token, one succeeds")
    func race() async throws {
        let token = try await pins.signIn()
        let served = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 {
                group.addTask { await pins.client.failure(of: PinsClient.refresh(token.refresh_token)) == nil }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(served == 1)
    }

    @Test("a client's own token can read, has no user, and cannot be refreshed")
    func clientCredentials() async throws {
        let token = try await pins.client.run(PinsClient.grant("client_credentials"))
        #expect(token.refresh_token == nil)
        #expect(try await pins.run(Endpoint<PinsUser>.get("users/2"), token).user_name == "ben")
        #expect(await pins.failure(of: .signedInUser, token)?.code == "insufficient_scope")
        #expect(await pins.failure(of: Endpoint<NoContent>.put("users/2/follow"), token)?.status == 403)
    }

    @Test("the client may send its secret in a header, escaped before it is encoded")
    func basic() async throws {
        let header = { (text: String) -> HTTPHeaders in
            ["Authorization": "Basic \(Data(text.utf8).base64EncodedString())"]
        }
        let form: QueryItems = ["grant_type": "password", "username": "cleo", "password": ExampleData.cleo.password]
        #expect(try await pins.client.run(PinsClient.grant(form, header("pins-app:pins-secret"))).expires_in == 30)
        #expect(try await pins.client.run(PinsClient.grant(form, header("pins%2Dapp:pins%2dsecret"))).expires_in == 30)
        for wrong in ["pins-app:wrong", "pins-app", ":", "x:pins-secret"] {
            let error = await pins.client.failure(of: PinsClient.grant(form, header(wrong)))
            #expect(error?.status == 401)
            #expect(error?.code == "invalid_client")
        }
        var both = form
        both.add("client_secret", ExampleData.clientSecret)
        let error = await pins.client.failure(of: PinsClient.grant(both, header("pins-app:pins-secret")))
        #expect(error?.code == "invalid_request")
    }

    @Test(
        "errors of a grant are reported as OAuth specifies",
        arguments: [
            ("password", ["username": "ann", "password": "wrong"], "invalid_grant"),
            ("password", ["username": "ann"], "invalid_request"),
            ("password", ["username": "ann", "password": "correct horse", "scope": "admin"], "invalid_scope"),
            ("password", ["username": ["ann", "ben"], "password": "correct horse"], "invalid_request"),
            ("refresh_token", [:], "invalid_request"), ("refresh_token", ["refresh_token": "rt-x"], "invalid_grant"),
            ("implicit", [:], "unsupported_grant_type"),
        ] as [(String, QueryItems, String)])
    func problems(type: String, form: QueryItems, code: String) async throws {
        let error = await pins.client.failure(of: PinsClient.grant(type, form))
        #expect(error?.status == 400)
        #expect(error?.code == code)
    }

    @Test("a refresh cannot ask for more scopes than were granted, and trying does not use it up")
    func scopes() async throws {
        let token = try await pins.signIn(scope: "read")
        let more = PinsClient.grant("refresh_token", ["refresh_token": token.refresh_token, "scope": "read write"])
        #expect(await pins.client.failure(of: more)?.code == "invalid_scope")
        #expect(try await pins.client.run(PinsClient.refresh(token.refresh_token)).scope == "read")
        #expect(await pins.failure(of: Endpoint<NoContent>.put("users/5/follow"), token)?.code == "insufficient_scope")
    }

    @Test("a grant that is no form is refused")
    func json() async throws {
        let endpoint = Endpoint<TokenAnswer>.post("oauth/access_token", body: .json(["grant_type": "password"]))
        #expect(await pins.client.failure(of: endpoint)?.localizedDescription == "The parameters must be a form")
    }

    @Test("the end of a session invalidates both of its tokens")
    func ended() async throws {
        let token = try await pins.signIn()
        server.endSessions()
        #expect(await pins.failure(of: .signedInUser, token)?.status == 401)
        #expect(await pins.client.failure(of: PinsClient.refresh(token.refresh_token))?.code == "invalid_grant")
        #expect(try await pins.run(.signedInUser, pins.signIn()).user_name == "ann")
    }

    @Test("a token store with the library's own refresh continues over many lifetimes")
    func store() async throws {
        let first = try await pins.signIn()
        let tokens = TokenStore(leeway: .zero, time: clock) { [pins, clock] old in
            let answer = try await pins.client.run(PinsClient.refresh(old.refreshToken))
            return Token(
                accessToken: answer.access_token, refreshToken: answer.refresh_token,
                expiry: clock.date.addingTimeInterval(30))
        }
        await tokens.signIn(Token(accessToken: first.access_token, refreshToken: first.refresh_token))
        let client = plainClient(server.pinsURL) { $0.tokens = tokens }
        for _ in 0..<4 {
            #expect(try await client.run(.signedInUser).user_name == "ann")
            await clock.advance(by: .seconds(31))
        }
        #expect(server.received.filter { $0.path == "/pins/oauth/access_token" }.count == 4)
    }
}
