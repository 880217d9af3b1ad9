#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Connections whose peer has disappeared without closing them.
@Suite(
    "Connections that fall silent",
    .enabled(if: Program.openssl.isInstalled && Program.nginx.isInstalled, "openssl or nginx is not installed"),
    .enabled(if: InstalledLibrary.speaksHTTP2, InstalledLibrary.speaksNoHTTP2),
    .timeLimit(.minutes(10)))
struct CurlSilenceTests {
    private let authority: TestAuthority
    private let server: HTTP2Server
    private let proxy: TunnelProxy
    private let transport: CurlTransport

    init() async throws {
        authority = try await TestAuthority()
        server = try await HTTP2Server(authority.issue())
        proxy = try TunnelProxy()
        var options = CurlTransport.Options()
        options.certificateAuthorities = authority.file
        options.proxy = .url("http://127.0.0.1:\(proxy.port)")
        options.proxiesLoopback = true
        transport = CurlTransport(options)
    }

    private func client(timeout: Duration) -> APIClient {
        APIClient(server.url) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.timeout = timeout
            $0.connectivity = .always
        }
    }

    @Test("C44: a shared connection that falls silent takes no new call after the first timeout", arguments: [1, 12])
    func frozen(calls: Int) async throws {
        server.backend.on(.get, "/x") { _ in .json("1") }
        let patient = client(timeout: .seconds(60))
        #expect(try await patient.run(.get("x")) == 1)
        proxy.freeze()
        // A call that waits for longer keeps the silent connection in use.
        let waiting = Task { try await patient.run(Endpoint<Int>.get("x")) }
        // In that time they all have to begin, which is easy on a busy machine too.
        let endpoint = Endpoint<Int>.get("x").timeout(.seconds(10)).retry(.never)
        let isTimedOut = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<calls {
                group.addTask {
                    let outcome = await Result(of: { () async throws(ServiceError) in try await patient.run(endpoint) })
                    return if case .timedOut = outcome.failure { true } else { false }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(isTimedOut == Array(repeating: true, count: calls))
        let attempts = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<calls {
                group.addTask { try await patient.reply(to: Endpoint<Int>.get("x")).attempts }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(attempts == Array(repeating: 1, count: calls))
        waiting.cancel()
        _ = await waiting.result
    }

    @Test("C44: so does one on which nothing comes after the head of a response")
    func frozenAfterHead() async throws {
        server.backend.on(.get, "/x") { _ in .json("1") }
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123"
        server.backend.on(.get, "/half", .raw(head, then: .silence).always)
        let client = client(timeout: .seconds(60))
        #expect(try await client.run(.get("x")) == 1)
        // The head has to come in the first half of this, on a busy machine too.
        let half = Endpoint<Int>.get("half").timeout(.seconds(10)).retry(.never)
        let error = await #expect(throws: ServiceError.self) { try await client.run(half) }
        guard case .timedOut = error else { throw try #require(error) }
        proxy.freeze()
        #expect(try await client.reply(to: Endpoint<Int>.get("x")).attempts == 1)
    }

    @Test("C44: so does one that falls silent in the middle of a long body")
    func frozenInBody() async throws {
        server.backend.on(.get, "/x") { _ in .json("1") }
        let head = Data("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1".utf8)
        let drops = (0..<3).flatMap { _ in [LoopbackReply.Step.pause(.seconds(3)), .write(Data("2".utf8))] }
        server.backend.on(.get, "/drip", LoopbackReply([.write(head)] + drops + [.silence]))
        let client = client(timeout: .seconds(60))
        #expect(try await client.run(.get("x")) == 1)
        // Half of the whole call is more than this.
        let drip = Endpoint<Int>.get("drip").timeout(.seconds(8)).retry(.never)
        let error = await #expect(throws: ServiceError.self) { try await client.run(drip) }
        guard case .timedOut = error else { throw try #require(error) }
        proxy.freeze()
        #expect(try await client.reply(to: Endpoint<Int>.get("x")).attempts == 1)
    }

    @Test("C44: a server that is only slow keeps its connection; so does a cancelled call")
    func slow() async throws {
        server.backend.on(.get, "/x") { _ in .json("1") }
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        server.backend.on(.get, "/silent") { _ in
            arrived.yield()
            return .silence
        }
        var arrival = arrivals.makeAsyncIterator()
        let client = client(timeout: .seconds(60))
        #expect(try await client.run(.get("x")) == 1)
        for _ in 0..<3 {
            let silent = Task { try await client.run(Endpoint<Int>.get("silent")) }
            await arrival.next()
            silent.cancel()
            _ = await silent.result
        }
        // Half of this is the longest pause between the calls below, and a busy machine makes long ones.
        let late = Task { try await client.run(Endpoint<Int>.get("silent").timeout(.seconds(20)).retry(.never)) }
        await arrival.next()
        let isOver = Noted(false)
        let ending = Task {
            _ = await late.result
            isOver.value = true
        }
        // The bytes that arrive in that time show that the connection works.
        while !isOver.value {
            #expect(try await client.run(.get("x")) == 1)
            // nginx ends a connection after 1,000 requests.
            try await Task.sleep(for: .milliseconds(50))
        }
        await ending.value
        let error = await #expect(throws: ServiceError.self) { try await late.value }
        guard case .timedOut = error else { throw try #require(error) }
        #expect(try await client.run(.get("x")) == 1)
        #expect(proxy.received.count == 1)
    }

    @Test("C44: the body of another response shows that the connection works")
    func slowBeside() async throws {
        server.backend.on(.get, "/x") { _ in .json("1") }
        server.backend.on(.get, "/silent") { _ in .silence }
        let body = Data(repeating: 32, count: 30_000)
        server.backend.on(.get, "/long") { _ in
            LoopbackReply([
                .write(Data("HTTP/1.1 200 OK\r\nContent-Length: 30000\r\n\r\n".utf8)),
                .drip(body, every: .milliseconds(20)),
            ])
        }
        let client = client(timeout: .seconds(60))
        var long = try await client.stream(.get("long")).chunks.makeAsyncIterator()
        #expect(try await long.next() != nil)
        // Half of this is the longest pause between two pieces, and a busy machine makes long ones.
        let silent = Endpoint<Int>.get("silent").timeout(.seconds(20)).retry(.never)
        let late = Task { try await client.run(silent) }
        let isOver = Noted(false)
        let ending = Task {
            _ = await late.result
            isOver.value = true
        }
        while !isOver.value, try await long.next() != nil {}
        await ending.value
        let error = await #expect(throws: ServiceError.self) { try await late.value }
        guard case .timedOut = error else { throw try #require(error) }
        #expect(try await client.run(.get("x")) == 1)
        #expect(proxy.received.count == 1)
    }

    @Test(
        "C44: frames that belong to no request do not keep a connection on which nothing is answered",
        .enabled(if: Program.python3.isInstalled, "python3 is not installed"))
    func onlyPings() async throws {
        let server = try await PythonServer(
            authority.issue(), speaking: "h2",
            """
            def serve(connection, number):
                greet(connection)
                while True:
                    stream, _ = next_request(connection)
                    connection.sendall(frame(HEADERS, END_HEADERS | END_STREAM, stream, OK))
                    while number == 1:
                        connection.sendall(frame(PING, 0, 0, bytes(8)))
                        time.sleep(0.02)
            """)
        let transport = authority.transport()
        let client = APIClient(server.url) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.retry = .never
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
        }
        let endpoint = Endpoint<NoContent>.get("x")
        _ = try await client.run(endpoint)
        let error = await #expect(throws: ServiceError.self) { try await client.run(endpoint.timeout(.seconds(1))) }
        guard case .timedOut = error else { throw try #require(error) }
        _ = try await client.run(endpoint)
    }
}
#endif
