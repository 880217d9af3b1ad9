#if os(Linux)
import Errand
import ErrandTestSupport
import ErrandTesting
import Foundation

/// An nginx that speaks HTTP/2 over TLS and passes each request on to a `LoopbackServer`.
///
/// There the header `X-Connection` identifies the connection to nginx that a request came on.
final class HTTP2Server: Sendable {
    /// Its port.
    var port: Int { nginx.port }
    /// Its URL, without a path.
    let url: String
    /// The server that receives the requests.
    let backend: LoopbackServer

    private let nginx: Nginx

    /// Starts a server, with additional `settings` for the nginx `server` block.
    init(_ certificate: TestCertificate, _ settings: String...) async throws {
        backend = try LoopbackServer()
        nginx = try await Nginx(
            in: Scratch(), listening: "ssl http2",
            server: """
                ssl_certificate "\(certificate.file)"; ssl_certificate_key "\(certificate.key)";
                client_max_body_size 0;
                \(settings.joined(separator: "\n"))
                location / {
                    proxy_pass http://127.0.0.1:\(backend.port);
                    proxy_http_version 1.1; proxy_request_buffering off; proxy_buffering off;
                    proxy_set_header X-Connection $connection; proxy_set_header Connection "";
                }
                """)
        url = "https://localhost:\(nginx.port)"
    }

    /// The connections to nginx of the requests that have arrived.
    var connections: Set<String> { Set(backend.received.compactMap { $0.headers["X-Connection"] }) }
}
#endif
