import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@testable import Errand

@Suite("Cookies belong to the session", .timeLimit(.minutes(10))) struct CookieSessionTests {
    private let network = scripted()
    private let clock = TestClock()
    private let jar = CookieJar()
    private let tokens: TokenStore
    private let client: APIClient

    init() {
        let (network, clock, jar) = (network, clock, jar)
        // The refresh is authorized by a cookie, as some servers have it.
        let login = testClient(network, clock) { $0.cookies = jar }
        let tokens = TokenStore(time: clock) { _ in
            Token(accessToken: try await login.run(Endpoint<String>.post("refresh")))
        }
        self.tokens = tokens
        client = testClient(network, clock) {
            $0.tokens = tokens
            $0.cookies = jar
        }
    }

    private func sent(to path: String) -> [String?] {
        network.sent.filter { $0.request.url.path == path }.map { $0.request.headers["Cookie"] }
    }

    private func setting(_ line: String, status: Int = 204, body: String = "") -> ScriptedReply {
        .status(status, headers: ["Set-Cookie": line, "Content-Type": "text/plain"], body: body)
    }

    @Test("J5: a sign-out removes the session's cookies at once, and the next user sends none of them")
    func signOut() async throws {
        network.on(.post, "/login", setting("sid=ann; Path=/"))
        network.on(.get, "/me", setting("me=ann; Path=/"), .status(204), .status(204))
        try await client.run(.post("login").authentication(.none))
        await tokens.signIn(Token(accessToken: "ann"))
        try await client.run(.get("me"))
        try await client.run(.get("me"))
        await tokens.signOut()
        #expect(await jar.cookies.isEmpty)
        await tokens.signIn(Token(accessToken: "bob"))
        try await client.run(.get("me"))
        #expect(sent(to: "/me") == ["sid=ann", "sid=ann; me=ann", nil])
    }

    @Test("J5: a call that is not signed carries no cookie of the session, and one it receives belongs to none")
    func unsigned() async throws {
        network.on(.get, "/me", setting("me=ann; Path=/"), .status(204))
        network.on(.get, "/news", setting("lang=en; Path=/"), .status(204))
        await tokens.signIn(Token(accessToken: "ann"))
        let news = Endpoint<NoContent>.get("news").authentication(.none)
        for _ in 0..<2 {
            try await client.run(.get("me"))
            try await client.run(news)
        }
        await tokens.signOut()
        #expect(sent(to: "/me") == [nil, "me=ann; lang=en"])
        // The session has sent the cookie, so it belongs to the session now.
        #expect(sent(to: "/news") == [nil, nil])
        #expect(await jar.cookies.isEmpty)
    }

    @Test("J5: the calls of a refresh carry the session's cookies, and what they receive goes with the session")
    func refresh() async throws {
        network.on(.post, "/login", setting("refresh=1; Path=/refresh"))
        network.on(.get, "/me", setting("me=1; Path=/", status: 401), .status(204))
        network.on(.post, "/refresh", setting("refresh=2; Path=/refresh", status: 200, body: "new"))
        try await client.run(.post("login").authentication(.none))
        await tokens.signIn(Token(accessToken: "old"))
        try await client.run(.get("me"))
        #expect(sent(to: "/refresh") == ["refresh=1; me=1"])
        #expect(await jar.cookies.map(\.pair) == ["refresh=2", "me=1"])
        await tokens.signOut()
        #expect(await jar.cookies.isEmpty)
    }

    @Test("J5: a response that comes after the sign-out brings no cookie back")
    func late() async throws {
        network.on(.get, "/me") { setting("me=ann").after(.seconds(5)) }
        await tokens.signIn(Token(accessToken: "ann"))
        try await clock.run {
            async let answer: NoContent = client.run(.get("me").outlivingSession())
            await network.sent(atLeast: 1)
            await tokens.signOut()
            _ = try await answer
        }
        #expect(await jar.cookies.isEmpty)
    }

    @Test("J5: a session that the server ends takes its cookies along")
    func expired() async throws {
        network.on(.get, "/me", setting("me=ann", status: 401))
        network.on(.post, "/refresh", .status(401))
        await tokens.signIn(Token(accessToken: "ann"))
        await #expect(throws: ServiceError.self) { try await client.run(.get("me")) }
        #expect(await !tokens.isSignedIn)
        #expect(await jar.cookies.isEmpty)
    }

    @Test("J5: a user who signs in without a sign-out before is another session")
    func anotherUser() async throws {
        network.on(.get, "/me", setting("me=ann"), .status(204))
        await tokens.signIn(Token(accessToken: "ann"))
        try await client.run(.get("me"))
        await tokens.signIn(Token(accessToken: "bob"))
        try await client.run(.get("me"))
        #expect(sent(to: "/me") == [nil, nil])
    }

    @Test("J5: two accounts of one host that share a jar keep their cookies apart")
    func twoAccounts() async throws {
        let other = TokenStore(time: clock)
        let second = testClient(network, clock) {
            $0.tokens = other
            $0.cookies = jar
        }
        await tokens.signIn(Token(accessToken: "ann"))
        await other.signIn(Token(accessToken: "bob"))
        network.on(.get, "/me", headers: ["Authorization": "Bearer ann"], setting("me=ann"), .status(204))
        network.on(.get, "/me", headers: ["Authorization": "Bearer bob"], setting("me=bob"), .status(204), .status(204))
        for client in [client, second, client, second] { try await client.run(.get("me")) }
        #expect(sent(to: "/me") == [nil, nil, "me=ann", "me=bob"])
        await tokens.signOut()
        try await second.run(.get("me"))
        #expect(sent(to: "/me").last == "me=bob")
    }

    @Test("J5: a store does not keep the jar")
    func released() async {
        weak var released: CookieJar?
        do {
            let jar = CookieJar()
            released = jar
            _ = testClient(network, clock) {
                $0.tokens = tokens
                $0.cookies = jar
            }
        }
        #expect(released == nil)
        await tokens.signIn(Token(accessToken: "ann"))
        await tokens.signOut()
    }
}
