#if os(Linux)
@testable import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// HTTP/3 against a server of aioquic, which `.ci/libcurls` installs.
@Suite(
    "HTTP/3 through libcurl", .enabled(if: HTTP3Server.isAvailable, HTTP3Server.isMissing), .timeLimit(.minutes(10)))
struct CurlHTTP3Tests {
    private let authority: TestAuthority

    init() async throws {
        authority = try await TestAuthority()
    }

    private func client(
        _ server: HTTP3Server, _ http3: CurlTransport.Options.HTTP3
    ) -> APIClient {
        APIClient(server.url) {
            $0.transport = authority.transport { $0.http3 = http3 }
            $0.rateLimit = .unlimited
            $0.retry = .never
            // Real time: a busy machine must not fail the test.
            $0.timeout = .seconds(60)
        }
    }

    private func version<Value>(_ client: APIClient, _ endpoint: Endpoint<Value>) async throws -> String? {
        try await client.reply(to: endpoint).timings?.httpVersion
    }

    @Test("C44, C96: a server that announces HTTP/3 is called over it from the next call on, on one connection")
    func announced() async throws {
        let server = try await HTTP3Server(authority)
        server.backend.on(.get, "/x", .json("1", headers: server.announcement).always)
        let client = client(server, .whenAnnounced)
        var versions: [String?] = []
        for _ in 0..<5 { versions.append(try await version(client, Endpoint<Int>.get("x"))) }
        #expect(versions == ["1.1", "3", "3", "3", "3"])
        #expect(server.connections == ["h3-1"])
    }

