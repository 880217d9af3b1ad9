import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Synchronization
import Testing

@Suite("Secrets: in no output")
struct SecretsTests {
    private struct Login: Encodable, Sendable { var user = "ann", password = Planted.password }

    private let token = Token(accessToken: Planted.access, refreshToken: Planted.refresh, scopes: ["read"])

    private func endpoint() -> Endpoint<[Int]> {
        .post(
            "login", query: ["api_key": Planted.apiKey, "page": 1],
            headers: ["X-API-Key": Planted.apiKey, "Proxy-Authorization": Planted.basic, "X-Partner": Planted.partner],
            body: .json(Login()))
    }

    private func configure(_ configuration: inout Configuration) {
        configuration.headers = ["X-Api-Key": Planted.apiKey, "Cookie": "sid=\(Planted.password)"]
        configuration.parameters = ["api_key": Planted.apiKey, "secret": Planted.password]
        configuration.secretNames = ["X-Partner"]
        configuration.retry = .never
    }

    @Test("C90: a reply prints its value, its status and its headers, and no secret")
    func reply() async throws {
        let network = scripted()
        let headers: HTTPHeaders = ["Set-Cookie": "sid=\(Planted.password)", "X-Region": "eu"]
        network.onAny { .json("[7]", status: 201, headers: headers) }
        let tokens = TokenStore()
        await tokens.signIn(token)
        let client = testClient(network, TestClock()) { configuration in
            configure(&configuration)
            configuration.tokens = tokens
        }
        let text = printed(try await client.reply(to: endpoint()))
        for part in ["[7]", "status: 201", "X-Region: eu", "https://api.test/login", "attempts: 1"] {
            #expect(text.contains(part), "\(part) is missing in \(text)")
        }
        expectNoSecret(text, "a reply")
    }

    @Test("C90: values print without their secrets")
    func values() throws {
        let url = try HTTPURL("https://api.test/a?access_token=\(Planted.access)&key=\(Planted.apiKey)&page=1")
        let headers: HTTPHeaders = ["Authorization": Planted.basic, "Cookie": Planted.access]
        let session = SavedSession(id: UUID(), token: token, received: Date())
        let secretQuery: QueryItems = ["password": Planted.password, "page": 1]
        let values: [(String, Any)] = [
            ("token", token), ("tokens", [token]), ("optional token", Optional(token) as Any), ("session", session),
            ("url", url), ("headers", headers), ("field", headers.fields[0]), ("fields", headers.fields),
            ("query", secretQuery), ("items", secretQuery.items), ("item", secretQuery.items[0]),
            ("parameters", ["password": Planted.password] as Parameters),
            ("json", RequestBody.json(Login())), ("form", RequestBody.form(secretQuery)),
            ("data", RequestBody.data(Data(Planted.password.utf8), contentType: "text/plain")),
            ("body", HTTPBody.bytes(Data(Planted.password.utf8))),
            (
                "request",
                HTTPRequest(
                    method: .get, url: url, headers: headers, body: .bytes(Data(Planted.password.utf8)))
            ),
            (
                "response",
                HTTPResponse(
                    status: 200, headers: ["Set-Cookie": Planted.access], body: .bytes(Data(Planted.access.utf8)))
            ),
            ("environment", ServerEnvironment(name: "test", baseURL: "https://me:\(Planted.password)@api.test")),
        ]
        for (name, value) in values { expectNoSecret(printed(value), name) }
        #expect(printed(url).contains("page=1"))
        #expect(printed(token).contains("read"))
    }

    @Test(
        "C90: a password in a base URL is shown nowhere, however the URL is broken",
        arguments: [
            "https://me:\(Planted.password)@api.test/a", "https://me:x#\(Planted.password)@api.test/",
            "https://me:x/\(Planted.password)@api.test/", "https://me:x?\(Planted.password)@api.test/",
            "me:\(Planted.password)@api.test", "https:me:\(Planted.password)@api.test",
            "postgres://me:x#\(Planted.password)@api.test",
        ])
    func baseURL(text: String) throws {
        expectNoSecret(printed(ServerEnvironment(name: "test", baseURL: text)), "environment")
        let error = try #require(throws: ServiceError.self) { try HTTPURL(text) }
        expectNoSecret(printed(error), "error")
        #expect(error.description.contains("api.test"))
    }

    @Test(
        "an @ that belongs to no password hides nothing",
        arguments: ["https://api.test:8443/@scope/a?mail=me@api.test", "/a@b", "http://[::1]:80/@x"])
    func harmlessAt(text: String) {
        #expect(ServerEnvironment(name: "test", baseURL: text).description == "test (\(text))")
    }

