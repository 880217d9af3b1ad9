import Errand
import ErrandTestSupport
import ErrandTesting
import ExampleServer
import ExampleServices
import Foundation
import Testing

@Suite("Pins: signing in on the server's page", .timeLimit(.minutes(10)))
struct PinsBrowserTests {
    private let clock = TestClock()
    private let server: ExampleServer
    private let ann = ExampleData.ann

    init() throws {
        server = try patientServer { [clock] in $0.time = clock }
    }

    private func service(_ persistence: any TokenPersistence = .memory) -> Pins.Service {
        Pins.Service(
            ServerEnvironment(name: "pins", baseURL: server.pinsURL), clientID: ExampleData.clientID,
            clientSecret: ExampleData.clientSecret, persistence: persistence
        ) { $0.rateLimit = .unlimited }
    }

    /// A browser whose user enters that on the page.
    private func browser(_ form: QueryItems) -> ScriptedBrowser {
        let visitor = plainClient(server.pinsURL) { $0.redirects = .never }
        return ScriptedBrowser(redirectURI: ExampleData.redirectURI) { address in
            let page = try await visitor.run(Endpoint<String>.get(url: address))
            #expect(page.contains(#"name="password""#) && !page.contains("code_challenge"))
            let reply = try await visitor.reply(
                to: Endpoint<Data>(.post, url: address, body: .form(form)).accepting(302))
            return try #require(reply.headers["Location"])
        }
    }

    private var credentials: QueryItems { ["username": ann.userName, "password": ann.password] }

    @Test("the app gets the user and a session of which it has not seen the password; another user replaces it")
    func signsIn() async throws {
        let service = service()
        let account = try await service.signIn(using: browser(credentials))
        #expect(account.user.userID == ann.id)
        #expect(account.token.scopes == ["read", "write"] && account.token.refreshToken != nil)
        #expect(try await service.user() == account.user)
        let ben = ExampleData.ben
        let other = browser(["username": ben.userName, "password": ben.password])
        #expect(try await service.signIn(using: other).user.userID == ben.id)
        #expect(try await service.user().userID == ben.id)
        #expect(!server.received.contains { String(decoding: $0.body, as: UTF8.self).contains("grant_type=password") })
    }

    @Test("after a restart the app knows whose session it has without a request, until the user signs out")
    func restarted() async throws {
        let scratch = try Scratch()
        let persistence = FileTokenPersistence.file(scratch.path("session"))
        let first = service(persistence)
        #expect(try await first.savedUser == nil)
        let account = try await first.signIn(using: browser(credentials))
        await first.shutdown()
        let second = service(persistence)
        let requests = server.received.count
        #expect(try await second.savedUser == account.user)
        #expect(await second.tokens.current == account.token)
        #expect(server.received.count == requests)
        await second.signOut()
        await second.shutdown()
        #expect(try await service(persistence).savedUser == nil)
    }

    @Test("a user who refuses, and a client that was shut down while the page was open, begin no session")
    func nobody() async throws {
        let service = service()
        let error = await failure { () async throws(ServiceError) in
            try await service.signIn(using: browser(["refuse": "yes"]))
        }
        #expect(error?.code == "access_denied")
        #expect(error?.isWrongPassword == false)
        let late = ScriptedBrowser(redirectURI: ExampleData.redirectURI) { [credentials, server] address in
            await service.shutdown()
            let visitor = plainClient(server.pinsURL) { $0.redirects = .never }
            let reply = try await visitor.reply(
                to: Endpoint<Data>(.post, url: address, body: .form(credentials)).accepting(302))
            return try #require(reply.headers["Location"])
        }
        let end = await failure { () async throws(ServiceError) in try await service.signIn(using: late) }
        #expect(end == .cancelled)
        #expect(await !service.tokens.isSignedIn)
    }

    @Test("the server leads only to registered addresses, and only with PKCE; a wrong password shows the page again")
    func page() async throws {
        let visitor = plainClient(server.pinsURL) { $0.redirects = .never }
        func open(_ changes: [String: String?], entering form: QueryItems? = nil) async throws -> Reply<Data> {
            var query = [
                "response_type": "code", "client_id": ExampleData.clientID, "redirect_uri": ExampleData.redirectURI,
                "state": "s&1", "code_challenge": "x", "code_challenge_method": "S256",
            ]
            for (name, value) in changes { query[name] = value }
            var endpoint = Endpoint<Data>(form == nil ? .get : .post, "oauth/authorize", body: form.map { .form($0) })
            for (name, value) in query { endpoint.query.add(name, value) }
            return try await visitor.reply(to: endpoint.accepting(302, 400, 403))
        }
        for address in ["https://evil.test/", "http://127.0.0.1.evil.test/", "http://127.0.0.1:1/?x=y"] {
            let reply = try await open(["redirect_uri": address], entering: credentials)
            #expect(reply.status == 400 && reply.headers["Location"] == nil)
        }
        #expect(try await open(["client_id": "other"]).status == 400)
        for (changes, error) in [
            (["code_challenge_method": "plain"], "invalid_request"), (["code_challenge": nil], "invalid_request"),
            (["response_type": "token"], "unsupported_response_type"), (["scope": "admin"], "invalid_scope"),
        ] as [([String: String?], String)] {
            let location = try #require(try await open(changes).headers["Location"])
            #expect(location.contains("error=\(error)") && location.contains("state=s%261"))
        }
        let wrong = try await open([:], entering: ["username": ann.userName, "password": "x"])
        #expect(wrong.status == 403 && String(decoding: wrong.value, as: UTF8.self).contains("<form"))
        #expect(try await open(["redirect_uri": "http://127.0.0.1:5555/back"], entering: credentials).status == 302)
    }

    @Test(
        "a code is for one minute, one address and one verifier, and a second use ends the session",
        arguments: ["expired", "address", "verifier", "second"])
    func codes(fault: String) async throws {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        let (visitor, pins) = (plainClient(server.pinsURL) { $0.redirects = .never }, PinsClient(server))
        let page = Endpoint<Data>(
            .post, "oauth/authorize",
            query: [
                "response_type": "code", "client_id": ExampleData.clientID, "redirect_uri": ExampleData.redirectURI,
                "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code_challenge_method": "S256",
            ], body: .form(credentials))
        let location = try await visitor.reply(to: page.accepting(302)).headers["Location"]
        let code = try #require(URLComponents(string: location ?? "")?.queryItems?.first { $0.name == "code" }?.value)
        func exchange() -> Endpoint<TokenAnswer> {
            PinsClient.grant(
                "authorization_code",
                [
                    "code": code, "redirect_uri": fault == "address" ? "http://127.0.0.1:1/" : ExampleData.redirectURI,
                    "code_verifier": fault == "verifier" ? verifier + "x" : verifier,
                ])
        }
        if fault == "expired" { await clock.advance(by: .seconds(60)) }
        guard fault == "second" else {
            #expect(await pins.client.failure(of: exchange())?.code == "invalid_grant")
            return
        }
        let token = try await pins.client.run(exchange())
        #expect(try await pins.run(.signedInUser, token).user_id == ann.id)
        #expect(await pins.client.failure(of: exchange())?.code == "invalid_grant")
        #expect(await pins.failure(of: .signedInUser, token)?.status == 401)
    }
}