    @Test("C44, C96: without an announcement, after its withdrawal, and by default, there is no HTTP/3")
    func unannounced() async throws {
        let server = try await HTTP3Server(authority)
        let headers = Noted([:] as HTTPHeaders)
        server.backend.on(.get, "/x") { _ in .json("1", headers: headers.value) }
        let client = client(server, .whenAnnounced)
        for _ in 0..<3 { #expect(try await version(client, Endpoint<Int>.get("x")) == "1.1") }
        headers.value = ["Alt-Svc": "h3=\":\(server.port + 1)\""]
        for _ in 0..<3 { #expect(try await version(client, Endpoint<Int>.get("x")) == "1.1") }
        headers.value = server.announcement
        #expect(try await version(client, Endpoint<Int>.get("x")) == "1.1")
        #expect(try await version(client, Endpoint<Int>.get("x")) == "3")
        headers.value = ["Alt-Svc": "clear"]
        #expect(try await version(client, Endpoint<Int>.get("x")) == "3")
        #expect(try await version(client, Endpoint<Int>.get("x")) == "1.1")
        headers.value = server.announcement
        let usual = APIClient(server.url) { $0.transport = authority.transport() }
        for _ in 0..<3 { #expect(try await version(usual, Endpoint<Int>.get("x")) == "1.1") }
    }

    @Test("F4, C96: a request that is not sent because its permit has ended says nothing about HTTP/3")
    func permitEnded() async throws {
        let server = try await HTTP3Server(authority)
        server.backend.on(.get, "/x", .json("1", headers: server.announcement).always)
        let permits = EndingPermits(ends: [.distantFuture])
        let client = APIClient(server.url) {
            $0.transport = authority.transport { $0.http3 = .whenAnnounced }
            $0.limiter = RateLimiter(.requests(5, per: .seconds(1)), of: permits, time: .system)
            $0.retry = .never
            $0.timeout = .seconds(60)
        }
        for expected in ["1.1", "3"] { #expect(try await version(client, Endpoint<Int>.get("x")) == expected) }
        permits.ends.withLock { $0 = [.zero] }
        let error = await #expect(throws: ServiceError.self) { try await client.run(Endpoint<Int>.get("x")) }
        #expect("\(error as Any)".contains("ended before the request was sent"))
        permits.ends.withLock { $0 = [.distantFuture] }
        #expect(try await version(client, Endpoint<Int>.get("x")) == "3")
    }

    @Test("C44, C96: a server that is assumed to speak HTTP/3 is called over it at once")
    func assumed() async throws {
        let server = try await HTTP3Server(authority)
        server.backend.on(.get, "/x", .json("1").always)
        let client = client(server, .assumed)
        for _ in 0..<3 {
            let reply = try await client.reply(to: Endpoint<Int>.get("x"))
            #expect(reply.timings?.httpVersion == "3")
            #expect(reply.timings?.description.hasPrefix("HTTP/3, ") == true)
        }
        #expect(server.connections == ["h3-1"])
    }

    @Test("C44: a client presents its certificate over HTTP/3 to a server that asks for one")
    func clientCertificate() async throws {
        let server = try await HTTP3Server(authority, asksForCertificate: true)
        server.backend.on(.get, "/x", .json("1").always)
        let mine = try await authority.issue(to: "me")
        let client = APIClient(server.url) {
            $0.transport = authority.transport {
                $0.http3 = .assumed
                $0.clientCertificate = .init(certificate: mine.file, key: mine.key)
            }
            $0.timeout = .seconds(60)
        }
        #expect(try await version(client, Endpoint<Int>.get("x")) == "3")
        #expect(try await version(self.client(server, .assumed), Endpoint<Int>.get("x")) == "3")
        #expect(server.backend.received.map { $0.headers["X-Certificate"] } == ["CN=me", nil])
    }

    @Test("C44: requests that go through the environment's proxy do not use HTTP/3")
    func environmentProxy() async throws {
        let proxy = try LoopbackServer()
        proxy.onAny { _ in .status(502) }
        let probe = try Child(
            "TransportProbe", ["get", "https://service.invalid/x", "http3=assumed"],
            environment: ["https_proxy": "http://127.0.0.1:\(proxy.port)"])
        // Without it, the lookup of the host would fail.
        #expect(try await probe.end().lines.first?.hasPrefix("proxy false") == true)
        #expect(proxy.received.map(\.method.rawValue) == ["CONNECT"])
    }

    @Test("C44: a hundred calls at once share one connection of HTTP/3", arguments: [true, false])
    func multiplexed(isAssumed: Bool) async throws {
        let server = try await HTTP3Server(authority)
        server.backend.on(.get, "/first", .json("1", headers: server.announcement).always)
        // No response is sent before all requests have arrived, so none of them waited for another.
        let (arrived, gate) = (Noted(0), DispatchSemaphore(value: 0))
        server.backend.on(.get, "/x") { _ in
            arrived.update { count in
                count += 1
                if count == 100 { for _ in 0..<100 { gate.signal() } }
            }
            gate.wait()
            return .json("1")
        }
        let client = client(server, isAssumed ? .assumed : .whenAnnounced)
        if !isAssumed { for _ in 0..<2 { #expect(try await client.run(.get("first")) == 1) } }
        let versions = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<100 { group.addTask { try await version(client, Endpoint<Int>.get("x")) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(versions == Array(repeating: "3", count: 100))
        #expect(server.connections == ["h3-1"])
    }

    @Test("C11, C96: a POST that tries HTTP/3 is sent once, with its body")
    func post() async throws {
        let server = try await HTTP3Server(authority)
        let announcement = server.announcement
        server.backend.on(.post, "/x") { .status(200, headers: announcement, body: Data("\($0.body.count)".utf8)) }
        let client = client(server, .whenAnnounced)
        let body = Data(repeating: 7, count: 300_000)
        let endpoint = Endpoint<Int>.post("x", body: .data(body, contentType: "text/plain"))
        var versions: [String?] = []
        for _ in 0..<3 {
            let reply = try await client.reply(to: endpoint)
            #expect(reply.value == body.count)
            versions.append(reply.timings?.httpVersion)
        }
        #expect(versions == ["1.1", "3", "3"])
        #expect(server.backend.received.count == 3)
    }

    @Test("C44: a cancelled call resets its own stream; the others continue, and the connection stays")
    func cancelled() async throws {
        let server = try await HTTP3Server(authority)
        // A backend of its own, which notices when the server closes its connection.
        let other = try LoopbackServer()
        other.onAny { _ in .silence }
        let gate = DispatchSemaphore(value: 0)
        server.backend.on(.get, "/held") { _ in
            gate.wait()
            return .json("2")
        }
        server.backend.on(.get, "/x", .json("1").always)
        let client = client(server, .assumed)
        let endpoint = Endpoint<Int>.get("silent").header("X-Backend", "\(other.port)")
        let silent = Task { try await client.run(endpoint) }
        let held = Task { try await client.run(Endpoint<Int>.get("held")) }
        await server.backend.received(atLeast: 1)
        await other.received(atLeast: 1)
        silent.cancel()
        await #expect(throws: ServiceError.cancelled) { try await silent.value }
        #expect(try await client.run(.get("x")) == 1)
        await other.connectionsClosed()
        gate.signal()
        #expect(try await held.value == 2)
        #expect(server.connections == ["h3-1"])
        #expect(other.received.map { $0.headers["X-Connection"] } == ["h3-1"])
    }

    @Test("a large response is read while it arrives; one that is not read delays no other on its connection")
    func download() async throws {
        let server = try await HTTP3Server(authority)
        let body = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        server.backend.on(.get, "/large") { _ in .status(200, body: body) }
        server.backend.on(.get, "/x", .json("1").always)
        let client = client(server, .assumed)
        let response = try await client.stream(Endpoint<Data>.get("large"))
        for _ in 0..<20 { #expect(try await client.run(.get("x")) == 1) }
        var received = Data()
        for try await chunk in response.chunks { received += chunk }
        #expect(received == body)
        #expect(server.connections == ["h3-1"])
    }

    // MARK: Trust

    @Test("C30: certificates and pins are checked as over TCP, and nothing is sent to a server that has others")
    func trust() async throws {
        let certificate = try await authority.issue()
        let server = try await HTTP3Server(authority, certificate)
        let strange = try await HTTP3Server(authority, authority.selfSigned())
        for server in [server, strange] { server.backend.on(.get, "/x", .json("1").always) }
        let pin = try await certificate.pin
        let wrong = Data(repeating: 1, count: 32).base64EncodedString()
        let cases = [
            (server, [], true), (server, [pin], true), (server, [wrong], false), (strange, [], false),
            (strange, [pin], false),
        ]
        for (server, pins, isTrusted) in cases {
            let client = APIClient(server.url) {
                $0.transport = authority.transport {
                    $0.http3 = .assumed
                    $0.pinnedPublicKeys = pins
                }
                $0.retry = .never
            }
            let outcome = await Result(of: { () async throws(ServiceError) in
                try await client.reply(to: Endpoint<Int>.get("x"))
            })
            if isTrusted {
                #expect(try outcome.get().timings?.httpVersion == "3")
            } else if case .transport(let failure) = outcome.failure {
                #expect(failure.kind == .untrustedCertificate && !failure.mayHaveReachedServer)
            } else {
                Issue.record("\(outcome)")
            }
        }
        #expect(server.backend.received.count == 2)
        #expect(strange.backend.received.isEmpty)
    }

    #if !URLSession
    @Test(
        "C94, C96: a libcurl before 8.23 uses no HTTP/3, even if it was built with it",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"),
        arguments: [(0x081600, [nil]), (0x081700, ["h3-1"])] as [(Int, [String?])])
    func libraryVersion(number: Int, connections: [String?]) async throws {
        let server = try await HTTP3Server(authority)
        server.backend.on(.get, "/x", .json("1").always)
        let library = try await StubLibrary(version: number, lacking: [], before: InstalledLibrary.path)
        let probe = try Child(
            "TransportProbe", ["get", "\(server.url)/x", "authorities=\(authority.file)", "http3=assumed"],
            environment: library.environment)
        #expect(try await probe.end().lines.first == "200 1")
        #expect(server.backend.received.map { $0.headers["X-Connection"] } == connections)
    }
    #endif

    @Test("C44: there is no HTTP/3 through a proxy", arguments: [CurlTransport.Options.HTTP3.assumed, .whenAnnounced])
    func proxy(http3: CurlTransport.Options.HTTP3) async throws {
        let server = try await HTTP3Server(authority)
        server.backend.on(.get, "/x", .json("1", headers: server.announcement).always)
        let proxy = try TunnelProxy()
        let client = APIClient(server.url) {
            $0.transport = authority.transport {
                $0.http3 = http3
                $0.proxy = .url("http://127.0.0.1:\(proxy.port)")
                $0.proxiesLoopback = true
            }
        }
        for _ in 0..<3 { #expect(try await version(client, Endpoint<Int>.get("x")) == "1.1") }
        #expect(proxy.received.count == 1)
        #expect(server.connections.isEmpty)
    }
}
#endif
