import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

private func limited(_ client: APIClient, _ name: String) async throws {
    let writes = RateLimiter(.requests(1, per: .seconds(1)))
    try await client.run(.patch("me", body: .json(["name": name])).limiter(writes))
}

private func limits() -> (APIClient, RateLimiter) {
    let all = RateLimiter(.requests(10, per: .seconds(1)))
    let client = APIClient("https://api.example.com") { $0.limiter = all }
    let writes = RateLimiter(.requests(1, per: .seconds(1)), within: all)
    return (client, writes)
}

private func derived(_ client: APIClient) -> APIClient {
    var configuration = client.configuration
    configuration.limiter = RateLimiter(.requests(1, per: .seconds(1)))
    configuration.retry = .never
    let writer = APIClient(configuration)
    return writer
}

func user(in data: Data) throws(ServiceError) -> User {
    do {
        return try JSONDecoder().decode(User.self, from: data)
    } catch {
        throw .decodingFailed(DecodingFailure(error, decoding: User.self, from: data))
    }
}

private func dated() -> APIClient {
    APIClient("https://api.example.com") {
        $0.decoder = .json(dates: [.iso8601, .day])
    }
}

private func offline(_ tokens: TokenStore) -> APIClient {
    let client = APIClient("https://api.example.com") {
        $0.tokens = tokens
        $0.cache = .disk("com.example.app", megabytes: 50)
        $0.cachePolicies = [.keepingCopy, .networkFirst(within: .seconds(3))]
    }
    return client
}

private func metadata() async throws -> OAuth.ServerMetadata? {
    let saved = ValueArchive<OAuth.ServerMetadata>(path: "/var/lib/app/server")
    let metadata = try await saved.load()
    return metadata
}

private func discovered() async throws -> OAuth {
    let saved = ValueArchive<OAuth.ServerMetadata>(path: "/var/lib/app/server")
    let oauth: OAuth
    if let metadata = try await saved.load() {
        oauth = OAuth(metadata, client: .public(id: "app"))
    } else {
        oauth = try await OAuth.discover("https://login.example.com", client: .public(id: "app"))
        if let metadata = oauth.metadata { try await saved.save(metadata) }
    }
    return oauth
}

@Suite("Several calls")
struct SeveralCallSamples {
    private let clock = TestClock()
    private let network = scripted()
    private var client: APIClient { testClient(network, clock) }
    private let ann = #"[{"id": 1, "name": "Ann"}]"#

    @Test("a few calls at once")
    func together() async throws {
        let ids = [1, 2]
        for id in ids { network.on(.get, "/users/\(id)/friends?sort=name", .json(#"{"users": \#(ann)}"#)) }
        let lists = try await client.runAll(ids.map { .friends(of: $0) }, atMost: 8)
        #expect(lists.map { $0.map(\.name) } == [["Ann"], ["Ann"]])
    }

    @Test("files, with one progress, and the result of each")
    func files() async throws {
        let scratch = try Scratch()
        let server = try server()
        defer { server.close() }
        let client = APIClient(server.baseURL) { $0.rateLimit = .unlimited }
        let names = [scratch.path("a"), scratch.path("b")]
        let shown = Noted<Double>(0)
        let files = try await all(client, names, total: 6) { fraction in shown.update { $0 = fraction } }
        #expect(files.map(\.bytes) == [3, 3] && shown.value == 1)
        let failed = await failures(client, [scratch.path("c"), scratch.path("missing")])
        #expect(failed == [scratch.path("missing")])
    }

    /// A server of files, except for those that are missing.
    private func server() throws -> LoopbackServer {
        let server = try LoopbackServer()
        server.onAny { request in
            request.path.hasSuffix("missing") ? .status(404) : .status(200, body: Data("abc".utf8))
        }
        return server
    }

    private func all(
        _ client: APIClient, _ names: [String], total: Int, _ show: @escaping @Sendable (Double) -> Void
    ) async throws(ServiceError) -> [DownloadedFile] {
        let progress = CombinedProgress(total: total) { show($0.fraction ?? 0) }
        let files = try await client.runAll(names, atMost: 8) { name in
            try await client.download(.get("files/\(name)"), to: name, onProgress: progress.part())
        }
        return files
    }

    private func plain(_ client: APIClient, _ names: [String]) async throws -> [DownloadedFile] {
        let files = try await client.runAll(names, atMost: 8) { name in
            try await client.download(.get("files/\(name)"), to: name)
        }
        return files
    }

    private func failures(_ client: APIClient, _ names: [String]) async -> [String] {
        var failed: [String] = []
        func print(_ name: String, _ error: ServiceError) { failed.append(name) }
        let results = await client.results(of: names, atMost: 8) { name in
            try await client.download(.get("files/\(name)"), to: name)
        }
        for (name, result) in zip(names, results) {
            if case .failure(let error) = result { print(name, error) }
        }
        return failed
    }

    @Test("tasks that run beside their connections")
    func executor() async throws {
        let (client, ids, visited) = (APIClient("http://localhost:1"), [1, 2], Noted<Set<Int>>([]))
        @Sendable func visit(_ id: Int) async { visited.update { $0.insert(id) } }
        await withTaskExecutorPreference(client.executor) {
            await withDiscardingTaskGroup { group in
                for id in ids { group.addTask { await visit(id) } }
            }
        }
        #expect(visited.value == [1, 2])
    }

    @Test("one deadline for calls of two clients")
    func deadline() async throws {
        let (users, feed, id) = (client, client, 1)
        network.on(.get, "/users/1/friends?sort=name", .json(#"{"users": \#(ann)}"#))
        network.on(.get, "/news", .json(#"["New"]"#))
        let page = try await Deadline(after: .milliseconds(800)).run {
            async let friends = users.run(.friends(of: id))
            async let news = feed.run(Endpoint<[String]>.get("news"))
            return try await (friends, news)
        }
        #expect(page.0.map(\.name) == ["Ann"] && page.1 == ["New"])
    }

    @Test("a query from a value")
    func query() async throws {
        struct Filter: Encodable, Sendable {
            var friendOf: User.ID?
            var tags: [String] = []
        }

        let found = Endpoint<[User]>.get("users").query(Filter(tags: ["swift", "linux"]))
        network.on(.get, "/users?tags=swift&tags=linux", .json("[]"))
        #expect(try await client.run(found).isEmpty)
    }

    @Test("the state of an event stream, and the head of a response")
    func events() async throws {
        network.on(.get, "/feed", .events([ServerSentEvent("a")], retry: .milliseconds(1)), .status(204))
        network.on(.post, "/chat", .events([ServerSentEvent("Because"), ServerSentEvent("[DONE]")]))
        let client = client
        try await clock.run {
            var (isLive, shown): (Bool, [String]) = (false, [])
            func show(_ text: String) { shown.append(text) }
            for try await update in client.events(.get("feed")).reconnecting(fromStart: true).updates {
                switch update {
                case .connected: isLive = true
                case .waiting: isLive = false
                case .event(let event): show(event.data)
                }
            }
            #expect(!isLive)
            let response = try await client.stream(.post("chat", body: .json(["question": "Why?"])))
            let requestID = response.headers["X-Request-Id"]
            for try await event in response.events.until({ $0.data == "[DONE]" }) { show(event.data) }
            #expect(requestID == nil && shown == ["a", "Because"])
        }
    }
}
