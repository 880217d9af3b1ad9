#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation
import Testing

/// A server for HTTP/3, and for HTTP/1.1 over TLS on the same port number, which passes each request on to a
/// `LoopbackServer`. It is a Python program that uses aioquic.
///
/// At the backend, the header `X-Connection` names the connection of a request that came over HTTP/3, and
/// `X-Certificate` the client's certificate, if the server has asked for one. A response with
/// the header `X-Fault` lacks its second half over HTTP/3: its stream is reset (`reset`) or ends too early (`end`), or
/// its connection is closed (`close`); or there is none at all, because the request is refused (`refuse`) or the
/// connection closed (`leave`).
final class HTTP3Server: Sendable {
    /// What becomes of the datagrams of UDP.
    enum Datagrams: String {
        case taken, mute, absent
    }

    /// What can be told to a server: to answer no datagram any more, to answer again, to send datagrams that mean
    /// nothing, and to close all connections of HTTP/3.
    enum Command: String {
        case mute, speak, garbage, leave
    }

    /// The Python that has aioquic: the one in the environment, or the system's.
    private static let python: String? = {
        let chosen = ProcessInfo.processInfo.environment["ERRAND_TEST_PYTHON"] ?? ""
        guard let path = chosen.isEmpty ? Program.python3.path : chosen else { return nil }
        return (try? Program.runAtOnce(path, ["-c", "import aioquic"])).map { _ in path }
    }()

    /// Whether there is what the tests need.
    static var isAvailable: Bool { InstalledLibrary.speaksHTTP3 && Program.openssl.isInstalled && python != nil }
    static let isMissing: Comment =
        InstalledLibrary.speaksHTTP3
        ? "openssl or a Python with aioquic is not installed" : InstalledLibrary.speaksNoHTTP3

    /// Its port, for TCP and UDP.
    let port: Int
    /// The server that receives the requests.
    let backend: LoopbackServer
    /// The port at which it takes commands: its own one for TCP.
    private let commandPort: Int
    private let scratch: Scratch
    private let process: ServerProcess
    private let authority: TestAuthority

    /// Its URL, without a path.
    var url: String { "https://localhost:\(port)" }
    /// The header by which it announces HTTP/3.
    var announcement: HTTPHeaders { ["Alt-Svc": "h3=\":\(port)\"; ma=3600"] }
    /// The connections of HTTP/3 of the requests that have arrived.
    var connections: Set<String> { Set(backend.received.compactMap { $0.headers["X-Connection"] }) }

    /// Starts a server with a certificate of that authority, or with another one. With a `neighbor`, it uses its port
    /// for UDP and its backend, and leaves TCP to it.
    init(
        _ authority: TestAuthority, _ certificate: TestCertificate? = nil, datagrams: Datagrams = .taken,
        asksForCertificate: Bool = false, beside neighbor: HTTP2Server? = nil
    ) async throws {
        self.authority = authority
        backend = if let neighbor { neighbor.backend } else { try LoopbackServer() }
        scratch = try Scratch()
        try scratch.write(Self.script, to: "server.py")
        let own = if let certificate { certificate } else { try await authority.issue() }
        process = try await ServerProcess(
            at: #require(Self.python),
            [
                scratch.path("server.py"), own.file, own.key, "\(backend.port)", datagrams.rawValue,
                asksForCertificate ? "asking" : "", "\(neighbor?.port ?? 0)",
            ], readyAfter: "ready")
        let digits = process.greeting.split(separator: "ready ").last?.prefix { $0.isNumber }
        commandPort = try #require(digits.flatMap { Int($0) })
        port = neighbor?.port ?? commandPort
    }

    /// Has the server do something, and waits until it has.
    func tell(_ command: Command) async throws {
        let transport = authority.transport()
        let url = try HTTPURL("https://localhost:\(commandPort)/tell/\(command.rawValue)")
        let response = try await transport.send(HTTPRequest(method: .get, url: url), context: TransportContext())
        await transport.shutdown()
        try #require(response.status == 204)
    }
}

/// A transport that sends the requests to a `LoopbackServer` through an `HTTP3Server`.
struct HTTP3Front: Transport {
    let server: HTTP3Server
    let transport: CurlTransport

    func send(_ request: HTTPRequest, context: TransportContext) async throws -> HTTPResponse {
        var headers = request.headers
        headers["X-Backend"] = "\(request.url.origin.port)"
        return try await transport.send(
            HTTPRequest(
                method: request.method, url: HTTPURL(server.url + request.url.target), headers: headers,
                body: request.body),
            context: context)
    }

    func shutdown() async { await transport.shutdown() }

    var connectivity: Connectivity { .always }
}
#endif
