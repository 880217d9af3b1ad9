import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite("No text for people shows a cookie's value", .timeLimit(.minutes(10))) struct CookieSecretsTests {
    private let secret = "s3cr3t-of-the-session"

    @Test("J6: descriptions, dumps and mirrors of a cookie, of a jar and of an array of cookies")
    func descriptions() async throws {
        let jar = CookieJar(sites: ["example.com"])
        try jar.insert([
            Cookie("sid", secret, domain: "example.com", isHostOnly: false, expires: Date(timeIntervalSince1970: 4e9)),
            Cookie("", secret, domain: "a.example.com", isSecure: false),
        ])
        let cookies = await jar.cookies
        var dumped = ""
        dump(cookies, to: &dumped)
        dump(jar, to: &dumped)
        dump(Optional(cookies[0]), to: &dumped)
        let texts = [
            dumped, "\(cookies)", "\(cookies[0])", String(reflecting: cookies), "\(jar)", String(reflecting: jar),
            "\(Mirror(reflecting: cookies[0]).children.map(\.value))", "\(Configuration.with(jar))",
            "\(APIClient(.with(jar)))",
        ]
        for text in texts { #expect(!text.contains(secret), "\(text)") }
        #expect("\(jar)" == "CookieJar(2 cookies, sites: example.com)")
        #expect("\(cookies[1])" == "‹redacted›; host=a.example.com; path=/")
        let expires = HTTPDate.text(try #require(cookies[0].expires))
        #expect("\(cookies[0])" == "sid=‹redacted›; domain=example.com; path=/; expires=\(expires); secure")
    }

    @Test("J6: explain names the cookies that would be sent, without their values, and sends and keeps nothing")
    func explain() throws {
        let jar = CookieJar(sites: ["example.com"])
        try jar.insert([
            Cookie("sid", secret, domain: "api.example.com"),
            Cookie("deep", secret, domain: "api.example.com", path: "/b"),
            Cookie("", secret, domain: "api.example.com"), Cookie("gone", "x", domain: "other.example.com"),
        ])
        let client = APIClient(.with(jar))
        let text = client.explain(Endpoint<NoContent>.get("a"))
        #expect(text.contains("-H 'Cookie: ‹redacted›'"))
        #expect(text.contains("\ncookies:     sid, one without a name\n"))
        #expect(!text.contains(secret))
        jar.removeAll()
        let empty = client.explain(Endpoint<NoContent>.get("a"))
        #expect(empty.contains("\ncookies:     none in the jar for this request\n"))
        #expect(!empty.contains("Cookie:"))
    }

    @Test("explain names no cookie of a session for a request that has credentials of its own")
    func ownCredentials() async throws {
        let (network, clock) = (scripted(), TestClock())
        network.on(.get, "/a", .json("1", headers: ["Set-Cookie": "sid=\(secret)"]))
        let tokens = TokenStore(time: clock)
        await tokens.signIn(Token(accessToken: "ann"))
        let client = testClient(network, clock) {
            $0.tokens = tokens
            $0.cookies = CookieJar()
        }
        _ = try await client.run(Endpoint<Int>.get("a"))
        #expect(client.explain(Endpoint<Int>.get("a")).contains("\ncookies:     sid\n"))
        let own = Endpoint<Int>.get("a", headers: ["Authorization": "Basic YTpi"])
        #expect(client.explain(own).contains("\ncookies:     none in the jar for this request\n"))
    }

    @Test("J6: events, errors and replies, also where the server repeats the value")
    func calls() async throws {
        let network = scripted()
        let events = Noted<[String]>([])
        let value = secret
        let problem = "{\"message\": \"no session \(value) here\"}"
        network.on(
            .get, "/a", .json("1", headers: ["Set-Cookie": "sid=\(value); Path=/"]),
            .json(problem, status: 400, headers: ["Set-Cookie": "sid=\(value)"]))
        let client = testClient(network, TestClock()) {
            $0.cookies = CookieJar()
            $0.observe = { event in events.update { $0.append("\(event) \(String(reflecting: event))") } }
        }
        let reply = try await client.reply(to: Endpoint<Int>.get("a"))
        #expect(reply.headers["Set-Cookie"]?.contains(secret) == true, "a program may read it")
        #expect(!"\(reply) \(reply.headers) \(String(reflecting: reply))".contains(secret))
        let error = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("a")) }
        #expect(network.sent.last?.request.headers["Cookie"] == "sid=\(secret)")
        var dumped = ""
        dump(error, to: &dumped)
        let shown = "\(dumped) \(String(describing: error)) \(String(reflecting: error)) \(events.value)"
        #expect(!shown.contains(secret), "\(shown)")
        #expect(shown.contains("no session"))
        #expect(events.value.count > 4)
    }
}

extension Configuration {
    fileprivate static func with(_ jar: CookieJar) -> Configuration {
        var configuration = Configuration(ServerEnvironment(name: "test", baseURL: "https://api.example.com"))
        configuration.cookies = jar
        return configuration
    }
}
