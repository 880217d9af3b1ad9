import Errand
import ErrandTestSupport
import ErrandTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if os(Linux)
/// Adds the name of the program to each request.
final class NamingTransport: Transport {
    private let inner = CurlTransport()

    func send(
        _ request: HTTPRequest, context: TransportContext
    ) async throws -> HTTPResponse {
        var request = request
        request.headers["User-Agent"] = "photos/2.1"
        return try await inner.send(request, context: context)
    }

    func shutdown() async { await inner.shutdown() }
    func endSends(of client: TransportContext.Client) async { await inner.endSends(of: client) }
    var connectivity: Connectivity { inner.connectivity }
    var features: TransportFeatures { inner.features }
    var identity: String? { inner.identity }
    var warning: String? { inner.warning }
    var executor: (any TaskExecutor)? { inner.executor }
}
#endif

/// Returns a fixed response for each path.
struct FixtureTransport: Transport {
    var responses: [String: String]

    func send(
        _ request: HTTPRequest, context: TransportContext
    ) async throws -> HTTPResponse {
        guard let json = responses[request.url.path] else {
            return HTTPResponse(status: 404)
        }
        return HTTPResponse(
            status: 200, headers: ["Content-Type": "application/json"], body: .bytes(Data(json.utf8)))
    }

    func shutdown() async {}

    /// Fixtures need no network.
    var connectivity: Connectivity { .always }
}

@Suite("The way of a call")
struct WayOfACallSamples {
    @Test("a middleware of each kind and a transport of one's own")
    func rooms() async throws {
        let client = APIClient("https://api.example.com/v1") {
            $0.transport = FixtureTransport(responses: ["/v1/friends": "[]"])
            $0.callMiddlewares = [Stopwatch()]
            $0.attemptMiddlewares = [Stopwatch()]
        }
        #expect(try await client.run(.friends).isEmpty)
    }

    #if os(Linux)
    @Test("a transport that passes everything on meets every requirement", arguments: TransportConformance.all)
    func adapter(_ rule: TransportConformance.Case) async throws {
        try await rule.check { NamingTransport() }
    }
    #endif

    @Test("a reply says what it took")
    func reply() async throws {
        let network = scripted()
        network.on(.get, "/users/7/friends?sort=name") {
            ScriptedReply.json(#"{"users": []}"#, headers: ["ETag": "1"])
        }
        let client = testClient(network)
        let reply = try await client.reply(to: .friends(of: 7))
        print(reply.status, reply.headers["ETag"] ?? "no tag")
        print(reply.attempts, reply.duration)
        #expect(reply.status == 200 && reply.attempts == 1 && reply.headers["ETag"] == "1")
    }

    @Test("a large response is read while it arrives")
    func stream() async throws {
        let network = scripted()
        network.on(.get, "/logs/today", .json("[1, 2]"))
        let client = testClient(network)
        let response = try await client.stream(.get("logs/today"))
        print(response.headers["Last-Modified"] ?? "no date")
        var count = 0
        for try await chunk in response.chunks { count += chunk.count }
        #expect(count == 6)
    }

    @Test("answers that are no JSON")
    func bytes() async throws {
        let network = scripted()
        let image = HTTPResponse(status: 200, headers: ["Content-Type": "image/png"], body: .bytes(Data([1, 2])))
        network.on(.get, "/photo", .response(image))
        network.on(.get, "/terms", .status(200, headers: ["Content-Type": "text/plain"], body: "none"))
        network.on(.head, "/photo", .status(200, headers: ["Content-Length": "2"]))
        let client = testClient(network)
        let photo: Data = try await client.run(.get("photo"))
        let terms: String = try await client.run(.get("terms"))
        let head = try await client.reply(to: Endpoint<NoContent>.head("photo"))
        print(head.headers["Content-Length"] ?? "of unknown length")
        #expect(photo == Data([1, 2]) && terms == "none" && head.headers["Content-Length"] == "2")
    }

    @Test("an answer that says that nothing has changed")
    func unchanged() async {
        let network = scripted()
        network.on(.get, "/friends", .status(304))
        let client = testClient(network)
        let (tag, kept) = ("\"1\"", [User(id: 1, name: "Ann")])
        var shown: [User] = []
        func show(_ users: [User]) { shown = users }
        func show(_ error: ServiceError) { Issue.record(error) }
        do {
            let reply = try await client.reply(
                to: Endpoint<[User]>.get("friends", headers: ["If-None-Match": tag]))
            show(reply.value)
        } catch .rejected(let rejection) where rejection.status == 304 {
            show(kept)
        } catch {
            show(error)
        }
        #expect(shown == kept)
        #expect(network.sent.map { $0.request.headers["If-None-Match"] } == [tag])
    }

    @Test("what would be sent can be read")
    func explain() {
        let client = testClient(scripted())
        #expect(client.explain(.friends(of: 7)).contains("curl -X GET 'https://api.test/users/7/friends?sort=name'"))
    }

    private func environments() -> [ServerEnvironment] {
        let client = APIClient(.staging)
        return [client.configuration.environment]
    }
}
