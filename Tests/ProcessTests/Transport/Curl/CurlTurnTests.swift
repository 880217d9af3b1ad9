#if os(Linux)
@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Requests that wait for their turn at a server.
@Suite("Turns at an origin", .timeLimit(.minutes(10))) struct CurlTurnTests {
    private let server: LoopbackServer
    private let transport: CurlTransport
    /// Ends the responses to `/held`.
    private let gate = Gate()

    /// A door that threads wait at until it is opened.
    private final class Gate: @unchecked Sendable {
        // The condition guards the state.
        private let condition = NSCondition()
        private var isOpen = false

        func wait() {
            condition.withLock { while !isOpen { condition.wait() } }
        }

        func open() {
            condition.withLock {
                isOpen = true
                condition.broadcast()
            }
        }
    }

    init() throws {
        server = try LoopbackServer()
        var options = CurlTransport.Options()
        options.connectionsPerOrigin = 1
        transport = CurlTransport(options)
        let gate = gate
        server.onAny { request in
            switch request.path {
            case "/held": gate.wait()
            case "/signed" where request.headers["Authorization"] != "Bearer new": return .status(401)
            default: break
            }
            return .json("1")
        }
    }

    private func client(_ configure: (inout Configuration) -> Void = { _ in }) -> APIClient {
        APIClient(server.baseURL) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.retry = .never
            $0.timeout = .seconds(60)
            configure(&$0)
        }
    }

    /// Begins a request that holds the only place of its client.
    private func hold(_ client: APIClient) async -> Task<Int, any Error> {
        let task = Task { try await client.run(Endpoint<Int>.get("held")) }
        await server.received(atLeast: 1)
        return task
    }

    /// Begins a request that holds the only place of those without a client.
    private func hold() async throws -> Task<HTTPResponse, any Error> {
        let request = HTTPRequest(method: .get, url: try HTTPURL(server.baseURL + "/held"))
        let task = Task { try await transport.send(request, context: TransportContext(timeout: .seconds(60))) }
        await server.received(atLeast: 1)
        return task
    }

    /// Begins a request, and waits until it has reached that phase.
    private func begin(_ path: String, until phase: Phase) async throws -> Task<HTTPResponse, any Error> {
        let (phases, continuation) = AsyncStream.makeStream(of: Phase.self)
        let request = HTTPRequest(method: .get, url: try HTTPURL(server.baseURL + path))
        let context = TransportContext(timeout: .seconds(60)) { continuation.yield($0) }
        let task = Task { try await transport.send(request, context: context) }
        for await next in phases where next == phase { break }
        return task
    }

    @Test("further requests wait, and are sent in the order they came, on the connections that are there")
    func inOrder() async throws {
        let held = try await hold()
        var waiting: [Task<HTTPResponse, any Error>] = []
        for number in 0..<20 { waiting.append(try await begin("/\(number)", until: .waitingForConnection)) }
        #expect(server.received.count == 1)
        gate.open()
        for task in waiting { #expect(try await task.value.status == 200) }
        #expect(try await held.value.status == 200)
        #expect(server.received.dropFirst().map(\.path) == (0..<20).map { "/\($0)" })
        #expect(server.connections == 1 || !InstalledLibrary.announcesRequests)
    }

    @Test("a request that cannot be prepared gives its place back")
    func unprepared() async throws {
        var options = CurlTransport.Options()
        options.connectionsPerOrigin = 1
        options.pinnedPublicKeys = ["no pin"]
        let transport = CurlTransport(options)
        let request = HTTPRequest(method: .get, url: try HTTPURL(server.baseURL + "/x"))
        for _ in 0..<2 {
            let error = await #expect(throws: ServiceError.self) {
                try await transport.send(request, context: TransportContext(timeout: .seconds(60)))
            }
            guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
            #expect(invalid.subject == .configuration)
            // Otherwise the next one would wait for ever.
            try #require(transport.isIdle)
        }
    }

    @Test("C1: a request that cannot be prepared uses no permit")
    func unpreparedPermit() async throws {
        var options = CurlTransport.Options()
        options.clientCertificate = .init(certificate: "/nowhere/mine.pem", key: "/nowhere/mine.pem")
        let transport = CurlTransport(options)
        let client = client {
            $0.transport = transport
            $0.rateLimit = .requests(1, per: .seconds(3600))
        }
        for _ in 0..<2 {
            // A wait for the only permit would be longer than the deadline.
            let error = await #expect(throws: ServiceError.self) {
                try await client.run(Endpoint<Int>.get("x").deadline(.seconds(60)))
            }
            guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
            #expect(invalid.subject == .configuration)
        }
    }

    @Test("one that is cancelled in the queue ends at once and sends nothing")
    func cancelled() async throws {
        let held = try await hold()
        let first = try await begin("/first", until: .waitingForConnection)
        let second = try await begin("/second", until: .waitingForConnection)
        first.cancel()
        await #expect(throws: ServiceError.cancelled) { try await first.value }
        gate.open()
        #expect(try await second.value.status == 200)
        #expect(try await held.value.status == 200)
        #expect(server.received.map(\.path) == ["/held", "/second"])
    }

    @Test("the timeout begins with a request's turn, the deadline before")
    func limits() async throws {
        let clock = TestClock()
        let client = client { $0.time = clock }
        let held = await hold(client)
        let waiting = Task { try await client.run(Endpoint<Int>.get("x").timeout(.seconds(2))) }
        let late = Task { try await client.run(Endpoint<Int>.get("x").deadline(.seconds(4))) }
        while transport.waiting < 2 { try await Task.sleep(for: .milliseconds(1)) }
        await clock.advance(by: .seconds(4))
        let error = await #expect(throws: ServiceError.self) { try await late.value }
        guard case .timedOut(let timeout) = error else { throw try #require(error) }
        #expect(timeout.bound == .deadline && timeout.phase == .waitingForConnection)
        #expect(timeout.mayHaveReachedServer == false)
        gate.open()
        #expect(try await waiting.value == 1)
        #expect(try await held.value == 1)
    }

    @Test("a stream keeps its place until it has been read or dropped")
    func streamed() async throws {
        server.on(.get, "/endless") { _ in .endless() }
        let request = HTTPRequest(method: .get, url: try HTTPURL(server.baseURL + "/endless"))
        var stream: HTTPResponse? = try await transport.send(
            request, context: TransportContext(delivery: .stream, timeout: .seconds(60)))
        let waiting = try await begin("/x", until: .waitingForConnection)
        #expect(stream?.status == 200)
        stream = nil
        #expect(try await waiting.value.status == 200)
    }

    @Test("streams that a client does not read block no other client")
    func otherClients() async throws {
        server.on(.get, "/endless") { _ in .endless() }
        let stream = try await client().stream(.get("endless"))
        #expect(try await client().run(Endpoint<Int>.get("x")) == 1)
        #expect(
            try await transport.send(
                HTTPRequest(method: .get, url: HTTPURL(server.baseURL + "/x")), context: TransportContext()
            ).status == 200)
        #expect(stream.status == 200)
    }

    @Test("the end of the transport ends those in the queue")
    func shutDown() async throws {
        let held = try await hold()
        let waiting = try await begin("/x", until: .waitingForConnection)
        await transport.shutdown()
        let error = await #expect(throws: ServiceError.self) { try await waiting.value }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(!failure.mayHaveReachedServer)
        gate.open()
        await #expect(throws: ServiceError.self) { try await held.value }
        #expect(server.received.count == 1)
    }

    @Test("a token is refreshed at once, though many calls want the only place")
    func refresh() async throws {
        let issuer = client()
        let tokens = TokenStore { _ in
            _ = try await issuer.run(Endpoint<Int>.post("token"))
            return Token(accessToken: "new")
        }
        await tokens.signIn(Token(accessToken: "old"))
        let client = client { $0.tokens = tokens }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<50 { group.addTask { try await client.run(Endpoint<Int>.get("signed")) } }
            for try await number in group { #expect(number == 1) }
        }
        #expect(server.received.count { $0.path == "/token" } == 1)
        // Each of the two clients has one place.
        #expect(server.connections <= 2 || !InstalledLibrary.announcesRequests)
    }

    @Test("requests that have waited for a connection are sent at the pace of the limit")
    func paced() async throws {
        let clock = TestClock()
        let limiter = RateLimiter(.requests(2, per: .seconds(1)), time: clock)
        let limited = client {
            $0.time = clock
            $0.limiter = limiter
        }
        let held = await hold(limited)
        // Over four seconds, eight calls receive permits, and wait for the connection with them.
        let waiting = (0..<8).map { _ in Task { try await limited.run(Endpoint<Int>.get("x")) } }
        while transport.waiting < 8 {
            // Not while one of them is on its way from the limiter to the transport: its timeout would run.
            let isSettled = limiter.snapshot.waiters + transport.waiting == 8
            await clock.advance(by: isSettled ? .seconds(1) : .zero)
            await Task.yield()
        }
        await clock.advance(by: .seconds(1))
        gate.open()
        for sent in [2, 4, 6, 8] {
            // Until the next one has its turn, and waits for a permit; behind the last two nobody waits. No time
            // passes, but an alarm that was set while the time came fires.
            while server.received.count < 1 + sent || (limiter.snapshot.waiters == 0 && sent < 8) {
                guard server.received.count <= 1 + sent else { break }
                await clock.advance(by: .zero)
                await Task.yield()
            }
            #expect(server.received.count == 1 + sent)
            await clock.advance(by: .seconds(1))
        }
        for task in waiting { #expect(try await task.value == 1) }
        #expect(try await held.value == 1)
    }

    @Test("a thousand requests at once need no more connections than there are places")
    func thousand() async throws {
        var options = CurlTransport.Options()
        options.connectionsPerOrigin = 8
        let transport = CurlTransport(options)
        let client = client { $0.transport = transport }
        // Half of them are cancelled, wherever they are.
        let tasks = (0..<1000).map { _ in Task { try await client.run(Endpoint<Int>.get("x")) } }
        for (number, task) in tasks.enumerated() where number.isMultiple(of: 2) { task.cancel() }
        for (number, task) in tasks.enumerated() {
            switch await task.result {
            case .success(let value): #expect(value == 1)
            case .failure(let error): #expect(error as? ServiceError == .cancelled && number.isMultiple(of: 2))
            }
        }
        // A cancelled one may have closed its connection, which the server sees a moment later.
        while server.openConnections > 8 { try await Task.sleep(for: .milliseconds(5)) }
        #expect(try await client.run(Endpoint<Int>.get("x")) == 1)
    }
}

