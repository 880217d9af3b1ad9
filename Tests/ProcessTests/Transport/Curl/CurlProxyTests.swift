#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// Requests through a proxy.
@Suite("Proxies through libcurl", .timeLimit(.minutes(10))) struct CurlProxyTests {
    private func send(
        _ url: String, through proxy: CurlTransport.Options.Proxy, authorities: String? = nil,
        headers: HTTPHeaders = [:]
    ) async throws -> HTTPResponse {
        var options = CurlTransport.Options()
        options.proxy = proxy
        // The servers of these tests are on this machine.
        options.proxiesLoopback = true
        options.certificateAuthorities = authorities
        let request = HTTPRequest(method: .get, url: try HTTPURL(url), headers: headers)
        return try await CurlTransport(options).send(request, context: TransportContext())
    }

    /// Returns the failure of a request that must fail.
    private func failure(
        _ url: String, through proxy: String, authorities: String? = nil
    ) async throws -> TransportFailure {
        do {
            let response = try await send(url, through: .url(proxy), authorities: authorities)
            Issue.record("answered with \(response.status)")
            throw CancellationError()
        } catch ServiceError.transport(let failure) {
            return failure
        }
    }

    private static let basic = "Basic \(Data("ann:secret".utf8).base64EncodedString())"

    // MARK: A proxy that was named

    @Test("plain http asks the proxy for the whole URL, and sends it the credentials")
    func forward() async throws {
        let proxy = try LoopbackServer()
        // The letters of the escape stay as they are.
        proxy.on(.get, "http://service.test/x%2f?y=1") { _ in .json("1") }
        let response = try await send(
            "http://service.test/x%2f?y=1", through: .url("http://ann:secret@127.0.0.1:\(proxy.port)"))
        #expect(response.status == 200)
        let request = try #require(proxy.received.first)
        #expect(request.headers["Host"] == "service.test")
        #expect(request.headers["Proxy-Authorization"] == Self.basic)
        #expect(request.headers["Authorization"] == nil)
    }

    @Test(
        "https uses a tunnel: the proxy sees no header of the request, the server none for the proxy",
        .enabled(if: Program.openssl.isInstalled && Program.nginx.isInstalled, "openssl or nginx is not installed"),
        .enabled(if: InstalledLibrary.speaksHTTP2, InstalledLibrary.speaksNoHTTP2))
    func tunnel() async throws {
        let authority = try await TestAuthority()
        let server = try await HTTP2Server(authority.issue())
        server.backend.on(.get, "/x") { _ in .json("1") }
        let proxy = try TunnelProxy()
        let response = try await send(
            server.url + "/x", through: .url("http://ann:secret@127.0.0.1:\(proxy.port)"), authorities: authority.file,
            headers: ["Authorization": "Bearer mine"])
        #expect(response.status == 200)
        #expect(response.timings?.httpVersion == "2")
        let head = try #require(proxy.received.first)
        #expect(proxy.received.count == 1)
        #expect(head.hasPrefix("CONNECT \(server.url.dropFirst("https://".count)) HTTP/1.1\r\n"))
        #expect(head.contains("Proxy-Authorization: \(Self.basic)\r\n"))
        #expect(!head.contains("Bearer"))
        let request = try #require(server.backend.received.first)
        #expect(request.headers["Authorization"] == "Bearer mine")
        #expect(request.headers["Proxy-Authorization"] == nil)
    }

    @Test("C63: requests to this machine do not use a configured proxy, unless that is asked for")
    func namedAndLoopback() async throws {
        let (server, proxy) = (try LoopbackServer(), try LoopbackServer())
        server.on(.get, "/x") { _ in .json("1") }
        proxy.on(.get, "\(server.baseURL)/x") { _ in .json("2") }
        let request = HTTPRequest(method: .get, url: try HTTPURL("\(server.baseURL)/x"))
        var options = CurlTransport.Options()
        options.proxy = .url("http://127.0.0.1:\(proxy.port)")
        let direct = try await CurlTransport(options).send(request, context: TransportContext())
        #expect(direct.body.bytes == Data("1".utf8))
        #expect(proxy.received.isEmpty)
        options.proxiesLoopback = true
        let proxied = try await CurlTransport(options).send(request, context: TransportContext())
        #expect(proxied.body.bytes == Data("2".utf8))
    }

    @Test(
        "C63: plain http to this machine never uses a proxy on another machine",
        arguments: ["http://ann:secret@proxy.test:3128", "proxy.test:3128", "http://127.0.0.1@proxy.test"])
    func cleartextThroughProxy(proxy: String) async throws {
        let server = try LoopbackServer()
        let error = await #expect(throws: ServiceError.self) {
            try await send("\(server.baseURL)/x", through: .url(proxy), headers: ["Authorization": "Bearer mine"])
        }
        guard case .invalidRequest(let invalid) = error else { throw try #require(error) }
        #expect(invalid.subject == .cleartext)
        #expect(server.received.isEmpty)
    }

    // MARK: A proxy that fails

    @Test(
        "a proxy that refuses the tunnel is a failure of the proxy, and nothing has reached the server",
        arguments: [
            "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 200 Conn",
            "what is this?\r\n\r\n",
            "",
        ])
    func noTunnel(answer: String) async throws {
        let proxy = try LoopbackServer()
        proxy.onAny { _ in .raw(answer) }
        let failure = try await failure("https://service.test", through: "http://ann:secret@127.0.0.1:\(proxy.port)")
        #expect(failure.kind == .proxy, "\(failure.message)")
        #expect(!failure.mayHaveReachedServer)
        // A proxy that refuses refuses next time too; one that fails may not.
        #expect(ServiceError.transport(failure).isTransient == !answer.contains(" 40"))
        if let status = answer.split(separator: " ").dropFirst().first, status.first == "4" || status.first == "5" {
            #expect(failure.message.contains(status), "\(failure.message)")
        }
        #expect(!"\(failure)".contains("secret"))
    }

    @Test(
        "C90: a proxy that is unreachable is its failure, a bad URL a wrong setting; its password is shown nowhere",
        arguments: [
            ("http://ann:secret@127.0.0.1:PORT", true), ("http://ann:secret@proxy.invalid:80", true),
            ("http://ann:secret@127.0.0.1:99999", false),
            ("http://ann:sec ret secret@127.0.0.1:80", false), ("gopher://ann:secret@127.0.0.1:80", false),
            ("ann:secret@:80", false), ("http://ann:secret@", false),
        ], ["http", "https"])
    func noProxy(proxy: (url: String, isValid: Bool), scheme: String) async throws {
        let closed = try LoopbackServer()
        closed.close()
        let url = proxy.url.replacing("PORT", with: "\(closed.port)")
        let failure = await #expect(throws: ServiceError.self) {
            try await send("\(scheme)://service.test", through: .url(url))
        }
        switch failure {
        case .transport(let failure) where proxy.isValid: #expect(failure.kind == .proxy, "\(failure.message)")
        case .invalidRequest(let invalid) where !proxy.isValid: #expect(invalid.subject == .configuration)
        default: throw try #require(failure)
        }
        #expect(failure?.mayHaveReachedServer == false)
        #expect(failure?.isTransient == proxy.isValid)
        var options = CurlTransport.Options()
        options.proxy = .url(url)
        var dumped = ""
        dump(options, to: &dumped)
        dump(CurlTransport(options), to: &dumped)
        for text in [
            failure.map { "\($0)" } ?? "", "\(options)", "\(options.proxy)", "\(CurlTransport(options))", dumped,
        ] {
            #expect(!text.contains("secret"), "\(text)")
        }
    }

    @Test(
        "behind a proxy, too, an invalid certificate is refused before anything is sent",
        .enabled(if: Program.openssl.isInstalled, "openssl is not installed"))
    func untrusted() async throws {
        let authority = try await TestAuthority()
        let server = try await TLSServer(authority.issue(dates: TestAuthority.longAgo))
        let proxy = try TunnelProxy()
        let failure = try await failure(
            server.url, through: "http://127.0.0.1:\(proxy.port)", authorities: authority.file)
        #expect(failure.kind == .untrustedCertificate)
        #expect(!failure.mayHaveReachedServer)
        #expect(proxy.received.count == 1)
    }

    @Test("a handshake that breaks off behind a proxy is a failure of TLS before anything is sent")
    func cutOff() async throws {
        let proxy = try LoopbackServer()
        proxy.onAny { _ in .raw("HTTP/1.1 200 OK\r\n\r\n") }
        let failure = try await failure("https://service.test", through: "http://127.0.0.1:\(proxy.port)")
        #expect(failure.kind == .tls, "\(failure.message)")
        #expect(!failure.mayHaveReachedServer)
    }

    // MARK: The environment

    /// Returns what a process with that environment prints about a GET.
    private func probe(_ arguments: String..., environment: [String: String]) async throws -> String {
        let probe = try Child("TransportProbe", ["get"] + arguments, environment: environment)
        return try await probe.end().lines.joined(separator: "\n")
    }

    @Test("the environment's proxy is used, except for its excluded hosts, and not at all if none is wanted")
    func environment() async throws {
        let proxy = try LoopbackServer()
        proxy.on(.get, "http://service.invalid/x%2f") { _ in .json("1") }
        var environment = ["http_proxy": "http://ann:secret@127.0.0.1:\(proxy.port)"]
        #expect(try await probe("http://service.invalid/x%2f", environment: environment) == "200 1")
        #expect(proxy.received.first?.headers["Proxy-Authorization"] == Self.basic)
        let direct = try await probe("http://service.invalid/x", "proxy=none", environment: environment)
        #expect(direct.hasPrefix("dns false"), "\(direct)")
        environment["no_proxy"] = "service.invalid"
        let excepted = try await probe("http://service.invalid/x", environment: environment)
        #expect(excepted.hasPrefix("dns false"), "\(excepted)")
        #expect(proxy.received.count == 1)
    }

    @Test("a configured proxy is used whatever the environment says")
    func named() async throws {
        let (proxy, other) = (try LoopbackServer(), try LoopbackServer())
        proxy.on(.get, "http://service.test/x") { _ in .json("1") }
        let environment = ["http_proxy": "http://127.0.0.1:\(other.port)", "no_proxy": "service.test"]
        let answer = try await probe(
            "http://service.test/x", "proxy=http://127.0.0.1:\(proxy.port)", environment: environment)
        #expect(answer == "200 1")
        #expect(other.received.isEmpty)
    }

    @Test("C63: requests to this machine do not use the environment's proxy")
    func loopback() async throws {
        let (server, proxy) = (try LoopbackServer(), try LoopbackServer())
        server.on(.get, "/x") { _ in .json("1") }
        let environment = ["http_proxy": "http://127.0.0.1:\(proxy.port)"]
        #expect(try await probe("\(server.baseURL)/x", environment: environment) == "200 1")
        #expect(try await probe("http://localhost:\(server.port)/x", environment: environment) == "200 1")
        #expect(proxy.received.isEmpty)
    }

    @Test("C49: what goes to a Unix socket does not use the environment's proxy")
    func unixSocket() async throws {
        let scratch = try Scratch()
        let (server, proxy) = (try LoopbackServer(unixSocket: scratch.path("server.sock")), try LoopbackServer())
        server.on(.get, "/x") { request in .json(request.headers["Host"] == "service.test" ? "1" : "2") }
        let environment = ["http_proxy": "http://127.0.0.1:\(proxy.port)"]
        let socket = "socket=\(scratch.path("server.sock"))"
        #expect(try await probe("http://service.test/x", socket, environment: environment) == "200 1")
        #expect(proxy.received.isEmpty)
    }

    @Test("C90: an invalid proxy in the environment shows its password nowhere")
    func senseless() async throws {
        let environment = ["https_proxy": "gopher://ann:secret@127.0.0.1:80"]
        let words = try await probe("https://service.test/x", environment: environment)
        #expect(words.hasPrefix("proxy false"), "\(words)")
        #expect(!words.contains("secret"))
    }
}
#endif
