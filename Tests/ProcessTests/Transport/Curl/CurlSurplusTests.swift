#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// C34 and C41 over TLS: which kept connections are used again. The conformance suite tests the same over plain http.
@Suite(
    "Kept connections under TLS",
    .enabled(
        if: Program.openssl.isInstalled && Program.python3.isInstalled, "openssl or python3 is not installed"),
    .timeLimit(.minutes(10)))
struct CurlSurplusTests {
    private let authority: TestAuthority
    private let backend: LoopbackServer
    private let transport: CurlTransport

    init() async throws {
        (authority, backend) = (try await TestAuthority(), try LoopbackServer())
        transport = authority.transport()
    }

    private func get(_ url: String) async throws -> String {
        let request = HTTPRequest(method: .get, url: try HTTPURL(url))
        let answer = try await transport.send(request, context: TransportContext())
        return String(decoding: answer.body.bytes ?? Data(), as: UTF8.self)
    }

    private static let forged = Data("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged".utf8)
    private static let head = Data("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n".utf8)
    private static let honest = Data("honest".utf8)

    /// When the surplus is sent. Bytes after a pause have a TLS record of their own.
    enum Surplus: CaseIterable {
        case withTheAnswer, withTheBody, afterTheBody, late

        var reply: LoopbackReply {
            let pause = LoopbackReply.Step.pause(.milliseconds(50))
            return switch self {
            case .withTheAnswer: LoopbackReply([.write(head + honest + forged)])
            case .withTheBody: LoopbackReply([.write(head), pause, .write(honest + forged)])
            case .afterTheBody:
                LoopbackReply([.write(head + honest.prefix(3)), pause, .write(honest.suffix(3) + forged)])
            case .late: LoopbackReply([.write(head + honest), pause, .write(forged)])
            }
        }
    }

    @Test("C34: a surplus never becomes part of the next response", arguments: Surplus.allCases)
    func surplus(_ surplus: Surplus) async throws {
        backend.on(.get, "/bad", surplus.reply.always)
        backend.on(.get, "/good", LoopbackReply.status(200, body: Self.honest).always)
        let front = try await PythonServer.front(of: backend, authority.issue(), noting: "forged")
        for _ in 0..<5 {
            #expect(try await get(front.url + "/bad") == "honest")
            // Until the surplus has arrived, unless its connection is closed with the response.
            if InstalledLibrary.keepsTLS { await front.note() }
            #expect(try await get(front.url + "/good") == "honest")
            #expect(try await get(front.url + "/good") == "honest")
        }
        // A connection with a surplus is not used again; a clean one is, where the TLS library tells.
        #expect(backend.connections == (InstalledLibrary.keepsTLS ? 6 : 15))
    }

    #if !URLSession
    /// A libcurl into which its TLS library is linked, as far as anybody can tell from outside.
    private func closedLibrary() async throws -> StubLibrary {
        try await StubLibrary(version: InstalledLibrary.version, lacking: [], before: InstalledLibrary.path)
    }

