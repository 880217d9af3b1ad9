@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("What a call has stored is removed by its endpoint", .timeLimit(.minutes(10))) struct CacheRemovalTests {
    private let clock = TestClock()
    private let network = scripted()
    private let cache = HTTPCache.memory(megabytes: 1)

    init() {
        network.onAny { _ in
            .status(200, headers: ["Cache-Control": "max-age=600"], body: "\"x\"")
        }
    }

    private func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        testClient(network, clock) {
            $0.cache = cache
            configure(&$0)
        }
    }

    @Test("K11: with the client's parameters and its own, for all users; what other calls have stored stays")
    func endpoint() async throws {
        let tokens = TokenStore(time: clock)
        await tokens.signIn(Token(accessToken: "ann"))
        let client = client {
            $0.parameters = ["app": "7"]
            $0.tokens = tokens
        }
        let friends = Endpoint<String>(.get, "friends", parameters: ["category": "family"])
        let calls = [friends, friends.authentication(.none), Endpoint<String>.get("friends")]
        for call in calls { #expect(try await client.reply(to: call).cache == CacheStatus(.miss)) }
        await cache.remove("friends")
        #expect(cache.statistics.responses == 3)
        await client.removeCached(friends)
        #expect(cache.statistics.responses == 1)
        for (call, kind) in zip(calls, [CacheStatus.Kind.miss, .miss, .hit]) {
            #expect(try await client.reply(to: call).cache?.kind == kind)
        }
    }

    @Test("K11: by its name in the cache, if it has one")
    func named() async throws {
        let client = client()
        func picture(_ signature: Int) -> Endpoint<String> {
            Endpoint<String>.get("picture").query("signature", signature).cache(key: "picture")
        }
        try await client.run(picture(1))
        #expect(try await client.reply(to: picture(2)).cache?.kind == .hit)
        await client.removeCached(picture(3))
        #expect(cache.statistics.responses == 0)
    }

    @Test("nothing happens without a cache, and for a call that could not be sent")
    func nothing() async throws {
        let client = client()
        try await client.run(Endpoint<String>.get("x"))
        await client.removeCached(Endpoint<String>.get(url: "https://other.test/x"))
        await client.removeCached(Endpoint<String>.post("x", body: .data(Data(), contentType: "text/plain")))
        await self.client { $0.cache = nil }.removeCached(Endpoint<String>.get("x"))
        #expect(cache.statistics.responses == 1)
    }
}
