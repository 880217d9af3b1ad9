#if URLSession || canImport(Darwin)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// What is sent and received, with real time only where that is the subject.
@Suite(.timeLimit(.minutes(10))) struct URLSessionTransportTests {
    private let server: LoopbackServer
    private let transport = URLSessionTransport()

    init() throws {
        server = try LoopbackServer()
    }

    private func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        var configuration = Configuration(ServerEnvironment(name: "loopback", baseURL: server.baseURL))
        configuration.transport = transport
        configuration.rateLimit = .unlimited
        configuration.retry = .never
        // Real time: a busy machine must not fail the test.
        configuration.timeout = .seconds(60)
        configure(&configuration)
        return APIClient(configuration)
    }

    private func failure(_ endpoint: Endpoint<Int>, _ client: APIClient) async -> TransportFailure? {
        do throws(ServiceError) {
            _ = try await client.run(endpoint)
        } catch {
            if case .transport(let failure) = error { return failure }
        }
        return nil
    }

    @Test("a request is sent as it was built, and its response is decoded")
    func roundTrip() async throws {
        server.on(.post, "/echo") { request in
            .json(String(decoding: request.body, as: UTF8.self), headers: ["X-One": "1"])
        }
        let reply = try await client().reply(
            to: Endpoint<[Int]>.post("echo", headers: ["X-Two": "2"], body: .json([1, 2, 3])))
        #expect(reply.value == [1, 2, 3])
        #expect(reply.headers["x-one"] == "1")
        let request = try #require(server.received.first)
        #expect(request.headers["X-Two"] == "2")
        #expect(request.headers["Content-Type"] == "application/json")
        #expect(request.headers["Content-Length"] == "7")
        #expect(request.headers["Expect"] == nil)
    }

    @Test("a status is a value, with its body", arguments: [200, 201, 304, 400, 403, 404, 407, 429, 500, 503])
    func statuses(status: Int) async throws {
        let body = Data((status == 304 ? "" : "why").utf8)
        server.on(.get, "/x") { _ in .status(status, body: body) }
        let response = try await transport.send(try request("/x"), context: TransportContext())
        #expect(response.status == status)
        #expect(response.body.bytes == body)
    }

    @Test(
        "a 401 is a value, whatever authentication it asks for",
        arguments: ["Basic realm=\"a\"", "Bearer error=\"invalid_token\"", "Digest realm=\"a\", nonce=\"b\""],
        [TransportContext.Delivery.whole, .stream])
    func unauthorized(challenge: String, delivery: TransportContext.Delivery) async throws {
        server.on(.get, "/x") { _ in .status(401, headers: ["WWW-Authenticate": challenge], body: Data("no".utf8)) }
        let response = try await transport.send(try request("/x"), context: TransportContext(delivery: delivery))
        #expect(response.status == 401)
        #expect(response.headers["WWW-Authenticate"] == challenge)
        #expect(try await response.body.collect(upTo: 10) == Data("no".utf8))
        #expect(server.received.count == 1)
    }

    @Test("C30: an unknown host is not reported as a refused connection, and nothing was sent")
    func unknownHost() async throws {
        // A name that is too long for DNS: the system does not have to ask a server.
        let client = APIClient("https://\(String(repeating: "a", count: 64)).test") {
            $0.transport = transport
            $0.retry = .never
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
        }
        let failure = try #require(await failure(.get("x"), client))
        #expect(failure.kind == .dns && !failure.mayHaveReachedServer)
    }

    @Test("C31: silence is a timeout that interrupted the wait for the response")
    func silence() async throws {
        server.on(.get, "/x") { _ in .silence }
        do throws(ServiceError) {
            _ = try await client().run(Endpoint<Int>.get("x").timeout(.seconds(5)))
            Issue.record("an answer out of silence")
        } catch {
            guard case .timedOut(let timeout) = error else { throw error }
            #expect(timeout.bound == .attempt && timeout.phase == .waitingForResponse)
        }
    }

    @Test(
        "the times of an exchange are reported, as far as they are known",
        arguments: [TransportContext.Delivery.whole, .stream])
    func timings(delivery: TransportContext.Delivery) async throws {
        server.on(.get, "/x") { _ in
            LoopbackReply([
                .pause(.milliseconds(30)), .write(LoopbackReply.head(200, ["Content-Length": "1"])),
                .pause(.milliseconds(30)), .write(Data("1".utf8)),
            ])
        }
        let response = try await transport.send(try request("/x"), context: TransportContext(delivery: delivery))
        _ = try await response.body.collect(upTo: 10)
        let timings = try #require(response.timings)
        #expect(timings.firstByte >= .milliseconds(30))
        // For a stream, only the times that are known with its head.
        #expect(timings.total >= (delivery == .whole ? .milliseconds(60) : timings.firstByte))
        #if canImport(FoundationNetworking)
        #expect(timings.isConnectionReused == nil && timings.bytesReceived == nil)
        #expect(timings.description == "first byte after \(timings.firstByte.displayText)")
        #endif
    }

    @Test("C34: a response with two equal lengths is valid")
    func sameLengths() async throws {
        server.on(.get, "/x") { _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n7") }
        #expect(try await client().run(.get("x")) == 7)
    }

    @Test("a body that is too large stops at the limit", arguments: [TransportContext.Delivery.whole, .stream])
    func tooLarge(delivery: TransportContext.Delivery) async throws {
        server.on(.get, "/x") { _ in
            LoopbackReply([
                .write(Data("HTTP/1.1 200 OK\r\n\r\n".utf8) + Data(repeating: 32, count: 2 << 20)), .silence,
            ])
        }
        let context = TransportContext(delivery: delivery, bodyLimit: 1 << 20)
        let error = await #expect(throws: ServiceError.self) {
            _ = try await transport.send(try request("/x"), context: context).body.collect(upTo: .max)
        }
        guard case .transport(let failure)? = error else { throw CancellationError() }
        #expect(failure.kind == .tooLarge)
        await server.connectionsClosed()
    }

    @Test("no redirect is followed, and no token is sent to its target", arguments: [301, 302, 303, 307, 308])
    func redirects(status: Int) async throws {
        let other = try LoopbackServer()
        let location = other.baseURL + "/y"
        server.on(.get, "/x") { _ in .status(status, headers: ["Location": location], body: Data("moved".utf8)) }
        var request = try request("/x")
        request.headers["Authorization"] = "Bearer t"
        let response = try await transport.send(request, context: TransportContext())
        #expect(response.status == status)
        #expect(response.headers["Location"] == location)
        #expect(response.body.bytes == Data("moved".utf8))
        #expect(other.connections == 0)
    }

    @Test("a GET with a body is refused, and not sent")
    func getWithBody() async throws {
        var request = try request("/x")
        request.body = .bytes(Data("a".utf8))
        let sent = request
        let error = await #expect(throws: ServiceError.self) {
            try await transport.send(sent, context: TransportContext())
        }
        guard case .transport(let failure)? = error else { throw CancellationError() }
        #expect(failure.kind == .unsupported && !failure.mayHaveReachedServer)
        #expect(server.connections == 0)
    }

    private func request(_ path: String) throws -> HTTPRequest {
        HTTPRequest(method: .get, url: try HTTPURL(server.baseURL + path))
    }
}
#endif
