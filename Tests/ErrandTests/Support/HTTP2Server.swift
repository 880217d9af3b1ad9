#if os(Linux)
import Errand
import ErrandTesting
import Foundation

/// An nginx that speaks HTTP/2 over TLS and passes each request on to a `LoopbackServer`.
///
/// There the header `X-Connection` identifies the connection to nginx that a request came on.
final class HTTP2Server: Sendable {
    /// Its URL, without a path.
    let url: String
    /// The server that receives the requests.
    let backend: LoopbackServer

    private let scratch: Scratch
    private let process: ServerProcess

    /// Starts a server, with additional `settings` for the nginx `server` block.
    init(_ certificate: TestCertificate, _ settings: String...) throws {
        (scratch, backend) = (try Scratch(), try LoopbackServer())
        var failure: any Error = CancellationError()
        // A port that was free a moment ago may be in use now.
        for _ in 0..<5 {
            let probe = try LoopbackServer()
            let port = probe.port
            probe.close()
            try scratch.write(
                Self.configuration(in: scratch, port, certificate, settings, backend: backend.port), to: "nginx.conf")
            do {
                process = try ServerProcess(
                    .nginx, ["-e", "stderr", "-p", scratch.folder, "-c", scratch.path("nginx.conf")],
                    readyAfter: "event method")
                url = "https://localhost:\(port)"
                return
            } catch { failure = error }
        }
        throw failure
    }

    /// The connections to nginx of the requests that have arrived.
    var connections: Set<String> { Set(backend.received.compactMap { $0.headers["X-Connection"] }) }

    /// Everything is inside the folder, and needs no privileges.
    private static func configuration(
        in scratch: Scratch, _ port: Int, _ certificate: TestCertificate, _ settings: [String], backend: Int
    ) -> String {
        """
        daemon off; master_process off; pid "\(scratch.path("pid"))"; error_log stderr notice;
        events { worker_connections 1024; }
        http {
            access_log off;
            client_body_temp_path "\(scratch.path("a"))"; proxy_temp_path "\(scratch.path("b"))";
            fastcgi_temp_path "\(scratch.path("c"))"; uwsgi_temp_path "\(scratch.path("d"))";
            scgi_temp_path "\(scratch.path("e"))";
            server {
                listen 127.0.0.1:\(port) ssl http2;
                ssl_certificate "\(certificate.file)"; ssl_certificate_key "\(certificate.key)";
                client_max_body_size 0;
                \(settings.joined(separator: "\n        "))
                location / {
                    proxy_pass http://127.0.0.1:\(backend);
                    proxy_http_version 1.1; proxy_request_buffering off; proxy_buffering off;
                    proxy_set_header X-Connection $connection; proxy_set_header Connection "";
                }
            }
        }
        """
    }
}
#endif
