#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Behaviour that `CurlConformanceTests` does not cover, because it is specific to libcurl.
@Suite(.timeLimit(.minutes(10))) struct CurlTransportTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    private func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        var configuration = Configuration(ServerEnvironment(name: "loopback", baseURL: server.baseURL))
        configuration.rateLimit = .unlimited
        configuration.retry = .never
        // Real time: a busy machine must not fail the test.
        configuration.timeout = .seconds(60)
        configure(&configuration)
        return APIClient(configuration)
    }

    private func failure(_ endpoint: Endpoint<Int>, _ client: APIClient) async -> TransportFailure.Kind? {
        do throws(ServiceError) {
            _ = try await client.run(endpoint)
        } catch {
            if case .transport(let failure) = error { return failure.kind }
            Issue.record("\(error.debugDescription)")
        }
        return nil
    }

    @Test("a request is sent as it was built, and its response is decoded")
    func roundTrip() async throws {
        server.on(.post, "/echo") { request in
            .json(String(decoding: request.body, as: UTF8.self), headers: ["X-One": "1"])
        }
        let reply = try await client().reply(to: Endpoint<[Int]>.post("echo", body: .json([1, 2, 3])))
        #expect(reply.value == [1, 2, 3])
        #expect(reply.headers["x-one"] == "1")
        let request = try #require(server.received.first)
        #expect(request.headers["Content-Type"] == "application/json")
        #expect(request.headers["Content-Length"] == "7")
        #expect(request.headers["Expect"] == nil)
    }

    @Test("methods that usually have a body declare that there is none, the others do not mention it")
    func withoutBody() async throws {
        server.onAny { _ in .json("1") }
        let client = client()
        for method in [HTTPMethod.post, .put, .patch, .get, .delete, .options] {
            _ = try await client.run(Endpoint<Int>(method, "x"))
        }
        #expect(server.received.map { $0.headers["Content-Length"] } == ["0", "0", "0", nil, nil, nil])
    }

    @Test("a large body does not wait for 100 Continue, a HEAD has no body, and an empty header is sent")
    func nothingOfLibcurlsOwn() async throws {
        server.onAny { _ in .json("1") }
        let transport = CurlTransport()
        let large = Data(count: 3 << 20)
        for (method, body) in [(HTTPMethod.post, large), (.head, Data("body".utf8)), (.get, Data())] {
            var request = HTTPRequest(method: method, url: try HTTPURL(server.baseURL + "/x"))
            request.headers["X-Empty"] = ""
            request.body = body.isEmpty ? nil : .bytes(body)
            let response = try await transport.send(request, context: TransportContext())
            #expect(response.status == 200)
        }
        await transport.shutdown()
        #expect(server.received.map(\.method) == [.post, .head, .get])
        #expect(server.received.map(\.body.count) == [large.count, 0, 0])
        #expect(server.received.allSatisfy { $0.headers["Expect"] == nil && $0.headers["X-Empty"] == "" })
    }

    @Test("C20: a call that was cancelled before it was handed over sends nothing")
    func cancelledBefore() async throws {
        server.onAny { _ in .json("1") }
        let transport = CurlTransport()
        let request = HTTPRequest(method: .get, url: try HTTPURL("\(server.baseURL)/x"))
        // From now on there is a connection, and a thread that sends at once.
        _ = try await transport.send(request, context: TransportContext())
        for _ in 0..<200 {
            let call = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return try await transport.send(request, context: TransportContext())
            }
            await #expect(throws: ServiceError.cancelled) { try await call.value }
        }
        _ = try await transport.send(request, context: TransportContext())
        #expect(server.received.count == 2)
        #expect(server.connections == (InstalledLibrary.announcesRequests ? 1 : 2))
    }

    @Test("C30: an unknown host name is a failure of its own")
    func unknownHost() async throws {
        // A name that is too long for DNS: the system does not have to ask a server.
        let client = APIClient("https://\(String(repeating: "a", count: 64)).test") {
            $0.retry = .never
            $0.timeout = .seconds(60)
        }
        #expect(await failure(.get("x"), client) == .dns)
    }

    @Test("a send without a client ends at its timeout, and one that is in time is left alone")
    func alone() async throws {
        server.on(.get, "/silent") { _ in .silence }
        server.on(.get, "/x") { _ in .json("1") }
        let (transport, clock) = (CurlTransport(), TestClock())
        let baseURL = server.baseURL
        @Sendable func send(_ path: String, within timeout: Duration) async throws -> Int {
            let request = HTTPRequest(method: .get, url: try HTTPURL(baseURL + path))
            return try await transport.send(request, context: TransportContext(timeout: timeout, time: clock)).status
        }
        #expect(try await send("/x", within: .seconds(60)) == 200)
        let silent = Task { try await send("/silent", within: .seconds(2)) }
        await server.received(atLeast: 2)
        await clock.advance(by: .seconds(2))
        let error = await #expect(throws: ServiceError.self) { try await silent.value }
        guard case .timedOut(let timeout) = error else { throw try #require(error) }
        #expect(timeout.bound == .attempt && timeout.limit == .seconds(2) && timeout.mayHaveReachedServer)
        await transport.shutdown()
    }

    @Test(
        "the connections of one wave of calls serve the next",
        .enabled(if: InstalledLibrary.announcesRequests, InstalledLibrary.announcesNothing))
    func waves() async throws {
        let count = 40
        let server = server
        let client = client()
        for _ in 1...3 {
            // No response is sent before all requests have arrived, so each needs a connection of its own.
            let meeting = Meeting(of: count)
            server.onAny { _ in
                meeting.wait()
                return .json("1")
            }
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<count { group.addTask { try await client.run(.get("x")) } }
                for try await _ in group {}
            }
        }
        #expect(server.received.count == 3 * count)
        #expect(server.connections == count)
    }

    @Test("the options of one request do not apply to the next")
    func forgetful() async throws {
        server.onAny { request in
            .json("\"\(request.method.rawValue) \(request.body.count) \(request.headers["X-One"] ?? "-")\"")
        }
        let client = client()
        let get = Endpoint<String>.get("x")
        for _ in 0..<3 {
            #expect(try await client.run(get) == "GET 0 -")
            #expect(try await client.run(.post("x", body: .json([1, 2]))) == "POST 5 -")
            #expect(try await client.run(get) == "GET 0 -")
            #expect(try await client.run(.post("x")) == "POST 0 -")
            #expect(try await client.run(.get("x", headers: ["X-One": "1"])) == "GET 0 1")
            #expect(try await client.run(.put("x", body: .json([1]))) == "PUT 3 -")
            #expect(try await client.run(.delete("x")) == "DELETE 0 -")
            #expect(try await client.reply(to: Endpoint<NoContent>.head("x")).status == 200)
            #expect(try await client.run(get) == "GET 0 -")
        }
        #expect(server.received.count == 27)
        #expect(server.received.filter { $0.method == .get }.allSatisfy { $0.headers["Content-Type"] == nil })
    }

    @Test("a failure before anything was sent says so, whatever the handle was used for before")
    func nothingSent() async throws {
        server.on(.get, "/x") { _ in .json("1") }
        let closed = try LoopbackServer(isListening: false)
        let transport = CurlTransport()
        for url in [server.baseURL, closed.baseURL, server.baseURL] {
            let request = HTTPRequest(method: .get, url: try HTTPURL(url + "/x"))
            do {
                let answer = try await transport.send(request, context: TransportContext())
                #expect(url == server.baseURL && answer.status == 200)
            } catch {
                let failure = try #require(error as? ServiceError)
                #expect(url == closed.baseURL && !failure.mayHaveReachedServer, "\(failure)")
            }
        }
        await transport.shutdown()
        let request = HTTPRequest(method: .get, url: try HTTPURL(server.baseURL + "/x"))
        let error = await #expect(throws: ServiceError.self) {
            try await transport.send(request, context: TransportContext())
        }
        #expect(error?.mayHaveReachedServer == false)
    }

    @Test("after its shutdown a transport sends nothing and says so")
    func shutDown() async throws {
        server.on(.get, "/x") { _ in .json("1") }
        let transport = CurlTransport()
        let client = client { $0.transport = transport }
        #expect(try await client.run(.get("x")) == 1)
        await transport.shutdown()
        await transport.shutdown()
        #expect(await failure(.get("x"), client) == .unavailable)
        #expect(server.received.count == 1)
    }

    @Test("the time of each phase is reported, in the reply and to listeners")
    func timings() async throws {
        server.on(.post, "/x") { _ in .json("1").after(.milliseconds(30)) }
        let client = client()
        let events = client.diagnostics
        let endpoint = Endpoint<Int>.post("x", body: .data(Data(repeating: 1, count: 5000), contentType: "text/plain"))
        let first = try #require(try await client.reply(to: endpoint).timings)
        let second = try #require(try await client.reply(to: endpoint).timings)
        let connected = try #require(first.connected)
        #expect(first.isConnectionReused == false && second.isConnectionReused == InstalledLibrary.announcesRequests)
        #expect(connected <= first.firstByte)
        #expect(first.firstByte >= .milliseconds(30) && second.firstByte >= .milliseconds(30))
        #expect(try #require(first.bytesSent) > 5000)
        #expect(try #require(first.bytesReceived) > 40)
        #expect(first.encrypted == nil && first.httpVersion == "1.1")
        await client.shutdown()
        var told: [Timings?] = []
        for await event in events {
            if case .answered(_, _, _, let timings) = event.kind { told.append(timings) }
        }
        #expect(told == [first, second])
    }

    @Test(
        "a timeout says what it interrupted",
        arguments: (InstalledLibrary.announcesRequests ? [Phase.connecting] : []) + [.waitingForResponse, .receiving])
    func phases(phase: Phase) async throws {
        server.on(.get, "/x") { _ in
            phase == .receiving
                ? LoopbackReply([.write(LoopbackReply.head(200, ["Content-Length": "2"])), .silence]) : .silence
        }
        // A server that does not speak TLS leaves the handshake waiting.
        let url = phase == .connecting ? "https://127.0.0.1:\(server.port)" : server.baseURL
        let (phases, reported) = AsyncStream.makeStream(of: Phase.self)
        let clock = TestClock()
        let context = TransportContext(timeout: .seconds(3), time: clock) { reported.yield($0) }
        let request = HTTPRequest(method: .get, url: try HTTPURL("\(url)/x"))
        let call = Task { try await CurlTransport().send(request, context: context) }
        for await next in phases where next == phase { break }
        await clock.advance(by: .seconds(3))
        let error = await #expect(throws: ServiceError.self) { try await call.value }
        guard case .timedOut(let timeout) = error else { throw try #require(error) }
        #expect(timeout.phase == phase)
    }
}
#endif
