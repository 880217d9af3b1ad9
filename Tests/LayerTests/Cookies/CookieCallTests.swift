import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite("The cookies of calls", .timeLimit(.minutes(10))) struct CookieCallTests {
    private let network = scripted()
    private let clock = TestClock()
    private let jar = CookieJar(sites: ["example.com"])

    private func client(
        _ url: String = "https://api.example.com", _ configure: (inout Configuration) -> Void = { _ in }
    ) -> APIClient {
        testClient(network, clock) {
            $0.environment = ServerEnvironment(name: "test", baseURL: url)
            $0.cookies = jar
            configure(&$0)
        }
    }

    private func setting(_ lines: String..., status: Int = 204, location: String? = nil) -> ScriptedReply {
        var headers = HTTPHeaders(lines.map { HTTPHeaders.Field(name: "Set-Cookie", value: $0) })
        if let location { headers.add(name: "Location", value: location) }
        return .status(status, headers: headers)
    }

    /// The `Cookie` headers that were sent, in order.
    private var sent: [String?] { network.sent.map { $0.request.headers["Cookie"] } }

    @Test("J1: what a response sets, the next request carries")
    func next() async throws {
        network.on(.get, "/a", setting("sid=1; Path=/", "theme=dark; HttpOnly", "b=\"x=y\"; Path=/b"))
        network.on(.get, "/a", setting("sid=; Path=/; Max-Age=0"))
        network.on(.get, "/b/c") { .status(204) }
        let client = client()
        try await client.run(.get("a"))
        try await client.run(.get("a"))
        try await client.run(.get("b/c"))
        #expect(sent == [nil, "sid=1; theme=dark", "b=\"x=y\"; theme=dark"])
        #expect(network.sent.allSatisfy { $0.request.headers.values("Cookie").count < 2 })
        try network.verify()
    }

    @Test("J1: without a jar there are no cookies")
    func off() async throws {
        network.on(.get, "/a", setting("sid=1").times(2))
        let client = testClient(network, clock)
        try await client.run(.get("a"))
        try await client.run(.get("a"))
        #expect(sent == [nil, nil])
    }

    @Test("J3: a cookie expires by the client's clock")
    func expiry() async throws {
        network.on(.get, "/a", setting("sid=1; Max-Age=60"), .status(204), .status(204))
        let client = client()
        for wait in [0, 59, 1] {
            await clock.advance(by: .seconds(wait))
            try await client.run(.get("a"))
        }
        #expect(sent == [nil, "sid=1", nil])
    }

    @Test("J1: every response counts: a redirect's, a failed attempt's, an error's, a stream's")
    func everyResponse() async throws {
        network.on(.get, "/a", setting("hop=1; Path=/", status: 302, location: "/b").times(2))
        network.on(.get, "/b", setting("attempt=1", status: 503), setting("last=1", status: 404))
        network.on(.get, "/c", setting("stream=1", status: 200), .status(204))
        let client = client()
        try await clock.run {
            await #expect(throws: ServiceError.self) { try await client.run(.get("a")) }
            for try await _ in try await client.stream(.get("c")).lines {}
            try await client.run(.get("c"))
        }
        // The second attempt begins where the first did.
        #expect(
            sent == [
                nil, "hop=1", "hop=1; attempt=1", "hop=1; attempt=1", "hop=1; attempt=1; last=1",
                "hop=1; attempt=1; last=1; stream=1",
            ])
    }

    @Test("J1: the cookie of a 401 goes with the replay")
    func replay() async throws {
        network.on(.get, "/me", setting("csrf=1", status: 401), .status(204))
        let tokens = TokenStore(time: clock) { _ in Token(accessToken: "new") }
        let client = client { $0.tokens = tokens }
        await tokens.signIn(Token(accessToken: "old"))
        try await client.run(.get("me"))
        #expect(sent == [nil, "csrf=1"])
        #expect(network.sent.map { $0.request.headers["Authorization"] } == ["Bearer old", "Bearer new"])
    }

    @Test("J5: a cookie that another call has received while this one waited for its permit is sent")
    func afterTheWait() async throws {
        network.on(.get, "/a", setting("sid=1"), setting("sid=2"), .status(204))
        let client = client { $0.rateLimit = .requests(1, per: .seconds(1)) }
        try await clock.run {
            try await withThrowingTaskGroup(of: Void.self) { calls in
                for _ in 0..<3 { calls.addTask { try await client.run(.get("a")) } }
                try await calls.waitForAll()
            }
        }
        #expect(sent == [nil, "sid=1", "sid=2"])
    }

    @Test(
        "J6: a redirect takes no cookie to a stranger, and a stranger sets none",
        arguments: ["https://other.org/b", "https://example.com.other.org/b", "https://notexample.com/b"])
    func stranger(url: String) async throws {
        network.on(.get, "https://api.example.com/a", setting("sid=1; Domain=example.com", status: 307, location: url))
        network.on(.get, url, setting("evil=1", "evil=2; Domain=example.com"))
        try await client().run(.get("a"))
        #expect(sent == [nil, nil])
        #expect(await jar.cookies.map(\.pair) == ["sid=1"])
    }

    @Test("J6: a redirect to another host of the site takes that host's cookies, and not those of the first")
    func sister() async throws {
        try jar.insert([Cookie("www", "1", domain: "www.example.com"), Cookie("own", "1", domain: "api.example.com")])
        network.on(
            .get, "https://api.example.com/a",
            setting("all=1; Domain=example.com", "api=1", status: 307, location: "https://www.example.com/b"))
        network.on(.get, "https://www.example.com/b", setting("all=2; Domain=example.com"))
        network.on(.get, "https://api.example.com/a", .status(204))
        let client = client()
        try await client.run(.get("a"))
        try await client.run(.get("a"))
        #expect(sent == ["own=1", "www=1; all=1", "own=1; all=2; api=1"])
    }

    @Test("J6: without sites, a redirect that leaves the origin takes no cookie, also on its way back")
    func wayBack() async throws {
        let jar = CookieJar()
        try jar.insert([Cookie("sid", "1", domain: "api.test")])
        network.on(.get, "https://api.test/a", .status(307, headers: ["Location": "https://other.test/b"]))
        network.on(.get, "https://other.test/b", .status(307, headers: ["Location": "https://api.test/c"]))
        network.on(.get, "https://api.test/c", setting("late=1"))
        try await testClient(network, clock) { $0.cookies = jar }.run(.get("a"))
        #expect(sent == ["sid=1", nil, nil])
        #expect(await jar.cookies.map(\.pair) == ["sid=1"])
    }

    @Test("J3, J6: over plain http, a Secure cookie is neither sent nor replaced nor set")
    func plain() async throws {
        try jar.insert([
            Cookie("sid", "1", domain: "localhost"), Cookie("lang", "en", domain: "localhost", isSecure: false),
        ])
        network.on(.get, "/a", setting("sid=2; Path=/", "other=3; Secure; Path=/", "fine=4; Path=/"), .status(204))
        let client = client("http://localhost")
        try await client.run(.get("a"))
        try await client.run(.get("a"))
        #expect(sent == ["lang=en", "lang=en; fine=4"])
        #expect(await jar.cookies.map(\.pair) == ["sid=1", "lang=en", "fine=4"])
    }

    @Test(
        "J7: a line sets one cookie, whatever commas it has",
        arguments: [
            "lang=de; Path=/a, sid=attacker", "lang=de; Expires=Wed, 09 Jun 2038 10:18:14 GMT, sid=attacker",
            "lang=de; HttpOnly, sid=attacker; Path=/", "lang=de; SameSite=Lax, sid=attacker; Path=/",
            "lang=de, sid=attacker",
        ])
    func commas(line: String) async throws {
        network.on(.get, "/a", setting(line, "d=4; Path=/"), .status(204))
        let client = client()
        try await client.run(.get("a"))
        try await client.run(.get("a"))
        let cookies = await jar.cookies
        #expect(cookies.map(\.name).sorted() == ["d", "lang"])
        #expect(sent.last??.split(separator: "; ").contains { $0.hasPrefix("sid=") } == false)
    }

    @Test("J8: of a jar shared by clients of two sites, each sends its own")
    func twoSites() async throws {
        let jar = CookieJar(sites: ["example.com", "b.org"])
        network.on(.get, "https://api.example.com/a", setting("a=1; Domain=example.com"), .status(204))
        network.on(.get, "https://www.b.org/a", setting("b=1; Domain=b.org", "x=1; Domain=example.com"), .status(204))
        for _ in 0..<2 {
            for url in ["https://api.example.com", "https://www.b.org"] {
                try await client(url) { $0.cookies = jar }.run(.get("a"))
            }
        }
        #expect(sent == [nil, nil, "a=1", "b=1"])
    }

    @Test("a Cookie header of the endpoint is sent instead of the jar's, and the jar still keeps what is set")
    func ownHeader() async throws {
        try jar.insert([Cookie("sid", "jar", domain: "api.example.com")])
        network.on(.get, "/a", setting("new=1; Path=/"), .status(204))
        let client = client()
        let own = Endpoint<NoContent>.get("a", headers: ["cookie": "sid=own"])
        try await client.run(own)
        try await client.run(.get("a"))
        #expect(network.sent.map { $0.request.headers.values("Cookie") } == [["sid=own"], ["sid=jar; new=1"]])
        #expect(client.explain(own).contains("cookies:     those of the request's own header"))
    }

    @Test("a site that is none makes every call fail", arguments: ["com", "https://example.com", "localhost"])
    func badSite(site: String) async {
        let client = client { $0.cookies = CookieJar(sites: [site]) }
        let error = await #expect(throws: ServiceError.self) { try await client.run(.get("a")) }
        #expect(error?.detail.contains("the cookie jar's site \"\(site)\"") == true)
    }

    @Test("a cookie that another site would let in is reported once, to whoever listens")
    func refusedDomain() async throws {
        network.on(.get, "/a", setting("sid\u{202E}=1; Domain=example.com").always)
        let warnings = Noted<[String]>([])
        let client = client {
            $0.cookies = CookieJar()
            $0.observe = { event in if case .warned(let text) = event.kind { warnings.update { $0.append(text) } } }
        }
        try await client.run(.get("a"))
        try await client.run(.get("a"))
        #expect(warnings.value.count == 1)
        #expect(warnings.value.first?.contains("its domain example.com is none of the jar's sites") == true)
        #expect(warnings.value.first?.contains("\u{202E}") == false)
        #expect(sent == [nil, nil])
    }
}
