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
/// verified as ever. The first client that has the setting and a listener reports a warning, once per process, as
/// ``ClientEvent/Kind/warned(_:)``.
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
        let host = host.asHost
        return hosts.contains { $0.asHost.equalsIgnoringCase(host) }
    }

    /// A description of what is wrong with the hosts; `nil` if nothing is.
    var problem: String? {
        guard !hosts.isEmpty else { return "a development certificate without a host; name the hosts that have it" }
        return Origin.problem(withHosts: Set(hosts.map(\.asHost)), of: "the hosts of a development certificate")
    }

    /// Reads the file, and returns the hash of the key. Throws `.invalidRequest` if there is none.
    func keyHash() throws(ServiceError) -> String {
        switch source {
        case .key(let hash):
            guard CertificateKey.isHash(hash) else {
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
        // If the file cannot be read, the call has failed before.
        guard let own = try? keyHash(), let certificate else { return false }
        let hash = CertificateKey.hash(ofCertificate: Array(certificate))
        return hash.map { Data(base64Encoded: own) == Data(base64Encoded: $0) } ?? false
    }

    /// What the client warns of.
    var warning: String {
        let places = hosts.sorted().joined(separator: ", ")
        return "a development certificate is trusted at \(places); remove the setting before you ship"
    }

    /// A digest that sets transports with it apart.
    var identity: String { Base64URL.encode(SHA256.hash(of: Data("development \(description)".utf8))) }
}

extension String {
    /// The host as in a URL, where an address of IPv6 has brackets: a session names it without.
    fileprivate var asHost: String {
        utf8.contains(UInt8(ascii: ":")) && !hasPrefix("[") ? "[\(self)]" : self
    }
}

extension DevelopmentCertificate: CustomStringConvertible {
    /// The certificate and its hosts.
    public var description: String {
        let name =
            switch source {
            case .file(let path): path
            case .key(let hash): hash
            }
        return "\(name) for \(hosts.sorted().joined(separator: ", "))"
    }
}

extension Transport {
    /// Whether a development certificate is one of its options.
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
