import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

// The samples in the doc comments of the sources, in the order of their files.

private func client(_ me: User, _ tokens: TokenStore) async throws -> [User] {
    let client = APIClient("https://api.example.com/v1") {
        $0.tokens = tokens
        $0.rateLimit = .requests(5, per: .seconds(1))
    }
    let friends = try await client.run(.friends(of: me.id))
    return friends
}

private func store(_ login: APIClient) {
    let tokens = TokenStore(persistence: .file("/var/lib/app/session")) { old in
        try await login.run(.refresh(old)).token
    }
    let client = APIClient("https://api.example.com") { $0.tokens = tokens }
    _ = client
}

private func friendsAnew(_ client: APIClient, _ me: User) async {
    await client.removeCached(.friends(of: me.id))
}

extension ServerEnvironment {
    static let staging = ServerEnvironment(
        name: "staging", baseURL: "https://staging.example.com/api/v1")
}

private func parameters() -> Endpoint<User> {
    Endpoint<User>(.post, "friends", parameters: ["user_id": 5, "category": "family"])
}

private func unregister(_ client: APIClient, _ device: String) async throws {
    try await client.run(.delete("devices/\(device)").outlivingSession())
}

private func composed(_ id: User.ID) -> EndpointPath {
    let user: EndpointPath = "users/\(id)"
    let friends: EndpointPath = "\(user)/friends"
    return friends
}

private func path(_ id: User.ID) -> EndpointPath {
    let path: EndpointPath = "users/\(id)/friends"
    return path
}

private func query(_ page: Int) -> QueryItems {
    let query: QueryItems = ["sort": "name", "page": page, "tag": ["a", "b"], "since": nil]
    return query
}

/// In here, for one of the example services has a type of the same name.
private enum OwnRoute {
    enum MovieRoute: EndpointConvertible {
        case popular(page: Int)
        case videos(of: Int)

        var path: EndpointPath {
            switch self {
            case .popular: "popular"
            case .videos(let id): "\(id)/videos"
            }
        }
        var query: QueryItems {
            switch self {
            case .popular(let page): ["page": page]
            case .videos: [:]
            }
        }
    }

    static func route(_ client: APIClient) async throws -> [String] {
        struct MoviePage: Decodable, Sendable {
            var titles: [String]
        }

        let page: MoviePage = try await client.run(MovieRoute.popular(page: 1))
        return page.titles
    }
}

private func logBeside(_ client: APIClient) {
    let events = client.diagnostics  // before the first call, so that no event is lost
    Task {
        for await event in events { print(LogFormatter().line(for: event)) }
    }
}

private func log(_ client: APIClient) async {
    let formatter = LogFormatter()
    for await event in client.diagnostics { print(formatter.line(for: event)) }
}

private func stream(_ client: APIClient, _ file: FileHandle) async throws {
    let response = try await client.stream(.get("logs/today"))
    for try await chunk in response.chunks { file.write(chunk) }
}

private func latest(_ client: APIClient, _ me: User) async throws -> [User] {
    let latest = LatestOnly()
    let friends = try await latest.run { try await client.run(.friends(of: me.id)) }
    return friends
}

private struct Forbidden: Error {}

private func check(_ signature: String, of body: Data) throws {
    let secret = SigningSecret("whsec-2Hk3")
    guard secret.accepts(signature, of: body) else { throw Forbidden() }
}

struct Stopwatch: Middleware {
    func intercept(
        _ request: HTTPRequest, _ context: CallContext, next: Next
    ) async throws -> HTTPResponse {
        let start = context.time.now
        defer { print(context.endpoint, start.duration(to: context.time.now)) }
        return try await next(request, context)
    }
}

private func limits() -> [RateLimit] {
    let usual: RateLimit = .requests(5, per: .seconds(1))  // the default of every client
    let several: RateLimit = .all(
        .requests(5, per: .seconds(1)), .requests(100, per: .seconds(60)))
    return [usual, several]
}

@Suite("Doc comments")
struct DocCommentSamples {
    @Test("a route turns into a call")
    func movies() async throws {
        let network = scripted()
        network.on(.get, "/popular?page=1") { .json(#"{"titles": ["Metropolis"]}"#) }
        #expect(try await OwnRoute.route(testClient(network)) == ["Metropolis"])
    }

    @Test("a scripted transport answers one reply after the other")
    func script() async throws {
        let network = ScriptedTransport()
        network.on(.get, "/friends", .status(503), .json(#"[{"id": 1, "name": "Ann"}]"#).after(.milliseconds(80)))
        let clock = TestClock()
        let client = APIClient("https://api.test") {
            $0.transport = network
            $0.time = clock
        }
        let attempts = try await clock.run { try await client.reply(to: .friends).attempts }
        #expect(attempts == 2)
    }

    @Test("a script expects a body")
    func expectedBody() async throws {
        let network = scripted()
        network.on(.post, "/friends", body: .json(["name": "Ann"]), .status(201))
        network.on(.post, "/token", body: .form(["grant_type": "client_credentials"]), .json(#"{"access_token": "a"}"#))
        let client = testClient(network)
        try await client.run(.post("friends", body: .json(["name": "Ann"])))
        let token: JSONValue = try await client.run(.post("token", body: .form(["grant_type": "client_credentials"])))
        #expect(token["access_token"] == "a")
    }

    @Test("a clock that is advanced by hand")
    func byHand() async throws {
        let clock = TestClock()
        let network = scripted()
        network.on(.get, "/friends") { ScriptedReply.json("[]").after(.seconds(1)) }
        let client = testClient(network, clock)
        async let friends = client.run(.friends)
        await clock.sleepers(atLeast: 1)
        await clock.advance(by: .seconds(1))
        #expect(try await friends.isEmpty)
    }

    @Test("twenty calls against five per second take three seconds")
    func autopilot() async throws {
        let clock = TestClock()
        let network = scripted()
        network.on(.get, "/friends") { ScriptedReply.json("[]").always }
        let client = testClient(network, clock) { $0.rateLimit = .requests(5, per: .seconds(1)) }
        try await clock.run {
            try await withThrowingTaskGroup(of: [User].self) { calls in
                for _ in 0..<20 { calls.addTask { try await client.run(.friends) } }
                try await calls.waitForAll()
            }
        }
        #expect(clock.elapsed == .seconds(3))
    }

    @Test("the values of the samples are what they say")
    func values() {
        #expect(path(7).description == "users/7/friends")
        #expect(query(2).encoded == "sort=name&page=2&tag=a&tag=b")
        #expect(limits().last?.description == "5 per 1 s and 100 per 60 s")
        #expect(parameters().method == .post)
    }
}

struct Account: OpaqueReflectable {
    let name: String
    let password: String

    var description: String { "Account(\(name))" }
}

@Suite("A type of one's own that holds secrets")
struct OpaqueSamples {
    @Test("neither its text nor a dump shows them")
    func dumped() {
        let account = Account(name: "ann", password: "hunter2")
        var text = "\(account) \(String(reflecting: account))"
        dump(account, to: &text)
        #expect(text.contains("Account(ann)") && !text.contains("hunter2"))
    }
}
