#if os(Linux)
import Errand
import ErrandTesting
import Foundation
import Testing

/// A TLS server of OpenSSL's, with a certificate that is made for the test; it answers each GET with a page.
private final class TLSServer {
    let port: Int
    let folder: URL
    private let process = Process()

    init?(host: String = "localhost", days: String = "2") throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // A port that was free a moment ago.
        let probe = try LoopbackServer()
        port = probe.port
        probe.close()
        guard FileManager.default.isExecutableFile(atPath: Self.openssl) else { return nil }
        let made = try Self.run([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", path("key.pem"), "-out", path("cert.pem"),
            "-days", days, "-subj", "/CN=\(host)", "-addext", "subjectAltName=DNS:\(host)",
        ])
        guard made == 0 else { return nil }
        process.executableURL = URL(filePath: Self.openssl)
        process.arguments = [
            "s_server", "-accept", "127.0.0.1:\(port)", "-www", "-cert", path("cert.pem"), "-key", path("key.pem"),
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
    }

    func path(_ name: String) -> String { folder.appending(path: name).path }

    private static let openssl = "/usr/bin/openssl"

    private static func run(_ arguments: [String]) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(filePath: openssl)
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }

    deinit {
        process.terminate()
        try? FileManager.default.removeItem(at: folder)
    }
}

@Suite struct CurlTLSTests {
    /// What a call ends with, once the server is up.
    private func outcome(_ server: TLSServer, _ options: CurlTransport.Options) async throws -> Result<
        Data, ServiceError
    > {
        let client = APIClient("https://localhost:\(server.port)") {
            $0.transport = CurlTransport(options)
            $0.retry = .never
            // Real time: a busy machine is no reason to fail.
            $0.timeout = .seconds(60)
        }
        for _ in 0..<200 {
            do throws(ServiceError) {
                return .success(try await client.run(Endpoint<Data>.get("")))
            } catch {
                guard case .transport(let failure) = error, failure.kind == .refused else { return .failure(error) }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        throw CancellationError()
    }

    private func isUntrusted(_ outcome: Result<Data, ServiceError>) -> Bool {
        guard case .failure(.transport(let failure)) = outcome else { return false }
        return failure.kind == .untrustedCertificate && !failure.mayHaveReachedServer
    }

    @Test("C30: a certificate that nobody vouches for is refused; with its authority it is not")
    func untrusted() async throws {
        guard let server = try TLSServer() else { return print("skipped: openssl is not installed") }
        #expect(isUntrusted(try await outcome(server, CurlTransport.Options())))
        var trusting = CurlTransport.Options()
        trusting.certificateAuthorities = server.path("cert.pem")
        #expect(try await outcome(server, trusting).get().count > 0)
    }

    @Test("C30: a certificate for another host is refused")
    func wrongHost() async throws {
        guard let server = try TLSServer(host: "other.test") else { return print("skipped: openssl is not installed") }
        var trusting = CurlTransport.Options()
        trusting.certificateAuthorities = server.path("cert.pem")
        #expect(isUntrusted(try await outcome(server, trusting)))
    }

    @Test("a pinned key that is another's is refused, even with a certificate to be trusted")
    func pinning() async throws {
        guard let server = try TLSServer() else { return print("skipped: openssl is not installed") }
        var pinning = CurlTransport.Options()
        pinning.certificateAuthorities = server.path("cert.pem")
        pinning.pinnedPublicKeys = [Data(repeating: 7, count: 32).base64EncodedString()]
        #expect(isUntrusted(try await outcome(server, pinning)))
    }
}
#endif
