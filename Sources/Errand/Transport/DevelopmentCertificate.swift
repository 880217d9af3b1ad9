#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A certificate of a server under development, which the system does not trust, such as one signed by itself.
///
///     let client = APIClient("https://localhost:8443") {
///         $0.developmentCertificate = .file("localhost.pem", hosts: ["localhost"])
///     }
///
/// A server at one of the hosts is trusted if it has the key of that certificate, and no other: who has signed it, and
/// for how long, does not matter. With libcurl, the certificate has to have the name of the host. Other hosts are
/// verified as ever. The client reports a warning for as long as the setting is there, as
/// ``ClientEvent/Kind/warned(_:)``, once per process.
public struct DevelopmentCertificate: Sendable, Hashable {
    private enum Source: Sendable, Hashable {
        case file(String)
        case key(String)
    }

    private let source: Source
    /// The hosts, without a scheme, a port or a `*`.
    public let hosts: Set<String>

    /// The certificate in a file, as PEM or DER, or a public key in one, as PEM.
    public static func file(_ path: String, hosts: Set<String>) -> DevelopmentCertificate {
        DevelopmentCertificate(source: .file(path), hosts: hosts)
    }

    /// A public key, by its SHA-256 hash in base64, as for ``CurlTransport/Options/pinnedPublicKeys``.
    public static func publicKey(_ hash: String, hosts: Set<String>) -> DevelopmentCertificate {
        DevelopmentCertificate(source: .key(hash), hosts: hosts)
    }

    /// Whether servers at that host are trusted by this certificate only.
    func covers(_ host: String) -> Bool {
        let host = host.withoutBrackets
        return hosts.contains { $0.withoutBrackets.equalsIgnoringCase(host) }
    }

    /// A description of what is wrong with the hosts; `nil` if nothing is.
    var problem: String? {
        guard !hosts.isEmpty else { return "a development certificate without a host; name the hosts that have it" }
        for host in hosts.sorted() {
            let bare = host.withoutBrackets
            let written = bare.utf8.contains(UInt8(ascii: ":")) ? "[\(bare)]" : bare
            guard let url = try? HTTPURL(reading: "https://\(written)"), url.origin.host.equalsIgnoringCase(written)
            else {
                let reason = "\(HTTPSyntax.quoted(host)) in the hosts of a development certificate"
                return "\(reason); name one host, without a scheme, a port or a *"
            }
        }
        return nil
    }

    /// Reads the file, and returns the hash of the key. Throws `.invalidRequest` if there is none.
    func keyHash() throws(ServiceError) -> String {
        switch source {
        case .key(let hash):
            guard Data(base64Encoded: hash)?.count == 32 else {
                throw .badSetting("the key \(HTTPSyntax.quoted(hash)) is not a SHA-256 hash of 32 bytes in base64")
            }
            return hash
        case .file(let path):
            guard let data = FileManager.default.contents(atPath: path) else {
                throw .badSetting("the development certificate \(HTTPSyntax.quoted(path)) cannot be read")
            }
            guard let hash = CertificateKey.hash(ofFile: Array(data)) else {
                throw .badSetting("\(HTTPSyntax.quoted(path)) has neither a certificate nor a public key in PEM or DER")
            }
            return hash
        }
    }

    /// Whether that certificate, as DER, has the key.
    func hasKey(of certificate: Data?) -> Bool {
        // A file that cannot be read has failed the call before.
        guard let own = try? keyHash(), let certificate else { return false }
        let hash = CertificateKey.hash(ofCertificate: Array(certificate))
        return hash.map { Data(base64Encoded: own) == Data(base64Encoded: $0) } ?? false
    }

    /// What the client warns of.
    var warning: String {
        "the development certificate \(description) is trusted; remove the setting before you ship"
    }

    /// A digest that sets transports with it apart.
    var identity: String { Base64URL.encode(SHA256.hash(of: Data("development \(description)".utf8))) }
}

extension String {
    /// An address of IPv6 without the brackets that it has in a URL.
    fileprivate var withoutBrackets: String {
        hasPrefix("[") && hasSuffix("]") ? String(dropFirst().dropLast()) : self
    }
}

extension DevelopmentCertificate: CustomStringConvertible {
    /// The certificate and its hosts.
    public var description: String {
        switch source {
        case .file(let path): "\(path) for \(hosts.sorted().joined(separator: ", "))"
        case .key(let hash): "\(hash) for \(hosts.sorted().joined(separator: ", "))"
        }
    }
}

extension Transport {
    /// Whether its options have a development certificate.
    var hasDevelopmentOption: Bool {
        #if os(Linux)
        if self is CurlTransport { return true }
        #endif
        #if URLSession || canImport(Darwin)
        if self is URLSessionTransport { return true }
        #endif
        return false
    }
}
