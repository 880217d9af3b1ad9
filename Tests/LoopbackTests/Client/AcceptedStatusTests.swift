import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

@Suite("Statuses that an endpoint accepts", .timeLimit(.minutes(10)))
struct AcceptedStatusTests {
    private struct Conflict: Decodable, Equatable {
        var version: Int
    }

    private let network = ScriptedTransport()
    private var client: APIClient { testClient(network) }

    @Test(
        "an optional response is nil, whatever the body contains",
        arguments: ["", #"{"message": "none"}"#, "<p>no</p>"])
    func absent(body: String) async throws {
        network.on(.get, "/a", .status(404, body: body), .json(#"{"version": 2}"#))
        let endpoint = Endpoint<Conflict?>.get("a").accepting(304, 404)
        let (client, first) = (client, try await client.reply(to: endpoint))
        #expect(first.value == nil)
        #expect(first.status == 404)
        #expect(try await client.run(endpoint) == Conflict(version: 2))
    }

    @Test("bytes and text are the body, NoContent ignores it, another type is decoded from it")
    func others() async throws {
        network.onAny { ScriptedReply.json(#"{"version": 3}"#, status: 409).times(4) }
        let client = client
        #expect(try await client.run(Endpoint<Conflict>.put("a").accepting(409)) == Conflict(version: 3))
        #expect(try await client.run(Endpoint<Data>.put("a").accepting(409)) == Data(#"{"version": 3}"#.utf8))
        #expect(try await client.run(Endpoint<NoContent>.put("a").accepting(409)) == NoContent())
        #expect(try await client.run(Endpoint<Data?>.put("a").accepting(409)) == nil)
    }

    @Test("other statuses stay errors, and so does a body that cannot be decoded")
    func errors() async throws {
        network.on(.get, "/a", .status(404), .json("[]", status: 409))
        let client = client
        let endpoint = Endpoint<Conflict>.get("a").accepting(409)
        let missing = await #expect(throws: ServiceError.self) { try await client.run(endpoint) }
        #expect(missing?.status == 404)
        let error = await #expect(throws: ServiceError.self) { try await client.run(endpoint) }
        guard case .decodingFailed(let failure) = error else { throw try #require(error) }
        #expect(failure.status == 409)
    }

    @Test("such a status is not retried")
    func retries() async throws {
        let clock = TestClock()
        network.on(.get, "/a", .status(502), .status(503))
        let client = testClient(network, clock)
        let reply = try await clock.run { try await client.reply(to: Endpoint<Int?>.get("a").accepting(503)) }
        #expect(reply.value == nil)
        #expect(reply.attempts == 2)
    }

    @Test("a stream with such a status is returned with its body")
    func streams() async throws {
        network.on(.get, "/log", .status(404, body: "no log today"), .status(404))
        let client = client
        let response = try await client.stream(Endpoint<Data>.get("log").accepting(404))
        #expect(response.status == 404)
        var text = ""
        for try await chunk in response.chunks { text += String(decoding: chunk, as: UTF8.self) }
        #expect(text == "no log today")
        let error = await #expect(throws: ServiceError.self) { try await client.stream(.get("log")) }
        #expect(error?.status == 404)
    }

    @Test("such a stream is returned with its head, before its body has ended")
    func endless() async throws {
        let server = try LoopbackServer()
        let head = Data("HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n".utf8)
        server.onAny(LoopbackReply([.write(head), .silence]).always)
        let client = APIClient(server.baseURL) { $0.timeout = .seconds(60) }
        let response = try await client.stream(Endpoint<Data>.get("log").accepting(404))
        #expect(response.status == 404)
        for try await chunk in response.chunks {
            #expect(chunk == Data("no".utf8))
            break
        }
        await client.shutdown()
    }

    @Test("a download reports the status as an error, after its retries")
    func downloads() async throws {
        let clock = TestClock()
        network.on(.get, "/file", .status(503), .status(503), .status(503), .status(503))
        let client = testClient(network, clock)
        let place = FileManager.default.temporaryDirectory.appending(path: "accepted-\(UUID())").path
        let endpoint = Endpoint<Data>.get("file").accepting(503)
        let error = await #expect(throws: ServiceError.self) {
            try await clock.run { try await client.download(endpoint, to: place) }
        }
        #expect(error?.status == 503)
        let asked = await #expect(throws: ServiceError.self) {
            try await clock.run { try await client.download(asking: { endpoint.retry(.never) }, to: place) }
        }
        #expect(asked?.status == 503)
        #expect(network.sent.count == 4)
    }

    @Test("an event stream reports the status as an error")
    func events() async throws {
        network.on(.get, "/feed", .status(404))
        let client = client
        let error = await #expect(throws: ServiceError.self) {
            for try await _ in client.events(Endpoint<Data>.get("feed").accepting(404)) {}
        }
        #expect(error?.status == 404)
    }

    @Test("middleware sees the statuses, and a test can make them")
    func rules() {
        #expect(CallRules(acceptedStatuses: [304]).acceptedStatuses == [304])
        #expect(Endpoint<Int>.get("a").accepting(304).accepting(404, 410).options.acceptedStatuses == [304, 404, 410])
    }
}