    @Test("C90: endpoints, with a route or parameters too, print without their secrets")
    func endpoints() {
        var plain = endpoint()
        plain.headers["X-Partner"] = nil
        expectNoSecret(printed(plain), "endpoint")
        expectNoSecret(
            printed(Endpoint<Int>(.get, "x", parameters: ["api_key": Planted.apiKey])), "endpoint of parameters")
        #expect(printed(plain).contains("page=1"))
    }

    @Test("C90: the client, its configuration, its token store and its persistence print without secrets")
    func client() async {
        let clock = TestClock()
        let persistence = MemoryTokenPersistence()
        let store = TokenStore(persistence: persistence, time: clock) { $0 }
        await store.signIn(token)
        let client = testClient(ScriptedTransport(), clock) {
            configure(&$0)
            $0.tokens = store
        }
        for (name, value) in [
            ("client", client), ("configuration", client.configuration), ("store", store),
            ("persistence", persistence), ("limiter", client.limiter),
        ] as [(String, Any)] {
            expectNoSecret(printed(value), name)
        }
        #expect("\(client)".contains("https://api.test"))
    }

    @Test("C90: the cURL text masks them and the headers that are marked as secret, and does not show the body")
    func curl() async {
        let clock = TestClock()
        let store = TokenStore(time: clock) { $0 }
        await store.signIn(token)
        let client = testClient(ScriptedTransport(), clock) {
            configure(&$0)
            $0.tokens = store
        }
        let text = client.explain(endpoint())
        expectNoSecret(text, "cURL text")
        #expect(text.contains("X-Partner: ‹redacted›"))
        #expect(text.contains("-H 'Authorization: ‹redacted›'"))
        #expect(text.contains("page=1"))
    }

    static let statuses = [400, 401, 403, 422, 429, 500, 503, 200, 302]

    /// Bodies that echo what was sent, or contain a member whose name marks a secret.
    static let echoes = [
        "{\"message\":\"bad \(Planted.sent.joined(separator: ", "))\",\"code\":\"\(Planted.access)\"}",
        "{\"error\":\"no\",\"error_description\":\"\(Planted.apiKey) \(Planted.password)\"}",
        "{\"errors\":{\"\(Planted.sent.joined(separator: " "))\":[\"no\"]}}",
        "{\"errors\":{\"password\":[\"\(Planted.password) is short\"],\"api_key\":\"\(Planted.apiKey)\"}}",
        "[\"\(Planted.sent.joined(separator: "\",\""))\"]",
        "{\"n\":\"say \\\"x\",\"password\":\"\(Planted.password)\",\"refresh_token\":\"\(Planted.refresh)\"}",
        "{\"credentials\":{\"user\":\"ann\",\"pin\":[1,\"\(Planted.refresh)\"]},\"access\":\"\(Planted.access)\"}",
        "{\"log\":\"{\\\"refresh_token\\\":\\\"a,\(Planted.refresh)\\\",\\\"n\\\":1}\"}",
        "<html>Authorization: Bearer \(Planted.access) \(Planted.basic) \(Planted.partner)</html>",
    ]

    @Test(
        "C90: a response that echoes secrets brings them into no error, event or log line",
        arguments: statuses, echoes)
    func echoed(status: Int, body: String) async throws {
        let network = scripted()
        let location = "ftp://x/?api_key=\(Planted.apiKey)#access_token=\(Planted.access)"
        network.onAny { ScriptedReply.status(status, headers: ["Location": location], body: body).always }
        let clock = TestClock()
        let store = TokenStore(time: clock) { _ in throw ServiceError.noInternetConnection }
        await store.signIn(token)
        let client = testClient(network, clock) {
            configure(&$0)
            $0.tokens = store
        }
        let events = client.diagnostics
        let endpoint = endpoint()
        try await clock.run {
            let error = try await #require(throws: ServiceError.self) { try await client.run(endpoint) }
            expectNoSecret(printed(error) + error.localizedDescription, "error")
            await client.shutdown()
            for await event in events {
                expectNoSecret(printed(event) + LogFormatter().line(for: event), "event")
            }
        }
    }
}