    @Test(
        "C34: where the TLS library cannot be asked for a surplus, no connection is used again",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"), arguments: Surplus.allCases)
    func unknownSurplus(_ surplus: Surplus) async throws {
        backend.on(.get, "/bad", surplus.reply.always)
        backend.on(.get, "/good", LoopbackReply.status(200, body: Self.honest).always)
        let front = try await PythonServer.front(of: backend, authority.issue())
        let urls = ["/bad", "/good", "/good"].map { front.url + $0 }
        let library = try await closedLibrary()
        let probe = try Child(
            "TransportProbe", ["bodies", authority.file] + urls, environment: library.environment)
        let (lines, status) = try await probe.end()
        #expect(lines.prefix(3) == ["honest", "honest", "honest"] && status == 0, "\(lines)")
        #expect(backend.connections == 3)
    }

    /// What nobody can ask for bytes that were not read.
    enum Opaque: CaseIterable {
        /// A TLS library that tells libcurl no session.
        case withoutSession
        /// That of a proxy, which is reached over TLS for plain http.
        case proxy
    }

    @Test(
        "C34: a connection that cannot be asked about is closed with its response, and no request tries to use it",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"), arguments: Opaque.allCases)
    func notKept(_ opaque: Opaque) async throws {
        backend.onAny(LoopbackReply.status(200, body: Self.honest).always)
        let front = try await PythonServer.front(of: backend, authority.issue())
        let (library, url): (StubLibrary, String)
        var environment: [String: String] = [:]
        switch opaque {
        case .withoutSession:
            let session = 0x40002D
            library = try await StubLibrary(version: 0x075801, lacking: [session], before: InstalledLibrary.path)
            url = front.url + "/x"
        case .proxy:
            library = try await StubLibrary(trusting: authority.file, "/", before: InstalledLibrary.path)
            url = "http://service.test/x"
            environment["http_proxy"] = front.url
        }
        environment.merge(library.environment) { $1 }
        let probe = try Child("TransportProbe", ["bodies", authority.file, url, url, url], environment: environment)
        let (printed, status) = try await probe.end()
        let lines = printed.filter { !$0.hasPrefix("trusts ") }
        #expect(lines.prefix(3) == ["honest", "honest", "honest"] && status == 0, "\(lines)")
        // A request that finds its connection unfit is given to libcurl once more.
        #expect(lines.contains("transfers: 3"), "\(lines)")
        #expect(backend.connections == 3)
    }

    @Test(
        "C34: a surplus from a proxy over TLS never becomes part of the next response, which is one of plain http",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"), arguments: Surplus.allCases)
    func proxiedSurplus(_ surplus: Surplus) async throws {
        backend.onAny { $0.target.hasSuffix("/bad") ? surplus.reply : .status(200, body: Self.honest) }
        let front = try await PythonServer.front(of: backend, authority.issue())
        let library = try await StubLibrary(trusting: authority.file, "/", before: InstalledLibrary.path)
        let urls = ["/bad", "/good", "/good"].map { "http://service.test\($0)" }
        let probe = try Child(
            "TransportProbe", ["bodies", authority.file] + urls,
            environment: library.environment.merging(["http_proxy": front.url]) { $1 })
        let (printed, status) = try await probe.end()
        let lines = printed.filter { !$0.hasPrefix("trusts ") }
        #expect(lines.prefix(3) == ["honest", "honest", "honest"] && status == 0, "\(lines)")
    }

    @Test(
        "where libcurl may hide that a proxy is reached over TLS, no connection to a proxy is used again",
        .enabled(if: Program.clang.isInstalled, "clang is not installed"),
        .enabled(if: InstalledLibrary.tellsProxies, InstalledLibrary.tellsNoProxy),
        arguments: [0x080c01: 1, 0x081000: 3, 0x081300: 1])
    func hiddenSession(version: Int, connections: Int) async throws {
        backend.onAny(LoopbackReply.status(200, body: Self.honest).always)
        let library = try await StubLibrary(version: version, lacking: [], before: InstalledLibrary.path)
        let urls = Array(repeating: "http://service.test/x", count: 3)
        let probe = try Child(
            "TransportProbe", ["series"] + urls,
            environment: library.environment.merging(["http_proxy": backend.baseURL]) { $1 })
        let (lines, status) = try await probe.end()
        #expect(lines.prefix(3) == ["200", "200", "200"] && status == 0, "\(lines)")
        #expect(backend.connections == connections)
    }

    @Test(
        "C44: an HTTP/2 connection is used again all the same: its frames belong to their streams",
        .enabled(if: Program.clang.isInstalled && Program.nginx.isInstalled, "clang or nginx is not installed"),
        .enabled(if: InstalledLibrary.speaksHTTP2, InstalledLibrary.speaksNoHTTP2))
    func unknownOverHTTP2() async throws {
        let server = try await HTTP2Server(authority.issue())
        server.backend.on(.get, "/x", .json("1").always)
        let urls = Array(repeating: server.url + "/x", count: 3)
        let library = try await closedLibrary()
        let probe = try Child(
            "TransportProbe", ["bodies", authority.file] + urls, environment: library.environment)
        let (lines, status) = try await probe.end()
        #expect(lines.prefix(3) == ["1", "1", "1"] && status == 0, "\(lines)")
        #expect(server.connections.count == 1)
    }
    #endif

    @Test(
        "C41: fifty calls use one connection, whatever TLS itself sends on it",
        .enabled(if: InstalledLibrary.keepsTLS, InstalledLibrary.keepsNoTLS))
    func kept() async throws {
        backend.on(.get, "/x", .json("1").always)
        let front = try await PythonServer.front(of: backend, authority.issue())
        for _ in 0..<50 { #expect(try await get(front.url + "/x") == "1") }
        #expect(backend.connections == 1)
    }

    @Test(
        "C11: a connection that was closed while it was idle is not used again: every POST succeeds, and is sent once")
    func closedWhileIdle() async throws {
        backend.on(.post, "/x", LoopbackReply.json("1").thenClose.always)
        let front = try await PythonServer.front(of: backend, authority.issue(), notesEnds: true)
        let client = APIClient(front.url) {
            $0.transport = transport
            $0.rateLimit = .unlimited
            $0.retry = .never
            $0.timeout = .seconds(60)
        }
        for round in 1...10 {
            #expect(try await client.run(Endpoint<Int>.post("x", body: .json([1]))) == 1)
            #expect(backend.received.count == round)
            // Until the end of the connection has arrived.
            await front.note()
        }
    }
}
#endif