@Suite(
    "Turns over HTTP/2",
    .enabled(if: Program.openssl.isInstalled && Program.nginx.isInstalled, "openssl or nginx is not installed"),
    .enabled(if: InstalledLibrary.speaksHTTP2, InstalledLibrary.speaksNoHTTP2),
    .timeLimit(.minutes(10)))
struct CurlHTTP2TurnTests {
    @Test("once an origin speaks HTTP/2, as many requests are sent at once as there may be streams")
    func streams() async throws {
        let authority = try await TestAuthority()
        let server = try await HTTP2Server(authority.issue())
        let meeting = Meeting(of: 8)
        server.backend.onAny { request in
            if request.path == "/meet" { meeting.wait() }
            return .json("1")
        }
        var options = CurlTransport.Options()
        options.certificateAuthorities = authority.file
        options.connectionsPerOrigin = 1
        options.streamsPerOrigin = 8
        let transport = CurlTransport(options)
        let client = APIClient(server.url) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.timeout = .seconds(60)
        }
        #expect(try await client.run(.get("x")) == 1)
        // None of them gets a response before all have arrived.
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 { group.addTask { try await client.run(.get("meet")) } }
            for try await number in group { #expect(number == 1) }
        }
    }

    @Test("a call that is cancelled before its response says nothing about what its origin speaks")
    func cancelled() async throws {
        let authority = try await TestAuthority()
        let server = try await HTTP2Server(authority.issue())
        let meeting = Meeting(of: 4)
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        server.backend.onAny { request in
            switch request.path {
            case "/meet": meeting.wait()
            case "/silent":
                arrived.yield()
                return .silence
            default: break
            }
            return .json("1")
        }
        var options = CurlTransport.Options()
        options.certificateAuthorities = authority.file
        options.connectionsPerOrigin = 1
        options.streamsPerOrigin = 4
        let transport = CurlTransport(options)
        let client = APIClient(server.url) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.retry = .never
            $0.timeout = .seconds(20)
        }
        #expect(try await client.run(.get("x")) == 1)
        let silent = Task { try await client.run(Endpoint<Int>.get("silent")) }
        var arrival = arrivals.makeAsyncIterator()
        await arrival.next()
        silent.cancel()
        await #expect(throws: ServiceError.cancelled) { try await silent.value }
        // None of them gets a response before all have arrived.
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 { group.addTask { try await client.run(.get("meet")) } }
            for try await number in group { #expect(number == 1) }
        }
    }
}
#endif
