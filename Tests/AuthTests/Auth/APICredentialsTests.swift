import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Credentials that do not change")
struct APICredentialsTests {
    private static let secret = "plain-key-77f1"

    private func client(
        _ network: ScriptedTransport, _ credentials: APICredentials,
        _ configure: (inout Configuration) -> Void = { _ in }
    ) -> APIClient {
        testClient(network) {
            $0.credentials = credentials
            configure(&$0)
        }
    }

    @Test("each kind stands where it belongs, and once")
    func places() async throws {
        let cases: [(APICredentials, String?, String?)] = [
            (.basic(user: "ann", password: "p:w"), "Basic YW5uOnA6dw==", nil), (.bearer("t"), "Bearer t", nil),
            (.apiKey("X-Thing", "k"), nil, "k"),
        ]
        for (credentials, authorization, thing) in cases {
            let network = scripted()
            network.on(.get, "/me", .status(204).always)
            let client = client(network, credentials) { $0.headers = ["X-Thing": "common", "X-Other": "o"] }
            try await client.run(Endpoint<NoContent>.get("me"))
            try await client.run(Endpoint<NoContent>.get("me").header("X-Thing", "own"))
            try await client.run(Endpoint<NoContent>.get("me").authentication(.none))
            let headers = network.sent.map(\.request.headers)
            #expect(headers.map { $0["Authorization"] } == [authorization, authorization, nil])
            #expect(headers.map { $0.values("X-Thing") } == [[thing ?? "common"], ["own"], ["common"]])
        }
    }

    @Test("a key in the query replaces a common parameter and gives way to the endpoint's own")
    func query() async throws {
        let network = scripted()
        network.onAny { .status(204).always }
        let client = client(network, .apiKey(query: "key", "a b")) { $0.parameters = ["lang": "en", "key": "common"] }
        try await client.run(Endpoint<NoContent>.get("me"))
        try await client.run(Endpoint<NoContent>.get("me", query: ["q": 1]))
        try await client.run(Endpoint<NoContent>.get("me", query: ["key": "own"]))
        try await client.run(Endpoint<NoContent>.get(url: "/me?key=old&q=2"))
        try await client.run(Endpoint<NoContent>(.post, "me", body: .json([1])).authentication(.none))
        let plain = self.client(network, .apiKey(query: "key", "k"))
        try await plain.run(Endpoint<NoContent>.get("me"))
        #expect(
            network.sent.map(\.request.url.query) == [
                "lang=en&key=a%20b", "q=1&lang=en&key=a%20b", "key=own&lang=en", "q=2&lang=en&key=a%20b",
                "lang=en&key=common", "key=k",
            ])
    }

    @Test(
        "S10: a secret is in no description, event, error, explanation or log line, whatever its name",
        arguments: [
            APICredentials.basic(user: "ann", password: secret), .bearer(secret), .apiKey("X-Thing", secret),
            .apiKey(query: "thing", secret),
        ])
    func secrets(credentials: APICredentials) async throws {
        let network = scripted()
        network.onAny { request in
            let echo = "\(request.url.absoluteString) \(request.headers.map(\.value)) \(Self.secret)"
            let body = try JSONEncoder().encode(["message": echo, "thing": Self.secret])
            return .status(400, headers: ["X-Thing": Self.secret], body: body)
        }
        let lines = Noted<[String]>([])
        let client = client(network, credentials) {
            $0.observe = { event in lines.update { $0.append(printed(event) + LogFormatter().line(for: event)) } }
        }
        let endpoint = Endpoint<NoContent>.get("me")
        let error = await failure { () async throws(ServiceError) in try await client.run(endpoint) }
        #expect(error?.status == 400)
        let text =
            printed(error as Any) + lines.value.joined() + printed(credentials) + printed(client.configuration)
            + printed(client) + client.explain(endpoint) + network.sent.map { printed($0.request) }.joined()
        for secret in [Self.secret, Data("ann:\(Self.secret)".utf8).base64EncodedString()] {
            #expect(!text.contains(secret), "\(text)")
        }
        #expect(!lines.value.isEmpty)
    }

    @Test("they are dropped when a redirect leaves the origin, and kept when it does not")
    func redirects() async throws {
        for credentials in [APICredentials.bearer("t"), .apiKey("Prefer", "t")] {
            let network = scripted()
            network.on(.get, "https://api.test/a", .status(302, headers: ["Location": "/b"]))
            network.on(.get, "https://api.test/b", .status(302, headers: ["Location": "https://other.test/c"]))
            network.on(.get, "https://other.test/c", .status(204))
            try await client(network, credentials).run(Endpoint<NoContent>.get("a"))
            let sent = network.sent.map { $0.request.headers["Authorization"] ?? $0.request.headers["Prefer"] }
            #expect(sent.map { $0?.hasSuffix("t") } == [true, true, nil])
        }
    }

    @Test(
        "over plain http to another machine nothing is sent, even if the client allows that",
        arguments: [APICredentials.bearer("t"), .apiKey("X-Thing", "k"), .apiKey(query: "key", "k")])
    func cleartext(credentials: APICredentials) async throws {
        let network = scripted()
        network.onAny { .status(204).always }
        func client(_ url: String) -> APIClient {
            self.client(network, credentials) {
                $0.environment = ServerEnvironment(name: "test", baseURL: url)
                $0.allowsCleartext = true
            }
        }
        let exposed = client("http://api.test")
        let error = await failure { () async throws(ServiceError) in
            try await exposed.run(Endpoint<NoContent>.get("me"))
        }
        guard case .invalidRequest(let invalid) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(invalid.subject == .cleartext)
        #expect(network.sent.isEmpty)
        try await exposed.run(Endpoint<NoContent>.get("me").authentication(.none))
        try await client("http://127.0.0.1").run(Endpoint<NoContent>.get("me"))
    }

    @Test("what cannot be sent is named, and nothing is sent")
    func problems() async throws {
        let cases: [(APICredentials, String)] = [
            (.basic(user: "", password: ""), "empty"), (.basic(user: "a:b", password: "p"), "colon"),
            (.bearer(""), "empty"), (.apiKey("", "k"), "empty"), (.apiKey("X", ""), "empty"),
            (.apiKey(query: "", "k"), "empty"), (.apiKey("X Y", "k"), "X Y"), (.apiKey("X", "k\r\nY: z"), "X"),
        ]
        for (credentials, word) in cases {
            let network = scripted()
            let client = client(network, credentials)
            let error = await failure { () async throws(ServiceError) in
                try await client.run(Endpoint<NoContent>.get("me"))
            }
            guard case .invalidRequest(let invalid) = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(invalid.reason.contains(word) && !invalid.reason.contains("z"), "\(invalid.reason)")
            #expect(network.sent.isEmpty)
        }
        let both = client(scripted(), .bearer("t")) { $0.tokens = TokenStore { $0 } }
        let error = await failure { () async throws(ServiceError) in try await both.run(Endpoint<NoContent>.get("me")) }
        #expect("\(String(describing: error))".contains("`tokens`"))
    }
}
