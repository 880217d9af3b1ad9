import Errand
import ErrandTesting
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Answers every request with what is written down for its path.
struct FixtureTransport: Transport {
    var answers: [String: String]

    func send(
        _ request: HTTPRequest, context: TransportContext
    ) async throws -> HTTPResponse {
        guard let json = answers[request.url.path] else {
            return HTTPResponse(status: 404)
        }
        return HTTPResponse(
            status: 200, headers: ["Content-Type": "application/json"], body: .bytes(Data(json.utf8)))
    }

    func shutdown() async {}

    /// Fixtures are there without a network too.
    var connectivity: Connectivity { .always }
}

@Suite("The way of a call")
struct WayOfACallSamples {
    @Test("a middleware of each kind and a transport of one's own")
    func rooms() async throws {
        let client = APIClient("https://api.example.com/v1") {
            $0.transport = FixtureTransport(answers: ["/v1/friends": "[]"])
            $0.perCall = [Stopwatch()]
            $0.perAttempt = [Stopwatch()]
        }
        #expect(try await client.run(.friends).isEmpty)
    }

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

    @Test("what would be sent can be read")
    func explain() {
        let client = testClient(scripted())
        print(client.explain(.friends(of: 7)))
        #expect(client.explain(.friends(of: 7)).contains("curl -X GET 'https://api.test/users/7/friends?sort=name'"))
    }

    private func environments() -> [ServerEnvironment] {
        let client = APIClient(.staging)
        return [client.configuration.environment]
    }
}
