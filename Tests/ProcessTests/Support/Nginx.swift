#if os(Linux)
import ErrandTestSupport
import ErrandTesting
import Foundation

/// An nginx with one virtual server. Everything is inside its own folder, and needs no privileges.
final class Nginx: Sendable {
    let port: Int
    /// What the settings name can be in here.
    let folder: Scratch

    let process: ServerProcess

    /// Starts nginx.
    ///
    /// - Parameters:
    ///   - folder: A folder that it may write to.
    ///   - options: Those of the `listen` directive, such as `ssl http2`.
    ///   - http: Settings for all virtual servers.
    ///   - server: Settings for the one that listens.
    init(in folder: Scratch, listening options: String = "", http: String = "", server: String) async throws {
        self.folder = folder
        (port, process) = try await ServerProcess.onFreePort { port in
            try folder.write(
                """
                daemon off; master_process off; pid "\(folder.path("pid"))"; error_log stderr notice;
                events { worker_connections 1024; }
                http {
                    access_log off; \(http)
                    client_body_temp_path "\(folder.path("a"))"; proxy_temp_path "\(folder.path("b"))";
                    fastcgi_temp_path "\(folder.path("c"))"; uwsgi_temp_path "\(folder.path("d"))";
                    scgi_temp_path "\(folder.path("e"))";
                    server {
                        listen 127.0.0.1:\(port) \(options);
                        \(server)
                    }
                }
                """, to: "nginx.conf")
            return try await ServerProcess(
                .nginx, ["-e", "stderr", "-p", folder.folder, "-c", folder.path("nginx.conf")],
                readyAfter: "event method")
        }
    }
}
#endif
