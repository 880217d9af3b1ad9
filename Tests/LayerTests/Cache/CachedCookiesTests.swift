import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// A jar adds cookies below the cache and below the sharing of requests, and both tell requests apart by them.
@Suite("Cached and shared responses to requests with cookies", .timeLimit(.minutes(10))) struct CachedCookiesTests {
    private let clock = TestClock()
    private let network = scripted()
    private let jar = CookieJar()

    private func client(_ configure: (inout Configuration) -> Void) -> APIClient {
        testClient(network, clock) {
            $0.cookies = jar
            configure(&$0)
        }
    }

    /// Answers with the cookies of the request, and lets that be cached.
    private func echo(varying: Bool, after delay: Duration = .zero) {
        network.on(.get, "/x") { request in
            try await clock.sleep(for: delay)
            let cookies = request.headers["Cookie"] ?? "none"
            var headers: HTTPHeaders = ["Content-Type": "application/json", "Cache-Control": "max-age=600"]
            if varying { headers["Vary"] = "Cookie" }
            return .status(200, headers: headers, body: "\"\(cookies)\"")
        }
    }

    private func insert(_ value: String) throws {
        try jar.insert([Cookie("user", value, domain: "api.test")])
    }

    @Test(
        "K3, K7: a stored response answers requests that carry the same cookies, and no others",
        arguments: [true, false])
    func cached(varying: Bool) async throws {
        echo(varying: varying)
        let client = client { $0.cache = .memory(megabytes: 1) }
        let endpoint = Endpoint<String>.get("x")
        try await clock.run {
            #expect(try await client.run(endpoint) == "none")
            #expect(try await client.reply(to: endpoint).cache?.kind == .hit)
            try insert("1")
            #expect(try await client.run(endpoint) == "user=1")
            let again = try await client.reply(to: endpoint)
            #expect(again.value == "user=1" && again.cache?.kind == .hit)
            try insert("2")
            #expect(try await client.run(endpoint) == "user=2")
            jar.removeAll()
            #expect(try await client.run(endpoint) == "none")
        }
        #expect(network.sent.count == 3)
    }

    @Test("K7: a response to a request whose cookies have changed on its way is not stored")
    func changed() async throws {
        echo(varying: false)
        let client = client {
            $0.cache = .memory(megabytes: 1)
            $0.rateLimit = .requests(1, per: .seconds(10))
        }
        let endpoint = Endpoint<String>.get("x")
        try await clock.run {
            _ = try await client.run(endpoint.cache(.noStore))
            // It waits for a permit, and another call is given a cookie meanwhile.
            async let first = client.run(endpoint)
            try await clock.sleep(for: .seconds(1))
            try insert("1")
            #expect(try await first == "user=1")
            jar.removeAll()
            #expect(try await client.run(endpoint) == "none")
        }
    }

    @Test("K7, K8: a call does not join a request that carries other cookies")
    func shared() async throws {
        echo(varying: false, after: .seconds(5))
        let client = client { $0.sharesEqualRequests = true }
        let endpoint = Endpoint<String>.get("x")
        try insert("1")
        try await clock.run {
            async let first = client.run(endpoint)
            async let second = client.run(endpoint)
            try await clock.sleep(for: .seconds(1))
            jar.removeAll()
            async let third = client.run(endpoint)
            let values = try await [first, second, third]
            #expect(values == ["user=1", "user=1", "none"])
        }
        #expect(network.sent.count == 2)
    }
}
