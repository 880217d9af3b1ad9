import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("Event streams behind a redirect", .timeLimit(.minutes(10))) struct EventRedirectTests: EventScene {
    let clock = TestClock(seed: 5)
    let network = scripted()

    private static let other = "https://events.test/live"

    /// The redirects of the client's own server, one for each connection.
    private func redirect(to targets: String...) {
        network.on(.get, "/feed") {
            for target in targets { ScriptedReply.status(307, headers: ["Location": target]) }
            ScriptedReply.status(204)
        }
    }

    private func lastIDs(at host: String) -> [String?] {
        network.sent.filter { $0.request.url.origin.host == host }.map { $0.request.headers["Last-Event-ID"] }
    }

    @Test("E8: `Last-Event-ID` goes along to the origin that it came from; credentials do not")
    func back() async throws {
        redirect(to: Self.other, Self.other, Self.other)
        network.on(
            .get, Self.other, connection("id: 1\ndata: a\n\n"), connection("data: b\n\n", then: .breaks),
            connection("id: 2\ndata: c\n\n"))
        let tokens = TokenStore(time: clock) { $0 }
        await tokens.signIn(Token(accessToken: "token"))
        let client = client {
            $0.tokens = tokens
            $0.headers = ["X-Api-Key": "key"]
        }
        let (data, error) = await data(of: client.events(.get("feed")))
        #expect(data == ["a", "b", "c"] && error == nil)
        #expect(lastIDs(at: "events.test") == [nil, "1", "1"])
        #expect(lastIDs(at: "api.test") == [nil, "1", "1", "2"])
        for sent in network.sent where sent.request.url.origin.host == "events.test" {
            #expect(sent.request.headers["Authorization"] == nil && sent.request.headers["X-Api-Key"] == nil)
        }
        try network.verify()
    }

    @Test("E8: `Last-Event-ID` goes to no other origin, not even if that is on the way")
    func elsewhere() async throws {
        redirect(to: Self.other, "https://third.test/live", "https://third.test/on")
        network.on(.get, Self.other, connection("id: 1\ndata: a\n\n"), connection("data: c\n\n"))
        network.on(.get, "https://third.test/live", connection("data: b\n\n"))
        network.on(.get, "https://third.test/on", .status(307, headers: ["Location": Self.other]))
        let (data, error) = await data(of: client().events(.get("feed")))
        #expect(data == ["a", "b", "c"] && error == nil)
        #expect(lastIDs(at: "third.test") == [nil, nil])
        #expect(lastIDs(at: "events.test") == [nil, "1"])
        try network.verify()
    }

    @Test("E8: an identifier of the client's own server goes to no other")
    func own() async throws {
        network.on(.get, "/feed") {
            connection("id: 1\ndata: a\n\n")
            ScriptedReply.status(307, headers: ["Location": Self.other])
            ScriptedReply.status(307, headers: ["Location": Self.other])
            ScriptedReply.status(204)
        }
        network.on(.get, Self.other, connection("id: 5\ndata: b\n\n"), connection("data: c\n\n"))
        let (data, error) = await data(of: client().events(.get("feed")))
        #expect(data == ["a", "b", "c"] && error == nil)
        // The second identifier came from there.
        #expect(lastIDs(at: "events.test") == [nil, "5"])
        #expect(lastIDs(at: "api.test") == [nil, "1", "5", "5"])
    }

    @Test("E8: an identifier that the caller names goes where the redirect leads; another call's header does not")
    func named() async throws {
        redirect(to: Self.other)
        network.on(.get, Self.other, connection("data: a\n\n"))
        let (data, error) = await data(of: client().events(.get("feed"), after: "7"))
        #expect(data == ["a"] && error == nil)
        #expect(lastIDs(at: "events.test") == ["7"])
        let plain = scripted()
        plain.on(.get, "/x", .status(307, headers: ["Location": "https://events.test/x"]))
        plain.on(.get, "https://events.test/x", .json("1"))
        let endpoint = Endpoint<Int>.get("x", headers: ["Last-Event-ID": "7"])
        #expect(try await testClient(plain, clock).run(endpoint) == 1)
        #expect(plain.sent.map { $0.request.headers["Last-Event-ID"] } == ["7", nil])
    }

    @Test("E8: a client that marks the identifier as secret sends it to no other origin")
    func secret() async throws {
        redirect(to: Self.other, Self.other)
        network.on(.get, Self.other, connection("id: 1\ndata: a\n\n"), connection("data: b\n\n"))
        _ = await data(of: client { $0.secretNames = ["Last-Event-ID"] }.events(.get("feed")))
        #expect(lastIDs(at: "events.test") == [nil, nil])
    }
}
