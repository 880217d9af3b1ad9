#if os(Linux)
import Errand
import ErrandTesting
import Foundation
import Testing

/// The rules of the wire, against a server that misbehaves, with real time only where it is the subject.
@Suite struct CurlTransportTests {
    private let server: LoopbackServer

    init() throws {
        server = try LoopbackServer()
    }

    private func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        var configuration = Configuration(ServerEnvironment("loopback", server.baseURL))
        configuration.rateLimit = .unlimited
        configuration.retry = .never
        // Real time: a busy machine is no reason to fail.
        configuration.timeout = .seconds(60)
        configure(&configuration)
        return APIClient(configuration)
    }

    private func failure(_ endpoint: Endpoint<Int>, _ client: APIClient) async -> TransportFailure.Kind? {
        do throws(ServiceError) {
            _ = try await client.run(endpoint)
        } catch {
            if case .transport(let failure) = error { return failure.kind }
        }
        return nil
    }

    @Test("a call goes out as it was built and comes back decoded")
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

    @Test("C30: a refused connection and an unknown host are told apart")
    func refusedAndUnknown() async throws {
        let port = server.port
        server.close()
        let refused = APIClient("http://127.0.0.1:\(port)") { $0.retry = .never }
        #expect(await failure(.get("x"), refused) == .refused)
        let unknown = APIClient("https://nobody.invalid") { $0.retry = .never }
        #expect(await failure(.get("x"), unknown) == .dns)
    }

    @Test("C31: silence is a timeout of the attempt")
    func silence() async throws {
        server.on(.get, "/x") { _ in .silence }
        let start = ContinuousClock.now
        do throws(ServiceError) {
            _ = try await client().run(Endpoint<Int>.get("x").timeout(.milliseconds(300)))
            Issue.record("an answer out of silence")
        } catch {
            guard case .timedOut(let timeout) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(timeout.bound == .attempt)
            #expect(start.duration(to: .now) >= .milliseconds(300))
        }
    }

    @Test(
        "C32, C33, C35, C36: what breaks, breaks by kind",
        arguments: [
            ("", .reset),
            ("HTTP/1.1 200 OK\r\nContent-Le", .truncated),
            ("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123", .truncated),
            ("what is this?\r\n\r\n", .malformed),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n123", .malformed),
        ] as [(String, TransportFailure.Kind)])
    func brokenAnswers(raw: String, kind: TransportFailure.Kind) async throws {
        server.on(.get, "/x") { _ in .raw(raw) }
        #expect(await failure(.get("x"), client()) == kind)
    }

    @Test("C40: an endless body stops at the limit")
    func endless() async throws {
        server.on(.get, "/x") { _ in
            LoopbackReply([
                .write(Data("HTTP/1.1 200 OK\r\n\r\n".utf8)), .repeatForever(Data(repeating: 32, count: 65_536)),
            ])
        }
        #expect(await failure(.get("x"), client { $0.responseByteLimit = 1 << 20 }) == .tooLarge)
    }

    @Test("C41: a thousand calls use one connection")
    func keepAlive() async throws {
        server.on(.get, "/x") { _ in .json("1") }
        let client = client()
        for _ in 0..<1000 { #expect(try await client.run(.get("x")) == 1) }
        #expect(server.connections == 1)
    }

    @Test("C11: an unkeyed POST is not sent twice when the kept connection is dead", arguments: ["", "body"])
    func noSecondPost(body: String) async throws {
        server.on(.get, "/warm") { _ in .json("1") }
        server.on(.post, "/x") { _ in .close }
        let client = client()
        for _ in 0..<10 {
            _ = try await client.run(Endpoint<Int>.get("warm"))
            let endpoint = Endpoint<Int>.post("x", body: .data(Data(body.utf8), contentType: "text/plain"))
            #expect(await failure(endpoint, client) == .reset)
        }
        #expect(server.received.count { $0.method == .post } == 10)
    }

    @Test("C22: a hundred calls cancelled at once end, all of them cancelled")
    func massCancellation() async throws {
        server.on(.get, "/x") { _ in .silence }
        let client = client()
        let outcomes = await withTaskGroup(of: ServiceError?.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    do throws(ServiceError) { _ = try await client.run(Endpoint<Int>.get("x")) } catch { return error }
                    return nil
                }
            }
            while server.received.count < 100 { await Task.yield() }
            group.cancelAll()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes == Array(repeating: .cancelled, count: 100))
        await client.shutdown()
    }

    @Test("C39: gzip is unpacked, within the limit on what comes out")
    func compressed() async throws {
        let one = try #require(Data(base64Encoded: "H4sIAGbtAGsC/zMEALfv3IMBAAAA"))
        server.on(.get, "/x") { _ in .status(200, headers: ["Content-Encoding": "gzip"], body: one) }
        #expect(try await client().run(.get("x")) == 1)
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

    @Test("the time of each part is told, in the reply and to those who listen")
    func timings() async throws {
        server.on(.post, "/x") { _ in .json("1").after(.milliseconds(30)) }
        let client = client()
        let events = client.events
        let endpoint = Endpoint<Int>.post("x", body: .data(Data(repeating: 1, count: 5000), contentType: "text/plain"))
        let first = try #require(try await client.reply(to: endpoint).timings)
        let second = try #require(try await client.reply(to: endpoint).timings)
        let connected = try #require(first.connected)
        #expect(!first.isConnectionReused && second.isConnectionReused)
        #expect(connected <= first.firstByte)
        #expect(first.firstByte >= .milliseconds(30) && second.firstByte >= .milliseconds(30))
        #expect(first.bytesSent > 5000 && first.bytesReceived > 40)
        #expect(first.encrypted == nil && first.httpVersion == "1.1")
        await client.shutdown()
        var told: [Timings?] = []
        for await event in events {
            if case .answered(_, _, _, let timings) = event.kind { told.append(timings) }
        }
        #expect(told == [first, second])
    }

    @Test("a timeout says what it interrupted", arguments: [Phase.connecting, .waitingForResponse, .receiving])
    func phases(phase: Phase) async throws {
        server.on(.get, "/x") { _ in
            phase == .receiving
                ? LoopbackReply([.write(LoopbackReply.head(200, ["Content-Length": "2"])), .silence]) : .silence
        }
        // A server that does not speak TLS leaves the handshake waiting.
        let url = phase == .connecting ? "https://127.0.0.1:\(server.port)" : server.baseURL
        let client = APIClient(url) { $0.retry = .never }
        do throws(ServiceError) {
            _ = try await client.run(Endpoint<Int>.get("x").timeout(.milliseconds(500)))
            Issue.record("an answer out of silence")
        } catch {
            guard case .timedOut(let timeout) = error else { throw error }
            #expect(timeout.phase == phase)
        }
    }

    @Test("C43: an answer that does not come holds up none of two hundred others")
    func slowOne() async throws {
        server.on(.get, "/slow") { _ in .silence }
        server.on(.get, "/x") { _ in .json("1") }
        let client = client()
        let slow = Task { try await client.run(Endpoint<Int>.get("slow")) }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<200 { group.addTask { try await client.run(.get("x")) } }
            for try await value in group { #expect(value == 1) }
        }
        slow.cancel()
        await #expect(throws: ServiceError.cancelled) { try await slow.value }
    }
}
#endif
