import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

enum Order: String, QueryValue {
    case newest, oldest
}

enum UserRoute: EndpointConvertible {
    case user(User.ID)
    case friends(of: User.ID)

    var path: EndpointPath {
        switch self {
        case .user(let id): "users/\(id)"
        case .friends(let id): "users/\(id)/friends"
        }
    }
}

extension ServerEnvironment {
    static let live = ServerEnvironment(name: "live", baseURL: "https://api.example.com")
    static let trial = ServerEnvironment(name: "trial", baseURL: "https://trial.example.com")
}

func accepts(_ body: Data, header: String, secret: SigningSecret) -> Bool {
    // X-Hub-Signature-256: sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17
    header.hasPrefix("sha256=") && secret.accepts(String(header.dropFirst(7)), of: body)
}

func accepts(_ body: Data, signature: String, timestamp: Int, secret: SigningSecret) -> Bool {
    let age = Date.now.timeIntervalSince1970 - Double(timestamp)
    return abs(age) < 300 && secret.accepts(signature, of: Data("\(timestamp).".utf8) + body)
}

@Suite("Cookbook: requests and credentials")
struct CookbookRequestSamples {
    private let network = scripted()

    @Test("the signature of a webhook is checked")
    func webhooks() {
        // The example of GitHub's documentation.
        let (secret, body) = (SigningSecret("It's a Secret to Everybody"), Data("Hello, World!".utf8))
        let header = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
        #expect(accepts(body, header: header, secret: secret))
        #expect(!accepts(body + body, header: header, secret: secret))
        #expect(!accepts(body, header: String(header.dropFirst(7)), secret: secret))
        let now = Int(Date.now.timeIntervalSince1970)
        for (time, isFresh) in [(now, true), (now - 3600, false)] {
            let signature = secret.signature(of: Data("\(time).Hello, World!".utf8)).base64EncodedString()
            #expect(accepts(body, signature: signature, timestamp: time, secret: secret) == isFresh)
            #expect(!accepts(body, signature: signature, timestamp: time + 1, secret: secret))
        }
    }

    /// The headers of the only request of a client that sends `GET friends`.
    private func headers(sentBy configure: (inout Configuration) -> Void) async throws -> HTTPHeaders {
        network.on(.get, "/friends", .json("[]"))
        try await testClient(network, TestClock(), configure).run(.friends)
        return try #require(network.sent.last).request.headers
    }

    @Test("headers of a client, of a call, and of each call")
    func headers() async throws {
        let client = APIClient("https://api.example.com") {
            $0.headers = ["User-Agent": "Friends/1.2", "Accept-Language": "de"]
        }
        let sent = try await headers { $0.headers = client.configuration.headers }
        #expect(sent["User-Agent"] == "Friends/1.2" && sent["Accept-Language"] == "de")
        let again = try await headers { $0.headersForEachCall = self.newClient().configuration.headersForEachCall }
        #expect(again["X-Request-ID"]?.count == 36)
    }

    private func newClient() -> APIClient {
        let client = APIClient("https://api.example.com") {
            $0.headersForEachCall = { ["X-Request-ID": UUID().uuidString] }
        }
        return client
    }

    @Test("common headers, parameters and values for each call")
    func common() async throws {
        let key = "k"
        let client = APIClient("https://api.example.com/v1") {
            $0.headers = ["User-Agent": "Friends/1.2"]
            $0.parameters = ["api_key": key]
            $0.headersForEachCall = { ["X-Request-ID": UUID().uuidString] }
        }
        #expect(client.explain(.friends).contains("User-Agent: Friends/1.2"))
    }

    @Test("a header of a call wins")
    func ownHeader() async throws {
        network.on(.get, "/users", .json("[]"))
        let client = testClient(network) { $0.headers = ["Accept-Language": "de"] }
        let users: [User] = try await client.run(.get("users", headers: ["Accept-Language": "fr"]))
        #expect(users.isEmpty && network.sent.first?.request.headers.values("Accept-Language") == ["fr"])
    }

