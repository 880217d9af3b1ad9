import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Redirects: no secret goes to another origin")
struct RedirectSecretsTests {
    /// Every header that is not known to be harmless. `Range` is harmless, but the client marks it as secret.
    private static let secrets = [
        "Authorization", "Cookie", "Proxy-Authorization", "X-Partner-Key", "X-Api-Key", "X-Auth-Token",
        "X-Functions-Key", "Ocp-Apim-Subscription-Key", "X-Auth-Key", "DPoP", "X-Session", "X-Plain", "Host", "Referer",
        "Origin", "Forwarded", "X-Forwarded-For", "From", "Via", "Range", "Accept-Token",
    ]
    private static let harmless = [
        "Accept-Language", "Accept-Charset", "Accept-Encoding", "User-Agent", "Cache-Control", "Content-Type",
        "Content-Language", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range",
        "Prefer", "idempotency-key",
    ]

    private func headers(after hops: [(String, String)], last: String) async throws -> [HTTPHeaders] {
        let network = scripted()
        for (url, location) in hops { network.on(.get, url) { .status(307, headers: ["Location": location]) } }
        network.on(.get, last) { .json("7") }
        let client = testClient(network, TestClock()) { $0.secretNames = ["x-partner-key", "range"] }
        var endpoint = Endpoint<Int>.get("a", headers: ["x-partner-key": "second"])
        for name in Self.secrets + Self.harmless { endpoint.headers.add(name: name, value: "secret") }
        #expect(try await client.run(endpoint) == 7)
        try network.verify()
        return network.sent.map(\.request.headers)
    }

    @Test(
        "C50: a new scheme, host or port drops all headers but the harmless ones",
        arguments: [
            "https://other.test/b", "https://www.api.test/b", "https://api.test:8443/b", "//other.test/b",
        ])
    func dropped(location: String) async throws {
        let url = location.hasPrefix("//") ? "https:" + location : location
        let sent = try await headers(after: [("https://api.test/a", location)], last: url)
        for name in Self.secrets {
            #expect(sent[0][name] != nil)
            #expect(sent[1].values(name).isEmpty, "\(name) went to \(location)")
        }
        for name in Self.harmless { #expect(sent[1][name] == "secret", "\(name) did not go to \(location)") }
        #expect(sent[1]["Accept"] == "application/json, text/json")
    }

    @Test("C50: the same origin keeps them", arguments: ["/b", "https://API.test:443/b"])
    func kept(location: String) async throws {
        let sent = try await headers(after: [("https://api.test/a", location)], last: "https://api.test/b")
        for name in Self.secrets { #expect(sent[1].values(name) == sent[0].values(name)) }
    }

    @Test("C50: on the way back they are not restored")
    func wayBack() async throws {
        let sent = try await headers(
            after: [("https://api.test/a", "https://other.test/b"), ("https://other.test/b", "https://api.test/c")],
            last: "https://api.test/c")
        for name in Self.secrets {
            #expect(sent[1].values(name).isEmpty)
            #expect(sent[2].values(name).isEmpty)
        }
        for name in Self.harmless { #expect(sent[2][name] == "secret") }
    }

    @Test("C50: http to https is another origin too")
    func scheme() async throws {
        let network = scripted()
        network.on(.get, "http://localhost/a") { .status(307, headers: ["Location": "https://localhost/b"]) }
        network.on(.get, "https://localhost/b") { .json("7") }
        let client = testClient(network, TestClock()) {
            $0.environment = ServerEnvironment(name: "t", baseURL: "http://localhost")
        }
        #expect(try await client.run(Endpoint<Int>.get("a", headers: ["Authorization": "secret"])) == 7)
        #expect(network.sent.map { $0.request.headers["Authorization"] } == ["secret", nil])
    }

    @Test("C50: the store's token is not sent to another origin, and the response from there triggers no refresh")
    func token() async throws {
        let network = scripted()
        network.on(.get, "https://api.test/a") { .status(302, headers: ["Location": "https://other.test/b"]) }
        network.on(.get, "https://other.test/b") { .status(401) }
        let clock = TestClock()
        let store = TokenStore(time: clock) { _ in
            Issue.record("refreshed")
            return Token(accessToken: "new")
        }
        await store.signIn(Token(accessToken: "old"))
        let client = testClient(network, clock) { $0.tokens = store }
        let error = try await #require(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("a")) }
        #expect(error.status == 401)
        #expect(network.sent.map { $0.request.headers["Authorization"] } == ["Bearer old", nil])
    }

    @Test("C50: a 401 on the way back says nothing about the token, which the last hop did not carry")
    func tokenOnTheWayBack() async throws {
        let network = scripted()
        network.on(.get, "https://api.test/a") { .status(302, headers: ["Location": "https://other.test/b"]) }
        network.on(.get, "https://other.test/b") { .status(302, headers: ["Location": "https://api.test/c"]) }
        network.on(.get, "https://api.test/c") { .status(401) }
        let clock = TestClock()
        let store = TokenStore(time: clock) { _ in
            Issue.record("refreshed")
            return Token(accessToken: "new")
        }
        await store.signIn(Token(accessToken: "old"))
        let client = testClient(network, clock) { $0.tokens = store }
        let error = try await #require(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("a")) }
        #expect(error.status == 401)
        #expect(network.sent.map { $0.request.headers["Authorization"] } == ["Bearer old", nil, nil])
    }

    @Test("C90: a password in a redirected URL is not shown when the next response repeats it")
    func passwordOfTheFirstRequest() async throws {
        let network = scripted()
        network.on(.post, "/login") { .status(303, headers: ["Location": "/welcome"]) }
        network.on(.get, "/welcome") { .json(#"{"message": "the word open-sesame-17 is too old"}"#, status: 403) }
        let client = testClient(network, TestClock())
        let error = try await #require(throws: ServiceError.self) {
            try await client.run(Endpoint<Int>.post("login", body: .json(["password": "open-sesame-17"])))
        }
        #expect(error.status == 403)
        #expect(error.localizedDescription.hasPrefix("the word"))
        #expect(!error.description.contains("open-sesame"))
    }
}
