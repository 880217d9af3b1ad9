#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Requests to a Unix socket. The cases of the transport conformance run over one, too.
@Suite("Unix sockets", .timeLimit(.minutes(10))) struct CurlUnixSocketTests {
    private static let inapplicable = [
        "C22: a hundred calls to a port that refuses end when they are canceled": anotherServer,
        "C30: a port without a listener refuses, and nothing was sent": anotherServer,
        "C50: what may be secret is dropped when the origin changes, and does not come back": anotherServer,
        "C42: a request goes out as it was made, and nothing is added that changes its meaning": "it expects a port",
        "C34: bytes that come after the answer was taken never reach the next answer":
            "the server cannot write to a Unix socket that the client has closed",
    ]
    private static let anotherServer = "it is about another server, and every request goes to the socket"
    private static let cases = TransportConformance.all.filter {
        CurlExclusions.withOwnConnections[$0.description] == nil && inapplicable[$0.description] == nil
    }

    private let scratch: Scratch
    private var path: String { scratch.path("server.sock") }

    init() throws {
        scratch = try Scratch()
    }

    private func transport(_ change: (inout CurlTransport.Options) -> Void = { _ in }) -> CurlTransport {
        var options = CurlTransport.Options()
        options.unixSocket = path
        change(&options)
        return CurlTransport(options)
    }

    private func client(
        _ transport: CurlTransport, at url: String = "http://localhost",
        _ change: (inout Configuration) -> Void = { _ in }
    ) -> APIClient {
        APIClient(url) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.retry = .never
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
            change(&$0)
        }
    }

    private func failure(_ client: APIClient) async throws -> TransportFailure {
        let error = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.post("x")) }
        guard case .transport(let failure) = error else { throw try #require(error) }
        return failure
    }

    @Test("C94: the transport passes each case to a Unix socket", arguments: cases)
    func conforms(_ rule: TransportConformance.Case) async throws {
        let server = try LoopbackServer(unixSocket: path)
        defer { server.close() }
        let path = path
        try await rule.check(against: server) {
            var options = CurlTransport.Options()
            options.unixSocket = path
            return CurlTransport(options)
        }
    }

    @Test("C49: each request has a connection of its own, which ends with it")
    func connections() async throws {
        let server = try LoopbackServer(unixSocket: path)
        server.onAny { request in .json("\(request.connection)") }
        let transport = transport()
        let client = client(transport)
        var connections: Set<Int> = []
        for _ in 0..<20 { connections.insert(try await client.run(.get("x"))) }
        #expect(connections.count == 20)
        // The transport is still there, so it is not its end that closes them.
        await server.connectionsClosed()
        #expect(server.openConnections == 0)
        await transport.shutdown()
    }

    @Test("C49: what goes to http://localhost may carry a token, and no proxy gets it")
    func proxies() async throws {
        let server = try LoopbackServer(unixSocket: path)
        server.onAny(.json("1").always)
        for proxy in [CurlTransport.Options.Proxy.environment, .none, .url("http://127.0.0.1:9")] {
            let transport = transport {
                $0.proxy = proxy
                $0.proxiesLoopback = true
                $0.http3 = .assumed
            }
            let endpoint = Endpoint<Int>.get("x").header("Authorization", "Bearer t")
            #expect(try await client(transport).run(endpoint) == 1)
            await transport.shutdown()
        }
        #expect(server.received.count == 3)
        #expect(server.received.allSatisfy { $0.headers["Authorization"] == "Bearer t" })
        #expect(server.received.allSatisfy { $0.headers["Host"] == "localhost" })
    }

    @Test("C49: another host in the URL goes to the same socket")
    func hosts() async throws {
        let server = try LoopbackServer(unixSocket: path)
        server.onAny(.json("1").always)
        let transport = transport()
        let client = client(transport, at: "http://engine.internal:81/v1") { $0.allowsCleartext = true }
        #expect(try await client.run(Endpoint<Int>.get("x")) == 1)
        #expect(server.received.first?.headers["Host"] == "engine.internal:81")
        #expect(server.received.first?.target == "/v1/x")
        await transport.shutdown()
    }

    @Test("C49: a socket that is not there, or on which nobody listens, is named, and nothing was sent")
    func missing() async throws {
        let transport = transport()
        let absent = try await failure(client(transport))
        #expect(absent.kind == .refused && !absent.mayHaveReachedServer)
        #expect(absent.message.contains(path) && absent.message.contains("No such file"))

        let server = try LoopbackServer(unixSocket: path, isListening: false)
        let deaf = try await failure(client(transport))
        #expect(deaf.kind == .refused && deaf.message.contains("refused"))
        // The transport finds a server that starts later.
        server.onAny(.json("1").always)
        try server.listen()
        #expect(try await client(transport).run(Endpoint<Int>.get("x")) == 1)
        await transport.shutdown()
    }

    @Test("C49: a server that accepts nothing more refuses, and nothing was sent")
    func full() async throws {
        let queue = try FullQueue(at: path)
        let transport = transport()
        let failure = try await failure(client(transport))
        #expect(failure.kind == .refused && !failure.mayHaveReachedServer, "\(failure)")
        #expect(failure.message.contains(path) && failure.message.contains("takes no more connections now"))
        await transport.shutdown()
        queue.close()
    }

    private static let badPaths: [String] = ["", String(repeating: "x", count: 108), "a\0b"]

    @Test("C49: a path that the system does not allow is refused", arguments: badPaths)
    func badPath(_ path: String) async throws {
        let transport = transport { $0.unixSocket = path }
        let error = await #expect(throws: ServiceError.self) {
            try await client(transport).run(Endpoint<Int>.post("x"))
        }
        guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
        #expect(invalid.subject == .configuration && invalid.reason.contains("107 bytes"))
        await transport.shutdown()
    }

    @Test("C49: a server that ends the connection instead of an answer is not asked again")
    func ended() async throws {
        let server = try LoopbackServer(unixSocket: path)
        server.onAny(.close.always)
        let transport = transport()
        let failure = try await failure(client(transport))
        #expect([.reset, .truncated].contains(failure.kind) && failure.mayHaveReachedServer)
        #expect(server.received.count == 1)
        await transport.shutdown()
    }
}

/// A Unix socket that listens, whose queue of one connection is full.
private final class FullQueue {
    private let listener: CInt
    private var waiting: [CInt] = []

    init(at path: String) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let kind = CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
        listener = socket(AF_UNIX, kind, 0)
        let connects: (CInt, (CInt, UnsafePointer<sockaddr>, socklen_t) -> CInt) -> Bool = { descriptor, call in
            withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(descriptor, $0, length) == 0 }
            }
        }
        try #require(connects(listener, { bind($0, $1, $2) }) && listen(listener, 0) == 0)
        while true {
            let descriptor = socket(AF_UNIX, kind, 0)
            waiting.append(descriptor)
            if !connects(descriptor, { connect($0, $1, $2) }) { break }
            try #require(waiting.count < 100)
        }
    }

    func close() {
        for descriptor in waiting + [listener] { _ = Glibc.close(descriptor) }
    }
}
#endif
