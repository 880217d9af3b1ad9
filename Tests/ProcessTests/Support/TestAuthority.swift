#if os(Linux)
import Errand
import ErrandTestSupport
import Foundation

/// A certificate and its private key, as PEM files.
struct TestCertificate: Sendable {
    let file: String
    let key: String

    /// The hash of its public key, as a client pins it.
    var pin: String {
        get async throws {
            let key = try await Program.openssl.run(["x509", "-in", file, "-pubkey", "-noout"])
            let bytes = try await Program.openssl.run(["pkey", "-pubin", "-outform", "der"], input: key)
            return try await Program.openssl.run(["dgst", "-sha256", "-binary"], input: bytes).base64EncodedString()
        }
    }
}

/// A certificate authority for one test, and its certificates. Its files are deleted with it.
final class TestAuthority: Sendable {
    /// The dates of a certificate that has expired.
    static let longAgo = ["-startdate", "20200101000000Z", "-enddate", "20210101000000Z"]

    private let scratch: Scratch
    private static let newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]

    /// Creates an authority of that name.
    init(_ name: String = "Errand's tests") async throws {
        scratch = try Scratch()
        // `openssl ca` requires this configuration; it is the only command that accepts dates in every version.
        try scratch.write(
            """
            [ca]
            default_ca = authority
            [authority]
            database = \(scratch.path("index"))
            new_certs_dir = \(scratch.folder)
            rand_serial = yes
            default_md = sha256
            default_days = 2
            unique_subject = no
            copy_extensions = copy
            policy = names
            [names]
            commonName = supplied
            """, to: "configuration")
        try scratch.write("", to: "index")
        try await makeOwnCertificate("authority", subject: name)
    }

    /// The file of the authority's certificate, for clients that trust it.
    var file: String { scratch.path("authority.pem") }

    /// Issues a certificate that the authority signs.
    func issue(to host: String = "localhost", dates: [String] = []) async throws -> TestCertificate {
        let name = UUID().uuidString
        let (request, certificate) = (scratch.path("\(name).csr"), certificate(name))
        let isAddress = host.allSatisfy { $0.isNumber || $0 == "." }
        try await Program.openssl.run(
            ["req"] + Self.newKey + ["-keyout", certificate.key, "-out", request, "-subj", "/CN=\(host)"]
                + ["-addext", "subjectAltName=\(isAddress ? "IP" : "DNS"):\(host)"])
        try await Program.openssl.run(
            ["ca", "-batch", "-notext", "-config", scratch.path("configuration"), "-in", request]
                + ["-cert", file, "-keyfile", scratch.path("authority-key.pem"), "-out", certificate.file] + dates)
        return certificate
    }

    /// Creates a certificate that only its own key signs.
    func selfSigned() async throws -> TestCertificate {
        try await makeOwnCertificate("own", subject: "localhost", ["-addext", "subjectAltName=DNS:localhost"])
        return certificate("own")
    }

    /// Creates a transport that trusts the authority, and uses no proxy.
    func transport(_ configure: (inout CurlTransport.Options) -> Void = { _ in }) -> CurlTransport {
        var options = CurlTransport.Options()
        options.certificateAuthorities = file
        options.proxy = .none
        configure(&options)
        return CurlTransport(options)
    }

    private func makeOwnCertificate(_ name: String, subject: String, _ more: [String] = []) async throws {
        let certificate = certificate(name)
        try await Program.openssl.run(
            ["req", "-x509"] + Self.newKey + ["-keyout", certificate.key, "-out", certificate.file, "-days", "2"]
                + ["-subj", "/CN=\(subject)"] + more)
    }

    private func certificate(_ name: String) -> TestCertificate {
        TestCertificate(file: scratch.path("\(name).pem"), key: scratch.path("\(name)-key.pem"))
    }
}
#endif
