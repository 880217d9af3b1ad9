#if os(Linux)
import ErrandTestSupport
import ErrandTesting
import Foundation

/// A haproxy that parts requests among servers on this machine, one after the other, and repeats none.
final class HAProxy: Sendable {
    let port: Int
    private let process: ServerProcess

    /// Starts haproxy before the servers with those ports.
    init(in folder: Scratch, before ports: [Int]) async throws {
        let servers = ports.map { "    server s\($0) 127.0.0.1:\($0)" }.joined(separator: "\n")
        (port, process) = try await ServerProcess.onFreePort { port in
            try folder.write(
                """
                global
                    maxconn 256
                defaults
                    mode http
                    timeout connect 500ms
                    timeout client 60s
                    timeout server 60s
                    retries 0
                listen all
                    bind 127.0.0.1:\(port)
                    balance roundrobin
                \(servers)

                """, to: "haproxy.cfg")
            // With a master, it says when its worker has the port; without one, it says nothing after that.
            return try await ServerProcess(
                .haproxy, ["-V", "-W", "-f", folder.path("haproxy.cfg")], readyAfter: "Loading success")
        }
    }
}
#endif