@Suite("Secrets: what a server repeats")
struct RepeatedSecretsTests {
    @Test("C90: a secret longer than a snippet is not shown in part, wherever it is cut", arguments: 0..<40)
    func long(step: Int) async throws {
        let access = "secret-" + String(repeating: "0123456789", count: 200)
        let clock = TestClock()
        let store = TokenStore(time: clock) { $0 }
        await store.signIn(Token(accessToken: access))
        let network = scripted()
        let padding = String(repeating: "x", count: step * 50)
        network.onAny { .status(200, body: "{\"\(padding)\":\"\(access)\",\"again\":\"\(access)\"") }
        let client = testClient(network, clock) { $0.tokens = store }
        let error = try await #require(throws: ServiceError.self) { try await client.run(Endpoint<[Int]>.get("x")) }
        guard case .decodingFailed(let failure) = error else { throw error }
        #expect(!failure.snippet.contains("secret-"))
        #expect(!failure.snippet.contains("0123456789"))
        #expect(failure.snippet.hasPrefix("{\"x") || step == 0)
        #expect(failure.snippet.count <= 201)
    }

    @Test("C90: a refused refresh that repeats the refresh token brings it into no error and no event")
    func refresh() async throws {
        let clock = TestClock()
        let network = scripted()
        network.on(.post, "/token") {
            .json(#"{"error":"invalid_grant","error_description":"no \#(Planted.refresh)"}"#, status: 400)
        }
        let login = testClient(network, clock)
        let store = TokenStore(time: clock) { old in
            _ = try await login.run(
                Endpoint<NoContent>(.post, "token", parameters: ["refresh_token": old.refreshToken]))
            return old
        }
        await store.signIn(Token(accessToken: Planted.access, refreshToken: Planted.refresh, expiry: clock.date))
        let events = store.events
        let client = testClient(scripted(), clock) { $0.tokens = store }
        let error = try await clock.run {
            try await #require(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
        }
        #expect(error.status == 400)
        expectNoSecret(printed(error), "error")
        #expect(error.description.contains("no ‹redacted›"))
        var iterator = events.makeAsyncIterator()
        expectNoSecret(printed(try #require(await iterator.next())), "event")
    }

    @Test(
        "C90: a password that was sent is hidden in whatever form it comes back",
        arguments: [
            RequestBody.json(["password": "a\"b\\é7777"]), .form(["password": "a\"b\\é7777"]),
        ])
    func forms(body: RequestBody) async throws {
        let network = scripted()
        network.onAny { .json(#"{"message":"a\"b\\é7777 is too short"}"#, status: 422) }
        let client = testClient(network, TestClock())
        let error = try await #require(throws: ServiceError.self) {
            try await client.run(Endpoint<Int>.post("x", body: body))
        }
        #expect(error.localizedDescription == "‹redacted› is too short")
    }

    @Test("C90: a header that the client marks as secret is hidden in a response too")
    func markedInAnswers() async throws {
        let headers: HTTPHeaders = ["Content-Type": "application/json", "x-partner": Planted.partner]
        let network = scripted()
        network.onAny {
            ScriptedReply.json("1", headers: headers)
            ScriptedReply.status(404, headers: headers)
            ScriptedReply.status(302, headers: headers)
        }
        let client = testClient(network, TestClock()) { $0.secretNames = ["X-Partner"] }
        let endpoint = Endpoint<Int>.get("x")
        let reply = try await client.reply(to: endpoint)
        expectNoSecret(printed(reply), "reply")
        #expect(reply.headers == headers && Set([reply.headers]) == [headers])
        for _ in 0..<2 {
            let error = try await #require(throws: ServiceError.self) { try await client.run(endpoint) }
            expectNoSecret(printed(error), "error")
            guard case .rejected(let rejection) = error else { throw error }
            #expect(rejection.headers["X-Partner"] == Planted.partner)
        }
    }

    @Test("C90: a secret that comes back as the name of a member is not in the path of a failure")
    func names() async throws {
        let network = scripted()
        network.onAny { .json(#"{"\#(Planted.password)":{"x":"no"}}"#) }
        let client = testClient(network, TestClock())
        let error = try await #require(throws: ServiceError.self) {
            try await client.run(
                Endpoint<[String: [String: Int]]>.post("x", body: .form(["password": Planted.password])))
        }
        guard case .decodingFailed(let failure) = error else { throw error }
        expectNoSecret(printed(error), "error")
        #expect(failure.path == "‹redacted›.x")
    }

    @Test("other values are shown as they are")
    func harmless() async throws {
        let body = #"{"message":"The bearer token of \"ann\" is missing: page 1, sort name"}"#
        let network = scripted()
        network.onAny { .json(body, status: 400) }
        let client = testClient(network, TestClock())
        let endpoint = Endpoint<Int>.post("x", query: ["page": 1], body: .json(["sort": "name"]))
        let error = try await #require(throws: ServiceError.self) { try await client.run(endpoint) }
        #expect(error.localizedDescription == #"The bearer token of "ann" is missing: page 1, sort name"#)
    }
}
