import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

private func cachingClient(_ tokens: TokenStore) -> APIClient {
    let client = APIClient("https://api.example.com") {
        $0.tokens = tokens
        $0.cache = .memory(megabytes: 50)
    }
    return client
}

private func cachingClient() -> APIClient {
    let client = APIClient("https://api.example.com") {
        $0.cache = .memory(megabytes: 50)
    }
    return client
}

private func lastingClient() -> APIClient {
    let client = APIClient("https://api.example.com") {
        $0.cache = .disk("com.example.app", megabytes: 200)
    }
    return client
}

private func status(_ client: APIClient) async throws {
    let reply = try await client.reply(to: .friends)
    if let cache = reply.cache { print(cache) }  // hit, 12 s old
}

private func patient(_ client: APIClient, _ me: User) async throws -> [User] {
    let friends = try await client.run(.friends(of: me.id).cache(.staleUpTo(.seconds(86_400))))
    return friends
}

private func both(_ client: APIClient, _ show: ([User]) -> Void) async throws {
    for try await reply in client.replies(to: .friends) {
        show(reply.value)
    }
}

private func guessingClient() -> APIClient {
    APIClient("https://api.example.com") {
        $0.cache = .memory(megabytes: 50)
        $0.cachePolicies = [.for(.seconds(30)), .staleUpTo(.seconds(600))]
    }
}

private func search(_ client: APIClient, _ name: String) async throws -> [User] {
    let search = Endpoint<[User]>.post("users/search", body: .json(["name": name]))
    let found = search.cache(.for(.seconds(60))).cache(key: "search \(name)")
    return try await client.run(found)
}

private func change(_ client: APIClient, _ name: String) async throws {
    try await client.run(.put("me", body: .json(["name": name])).cache(.onlyOwn))
}

/// Not run: it would send.
private func sharing() async throws -> ([User], [User]) {
    let client = APIClient("https://api.example.com") {
        $0.sharesEqualRequests = true
    }
    async let header = client.run(.friends)
    async let list = client.run(.friends)
    let (first, second) = try await (header, list)  // one request
    return (first, second)
}

@Suite("Caching")
struct CachingSamples {
    private let clock = TestClock()
    private let network = scripted()
    private let cache = HTTPCache.memory(megabytes: 50)

    private var client: APIClient {
        testClient(network, clock) { configuration in
            configuration.cache = cache
        }
    }

    @Test("the policies of a call")
    func policies() async throws {
        let users = #"[{"id": 1, "name": "Ben"}]"#
        network.on(.get, "/friends", .json(users, headers: ["Cache-Control": "max-age=60"]).times(2))
        let client = client
        let current: Endpoint<[User]> = .friends.cache(.reload)
        let offline: Endpoint<[User]> = .friends.cache(.onlyIfCached, .staleUpTo(.seconds(86_400)))
        let quick: Endpoint<[User]> = .friends.cache(.networkFirst(within: .seconds(2)))
        await #expect(throws: ServiceError.self) { try await client.run(offline) }
        #expect(try await client.reply(to: quick).cache?.kind == .miss)
        #expect(try await client.reply(to: current).cache?.kind == .miss)
        await clock.advance(by: .seconds(600))
        #expect(try await client.reply(to: offline).cache?.kind == .stale)
        try network.verify()
    }

    @Test("tags")
    func tags() async throws {
        network.on(.get, "/friends", .json("[]", headers: ["Cache-Control": "max-age=60"]))
        let client = client
        let tagged: Endpoint<[User]> = .friends.tags("friends")
        try await client.run(tagged)
        await cache.invalidate(tag: "friends")
        #expect(cache.statistics.misses == 1 && cache.statistics.responses == 0)
        network.on(.get, "/friends", .json("[]"))
        #expect(try await client.reply(to: tagged).cache?.kind == .miss)
    }

    @Test("another origin that takes the same credentials")
    func trusted() {
        let client = APIClient("https://api.example.com") {
            $0.trustedOrigins = ["https://uploads.example.com"]
        }
        #expect(client.configuration.trustedOrigins == ["https://uploads.example.com"])
    }
}
