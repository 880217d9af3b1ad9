import ChildProcess
#if os(Linux)
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Calls over TLS, with HTTP/1.1, HTTP/2, and a new connection for each call, beside a bare libcurl loop in C. The
/// server is an nginx, if one is installed.
enum TLSBench {
    private static let tasks = 16
    private static let cycles = 3
    private static let seconds = 1.0

    private enum Kind: String, CaseIterable {
        case http1, http2, handshake

        /// What nginx is told for it.
        var settings: (listen: String, more: String) {
            switch self {
            case .http1: ("ssl", "keepalive_requests 1000000000;")
            case .http2: ("ssl http2", "keepalive_requests 1000000000;")
            case .handshake: ("ssl", "keepalive_requests 1; ssl_session_cache shared:sessions:1m;")
            }
        }

        var meaning: String {
            switch self {
            case .http1: "over TLS with HTTP/1.1"
            case .http2: "over HTTP/2"
            case .handshake: "over a TLS connection of its own"
            }
        }
    }

    static func run(into report: inout Report) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "errand-tls-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        // A folder that cannot be removed stays where the system empties.
        defer { try? FileManager.default.removeItem(atPath: folder) }
        guard let (server, firstPort) = try start(in: folder) else {
            report.add("tls.is_measured", .truth(false), "calls over TLS need nginx and openssl")
            return
        }
        defer { server.kill() }
        report.add("tls.is_measured", .truth(true), "calls over TLS, \(tasks) at once, to nginx")
        for (number, kind) in Kind.allCases.enumerated() {
            try measure(
                kind, at: "https://localhost:\(firstPort + number)/", trusting: "\(folder)/certificate.pem",
                into: &report)
        }
    }

    private static func measure(
        _ kind: Kind, at url: String, trusting authority: String, into report: inout Report
    ) throws {
        var (own, bare): ([(calls: Double, cpu: Double)], [(calls: Double, cpu: Double)]) = ([], [])
        for _ in 0..<cycles {
            let arguments = [url, "\(tasks)", "\(seconds)", authority]
            own.append(try figures(Child.own, ["worker", "secure"] + arguments))
            bare.append(try figures(Child.sibling("wire-peer"), ["loop"] + arguments))
        }
        let (name, cpu) = (kind.rawValue, median(own.map(\.cpu)))
        report.add("tls.\(name)_cpu_us_per_call", .number(cpu), "µs of CPU time per call \(kind.meaning)")
        report.add(
            "tls.\(name)_vs_libcurl_cpu", .number(median(zip(own, bare).map { $0.cpu / $1.cpu })),
            "its processor time per call to that of libcurl")
        report.add(
            "tls.\(name)_vs_libcurl_calls", .number(median(zip(own, bare).map { $0.calls / $1.calls })),
            "its calls per second to those of libcurl")
    }

    private static func figures(_ program: String, _ arguments: [String]) throws -> (calls: Double, cpu: Double) {
        let child = try Child(program, arguments)
        let numbers = child.line().compactMap(Double.init)
        let cpu = try child.end()
        guard numbers.count >= 2 else { throw Child.Failure(description: "\(program) said nothing") }
        return (numbers[0] / numbers[1], cpu * 1e6 / numbers[0])
    }

    // MARK: The server

    /// Starts a server for each kind, at ports that follow each other; `nil` if a program is missing.
    private static func start(in folder: String) throws -> (Child, firstPort: Int)? {
        let key = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        let files = ["-keyout", "\(folder)/key.pem", "-out", "\(folder)/certificate.pem"]
        let names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
        // What cannot be started is not installed.
        guard let openssl = try? Child("openssl", key + files + names) else { return nil }
        _ = try openssl.end()
        for _ in 0..<5 {
            let port = Int.random(in: 20_000..<30_000)
            try configuration(in: folder, from: port).write(
                toFile: "\(folder)/nginx.conf", atomically: true, encoding: .utf8)
            guard let server = try? Child("nginx", ["-e", "/dev/stdout", "-p", folder, "-c", "\(folder)/nginx.conf"])
            else { return nil }
            while case let line = server.line(), !line.isEmpty {
                if line.last == "method" { return (server, port) }
            }
            server.kill()
        }
        return nil
    }

    private static func configuration(in folder: String, from port: Int) -> String {
        let servers = Kind.allCases.enumerated().map { number, kind in
            """
                server {
                    listen 127.0.0.1:\(port + number) \(kind.settings.listen);
                    ssl_certificate "\(folder)/certificate.pem"; ssl_certificate_key "\(folder)/key.pem";
                    ssl_protocols TLSv1.2 TLSv1.3; \(kind.settings.more)
                    location / {
                        default_type application/json;
                        return 200 '{"id":7,"name":"Ann Example","mail":"ann@example.com","friends":[1],"active":true}';
                    }
                }
            """
        }
        return """
            daemon off; master_process off; pid "\(folder)/pid"; error_log /dev/stdout notice;
            events { worker_connections 1024; }
            http {
                access_log off;
                client_body_temp_path "\(folder)/a"; proxy_temp_path "\(folder)/b"; fastcgi_temp_path "\(folder)/c";
                uwsgi_temp_path "\(folder)/d"; scgi_temp_path "\(folder)/e";
            \(servers.joined(separator: "\n"))
            }
            """
    }
}
#endif