    @Test("bodies of each kind")
    func bodies() async throws {
        network.on(.post, "/users", .json(#"{"id": 8, "name": "Bo"}"#))
        network.on(.post, "/feedback", .status(204))
        network.on(.put, "/users/7/photo", .status(204))
        network.on(.delete, "/friends/7", .status(204))
        let client = testClient(network)
        let (name, text, png) = ("Bo", "fine & good", Data([0x89, 0x50]))
        let added: User = try await client.run(
            .post("users", body: .json(["name": name, "age": 3, "email": nil])))
        try await client.run(.post("feedback", body: .form(["text": text, "stars": 5])))
        try await client.run(.put("users/7/photo", body: .data(png, contentType: "image/png")))
        try await client.run(.delete("friends/7"))
        #expect(added.name == "Bo")
        let value = try JSONDecoder().decode(JSONValue.self, from: network.sent[0].body)
        #expect(value == ["name": "Bo", "age": 3])
        #expect(network.sent[1].body == Data("text=fine%20%26%20good&stars=5".utf8))
        #expect(network.sent[2].request.headers["Content-Type"] == "image/png")
    }

    @Test("the calls that the article on requests begins with")
    func first() async throws {
        network.on(.get, "/users/7", .json(#"{"id": 7, "name": "Ann"}"#))
        network.on(.post, "/users", .json(#"{"id": 8, "name": "Bo"}"#))
        network.on(.delete, "/friends/7", .status(204))
        let client = testClient(network)
        let id = 7
        let user: User = try await client.run(.get("users/\(id)"))
        let added: User = try await client.run(
            .post("users", body: .json(User(id: 9, name: "Bo"))))
        try await client.run(.delete("friends/\(id)"))
        #expect(user.name == "Ann" && added.name == "Bo")
    }

    @Test("an enumeration of an API")
    func routes() async throws {
        network.on(.get, "/users/7", .json(#"{"id": 7, "name": "Ann"}"#))
        network.on(.get, "/users/7/friends", .json("[]"))
        let client = testClient(network)
        let user: User = try await client.run(UserRoute.user(7))
        let friends: [User] = try await client.run(UserRoute.friends(of: user.id))
        #expect(user.name == "Ann" && friends.isEmpty)
    }

    @Test("a URL that a response contains")
    func givenURL() async throws {
        network.on(.get, "/users/7/profile", .json(#"{"friendsURL": "friends?of=7"}"#))
        network.on(.get, "/friends?of=7", .json(#"[{"id": 1, "name": "Ann"}]"#))
        let client = testClient(network)
        let id = 7
        struct Profile: Decodable, Sendable {
            var friendsURL: String
        }

        let profile: Profile = try await client.run(.get("users/\(id)/profile"))
        let friends: [User] = try await client.run(.get(url: profile.friendsURL))
        #expect(friends.map(\.name) == ["Ann"])
    }

    @Test("an environment is chosen", arguments: [true, false])
    func environments(isTrial: Bool) {
        let client = APIClient(isTrial ? .trial : .live)
        #expect(client.configuration.environment.name == (isTrial ? "trial" : "live"))
    }

    @Test("an API key, Basic credentials and a fixed token are sent and not shown")
    func credentials() async throws {
        let (key, name, password, token) = ("key-4711", "ann", "secret-4711", "token-4711")
        let byKey = {
            let client = APIClient("https://api.example.com") {
                $0.credentials = .apiKey("X-API-Key", key)
            }
            return client
        }()
        let basic = {
            let client = APIClient("https://api.example.com") {
                $0.credentials = .basic(user: name, password: password)
            }
            return client
        }()
        let bearer = {
            let client = APIClient("https://api.example.com") {
                $0.credentials = .bearer(token)
            }
            return client
        }()
        for client in [byKey, basic, bearer] {
            let text = client.explain(.friends)
            #expect(text.contains("‹redacted›") && !text.contains("4711"))
        }
        let sent = try await headers { $0.credentials = basic.configuration.credentials }
        #expect(sent["Authorization"] == "Basic YW5uOnNlY3JldC00NzEx")
    }

    @Test("a token of another scheme")
    func scheme() async throws {
        let tokens = TokenStore()
        let access = "abc"
        await tokens.signIn(Token(accessToken: access, type: "JWT"))
        let sent = try await headers { $0.tokens = tokens }
        #expect(sent["Authorization"] == "JWT abc")
    }
}
