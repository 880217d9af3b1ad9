#if os(Linux)
import Foundation
import Testing

/// OpenSSL's own server: it presents a certificate, and responds to each GET of `/` with a page.
final class TLSServer: Sendable {
    /// The port on 127.0.0.1 that it listens on.
    let port: Int
    /// Its URL, without a path.
    var url: String { "https://localhost:\(port)" }

    private let process: ServerProcess

    init(_ certificate: TestCertificate, _ options: String...) async throws {
        let address = ["-accept", "127.0.0.1:0"]
        process = try await ServerProcess(
            .openssl, ["s_server", "-www", "-cert", certificate.file, "-key", certificate.key] + address + options,
            readyAfter: "ACCEPT 127.0.0.1:")
        let digits = process.greeting.split(separator: "ACCEPT 127.0.0.1:").last?.prefix { $0.isNumber }
        port = try #require(digits.flatMap { Int($0) })
    }
}
#endif
