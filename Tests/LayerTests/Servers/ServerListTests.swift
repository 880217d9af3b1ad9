import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

@Suite("The servers of a list: credentials, cookies, stored responses, redirects", .timeLimit(.minutes(10)))
struct ServerListTests: ServersScene {
    let clock = TestClock()
    let network = scripted()

    @Test("B5: a server that is not encrypted, or named twice, is refused before anything is sent")
    func badLists() async throws {
        let lists: [(ServerEnvironment, String)] = [
            (.servers(a, "http://b.test"), "encrypted"), (.servers(a, "https://a.test/v2"), "already"),
            (.servers(a, "https://b.test?x=1"), "query"), (.servers(a, "b.test"), "scheme"),
            (ServerEnvironment(name: "many", baseURL: a, otherBaseURLs: (0..<64).map { "https://s\($0).test" }), "64"),
        ]
        for (list, word) in lists {
            let error = try await failure(of: call, client(list))
            #expect("\(error)".contains(word), "\(error)")
            guard case .invalidRequest = error else { throw error }
        }
        #expect(network.sent.isEmpty)
    }

    @Test("B5: each server gets the credentials, and a redirect between them keeps them; another host gets none")
    func credentials() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.redirect(to: "https://b.test/y") }
        network.on(.get, "https://b.test/y") { ScriptedReply.redirect(to: "https://c.test/z") }
        network.on(.get, "https://c.test/z") { ScriptedReply.json("1") }
        let client = client {
            $0.credentials = .apiKey("X-Api-Key", "k")
        }
        try await clock.run { try await run(1, client) }
        #expect(hosts == ["a", "b", "c"])
        #expect(network.sent.map { $0.request.headers["X-Api-Key"] } == ["k", "k", nil])
    }

    @Test("B6: a stored response belongs to the client's URL, whichever server has sent it; the reply says which")
    func cache() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=600"]
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused) }
        network.on(.get, "https://b.test/*") { ScriptedReply.json("1", headers: headers) }
        let client = client { $0.cache = .memory(megabytes: 1) }
        try await clock.run {
            let reply = try await client.reply(to: call)
            #expect(reply.url.absoluteString == "https://b.test/x")
            try await clock.sleep(until: .ms(100_000))
            #expect(try await client.run(call) == 1)
            // Calls that name a server have responses of their own.
            network.on(.get, "https://a.test/*") { ScriptedReply.json("2", headers: headers) }
            network.on(.get, "https://b.test/*") { ScriptedReply.json("3", headers: headers) }
            for _ in 0..<2 {
                #expect(try await client.run(call.server(a)) == 2)
                #expect(try await client.run(call.server(b)) == 3)
            }
            #expect(try await client.run(call) == 1)
        }
        #expect(hosts == ["a", "b", "a", "b"])
    }

    @Test("B6: a redirect is resolved where it came from, and stays there")
    func redirects() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused) }
        network.on(.get, "https://b.test/x") { ScriptedReply.redirect(to: "/moved/y") }
        network.on(.get, "https://b.test/moved/y") { ScriptedReply.json("1") }
        let client = client()
        let reply = try await client.reply(to: call)
        #expect(reply.url.absoluteString == "https://b.test/moved/y")
    }

    @Test("B6: the next page of a list may come from another server; any other URL stays")
    func pages() async throws {
        network.on(.get, "https://a.test/*") { ScriptedReply.failure(.refused) }
        network.on(.get, "https://b.test/list") {
            ScriptedReply.json("[1]", headers: ["Link": "<https://b.test/list?page=2>; rel=next"])
        }
        network.on(.get, "https://a.test/v1/list?page=2") { ScriptedReply.json("[2]").times(2) }
        let client = client { $0.servers.choice = .inOrder(returningAfter: .zero) }
        try await clock.run {
            var found: [Int] = []
            let list = Endpoint<[Int]>.get("list")
            for try await item in client.items(of: list, by: .link) {
                found.append(item)
                // By now the first server is back.
                if found == [1] { try await clock.sleep(until: .ms(10_000)) }
            }
            #expect(found == [1, 2])
            // Any other URL goes to the server that it names.
            network.on(.get, "https://b.test/list?page=2") { ScriptedReply.json("[3]") }
            let link = Endpoint<[Int]>.get(url: "https://b.test/list?page=2")
            #expect(try await client.run(link) == [3])
            #expect(try await client.run(link.server(a)) == [2])
        }
        #expect(hosts == ["a", "b", "a", "b", "a"])
    }

    @Test("B5, B6: the cookies of each server go to that one, and a response is stored with those that were sent")
    func cookies() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=600"]
        network.on(.get, "https://a.test/v1/in") { ScriptedReply.status(204, headers: ["Set-Cookie": "s=a; Path=/"]) }
        network.on(.get, "https://b.test/in") { ScriptedReply.status(204, headers: ["Set-Cookie": "s=b; Path=/"]) }
        network.on(.get, "https://a.test/v1/x") { ScriptedReply.failure(.refused) }
        network.on(.get, "https://b.test/x") { ScriptedReply.json("1", headers: headers) }
        network.on(.get, "https://b.test/x") { ScriptedReply.json("2", headers: headers) }
        let client = client {
            $0.cookies = CookieJar()
            $0.cache = .memory(megabytes: 1)
        }
        try await clock.run {
            try await client.run(.get("in").server(a))
            try await client.run(.get("in").server(b))
            try await run(2, client)
            #expect(network.sent.map { $0.request.headers["Cookie"] } == [nil, nil, "s=a", "s=b"])
            // Another user of the second server gets another response.
            network.on(.get, "https://b.test/in") { ScriptedReply.status(204, headers: ["Set-Cookie": "s=c; Path=/"]) }
            try await client.run(.get("in").server(b).cache(.reload))
            #expect(try await client.run(call) == 2)
        }
        #expect(network.sent.last?.request.headers["Cookie"] == "s=c")
    }

    @Test("B6: a redirect from one server to another is no loop, and goes there; one that is stored leads to any")
    func leaders() async throws {
        let moved: HTTPHeaders = ["Location": "/v1/y", "Cache-Control": "max-age=600"]
        network.on(.get, "https://a.test/v1/x") { ScriptedReply.status(301, headers: moved) }
        network.on(.get, "https://a.test/v1/y") {
            ScriptedReply.json("1")
            ScriptedReply.failure(.refused)
        }
        network.on(.get, "https://b.test/y") { ScriptedReply.json("2") }
        network.on(.get, "https://b.test/z") { ScriptedReply.redirect(307, to: "https://a.test/v1/z") }
        network.on(.get, "https://a.test/v1/z") { ScriptedReply.json("3").times(2) }
        let client = client { $0.cache = .memory(megabytes: 1) }
        try await clock.run {
            try await run(1, client)
            #expect(try await client.run(call) == 2)
            let leader = Endpoint<Int>.get("z")
            for _ in 0..<2 { #expect(try await client.run(leader) == 3) }
        }
        let urls = network.sent.map { "\($0.request.url.origin.host.prefix(1))\($0.request.url.path)" }
        #expect(urls == ["a/v1/x", "a/v1/y", "a/v1/y", "b/y", "b/z", "a/v1/z", "a/v1/z"])
    }

    @Test("B6: a call that names its server stays there; one that is not in the list is refused")
    func named() async throws {
        network.on(.get, "https://b.test/x") { ScriptedReply.failure(.refused).always }
        let client = client()
        try await clock.run {
            _ = try await failure(of: call.server(b), client)
            #expect(hosts == ["b", "b", "b"])
            let error = try await failure(of: call.server("https://c.test"), client)
            guard case .invalidRequest(let invalid) = error else { throw error }
            #expect("\(invalid)".contains("https://c.test"))
            // A redirect within the server stays there.
            network.on(.get, "https://b.test/photos/7") { ScriptedReply.redirect(to: "/photos/7/") }
            network.on(.get, "https://b.test/photos/7/") { ScriptedReply.json("1").times(2) }
            #expect(try await client.run(Endpoint<Int>.get("photos/7").server(b)) == 1)
            network.on(.get, "https://b.test/photos/8") { ScriptedReply.redirect(to: "/photos/7/") }
            #expect(try await client.run(Endpoint<Int>.get(url: "https://b.test/photos/8")) == 1)
            #expect(hosts.allSatisfy { $0 == "b" })
            let sent = network.sent.count
            // Neither does a page or a link lead it elsewhere.
            let link = Endpoint<Int>.get(url: "https://a.test/elsewhere").server(b)
            guard case .invalidRequest = try await failure(of: link, client) else { throw error }
            #expect(network.sent.count == sent)
        }
    }
}
