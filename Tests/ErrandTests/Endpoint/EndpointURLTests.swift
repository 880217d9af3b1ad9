import Errand
import ErrandTestSupport
import ErrandTesting
import FoundationEssentials
import Testing

@Suite("An endpoint for a URL that the server has given")
struct EndpointURLTests {
    private let network = scripted()

    private var client: APIClient {
        testClient(network) {
            $0.environment = ServerEnvironment(name: "test", baseURL: "https://api.test/v1")
            $0.parameters = ["key": "k"]
        }
    }

    @Test(
        "absolute and relative URLs of the client's own origin are called as they are",
        arguments: [
            ("https://api.test/other/7?page=2", "/other/7?page=2&key=k"),
            ("https://API.test:443/a%20b", "/a%20b?key=k"),
            ("/root/7", "/root/7?key=k"), ("users/7", "/v1/users/7?key=k"), ("../up", "/up?key=k"),
            ("//api.test/x", "/x?key=k"), ("?page=2", "/v1/?page=2&key=k"), ("https://api.test/x#part", "/x?key=k"),
            ("https://api.test/x?key=old&a=1", "/x?a=1&key=k"),
        ])
    func own(url: String, target: String) async throws {
        network.onAny { .json("1") }
        #expect(try await client.run(Endpoint<Int>.get(url: url)) == 1)
        #expect(network.sent.map(\.request.url.absoluteString) == ["https://api.test" + target])
    }

    @Test("a query and headers of its own are added")
    func own() async throws {
        network.onAny { .status(204) }
        let endpoint = Endpoint<NoContent>(
            .put, url: "https://api.test/7?a=1&b=2", query: ["b": 3], headers: ["X-A": "1"], body: .json(["x": 1]))
        try await client.run(endpoint)
        let request = try #require(network.sent.first?.request)
        #expect(request.method == .put && request.url.query == "a=1&b=3&key=k" && request.headers["X-A"] == "1")
    }

    @Test(
        "a URL value is called like its text, absolute or relative",
        arguments: [
            ("https://api.test/other/7?page=2", "/other/7?page=2", "&"), ("users/7", "/v1/users/7", "?"),
            ("/a%20b", "/a%20b", "?"),
        ])
    func values(text: String, target: String, separator: String) async throws {
        network.onAny { ScriptedReply.json("1").times(2) }
        let url = try #require(URL(string: text))
        #expect(try await client.run(Endpoint<Int>.get(url: url, headers: ["X-A": "1"])) == 1)
        #expect(try await client.run(Endpoint<Int>(.put, url: url, query: ["b": 3], body: .json([1]))) == 1)
        let called = "https://api.test\(target)\(separator)"
        #expect(network.sent.map(\.request.url.absoluteString) == ["\(called)key=k", "\(called)b=3&key=k"])
        #expect(network.sent.map(\.request.method) == [.get, .put] && network.sent[0].request.headers["X-A"] == "1")
    }

    @Test("a URL value that is relative to another is resolved against that one, and of another origin it is refused")
    func relativeValues() async throws {
        network.onAny { .json("1") }
        let base = try #require(URL(string: "https://api.test/other/"))
        let own = try #require(URL(string: "7", relativeTo: base))
        #expect(try await client.run(Endpoint<Int>.get(url: own)) == 1)
        #expect(network.sent.map(\.request.url.path) == ["/other/7"])
        let foreign = try #require(URL(string: "https://evil.test/x"))
        let error = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get(url: foreign)) }
        guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
        #expect(invalid.subject == .url && network.sent.count == 1)
    }

    @Test(
        "another origin is refused with what to do, and nothing is sent",
        arguments: ["https://evil.test/x", "http://api.test/x", "https://api.test:8443/x", "//evil.test/x"])
    func foreign(url: String) async throws {
        let error = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get(url: url)) }
        guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
        #expect(invalid.subject == .url && invalid.reason.contains("create a client for it"))
        #expect(network.sent.isEmpty)
    }

    @Test(
        "what is no URL is refused",
        arguments: ["ftp://api.test/x", "https://", "https://api.test/a b", "https://u:p@api.test/x"])
    func odd(url: String) async throws {
        let error = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get(url: url)) }
        guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
        #expect(invalid.subject == .url && !invalid.reason.contains("u:p"))
        #expect(network.sent.isEmpty)
    }

    @Test("events name the call by the path of its URL")
    func named() async throws {
        network.onAny { .json("1") }
        let names = Noted<Set<String>>([])
        let client = testClient(network) { $0.observe = { event in names.update { $0.insert(event.endpoint) } } }
        _ = try await client.run(Endpoint<Int>.get(url: "https://api.test/users/7?token=secret"))
        #expect(names.value == ["GET users/7"])
    }
}
