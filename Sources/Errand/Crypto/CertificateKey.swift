#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The public key of a certificate, as a hash: what tells servers apart, whoever has signed it.
enum CertificateKey {
    /// Returns the SHA-256 hash in base64 of the key in a file, which has a certificate or a public key as PEM, or a
    /// certificate as DER; `nil` if it has none. Of several certificates, the first counts.
    static func hash(ofFile bytes: [UInt8]) -> String? {
        if let hash = hash(ofCertificate: bytes) { return hash }
        for block in PEM.blocks(in: String(decoding: bytes, as: UTF8.self)) {
            switch block.label {
            case "CERTIFICATE": return hash(ofCertificate: block.bytes)
            case "PUBLIC KEY": return isKey(block.bytes) ? hash(ofKey: block.bytes) : nil
            default: continue
            }
        }
        return nil
    }

    /// Returns the hash of the key in a certificate (RFC 5280, 4.1).
    static func hash(ofCertificate bytes: [UInt8]) -> String? {
        var file = DERReader(bytes)
        guard var certificate = file.sequence(), file.isAtEnd, var parts = certificate.sequence() else { return nil }
        // The version is there unless it is the first.
        _ = parts.content(.first)
        guard parts.content(.integer) != nil else { return nil }
        // The algorithm, the issuer, the time, and the subject.
        for _ in 0..<4 where parts.sequence() == nil { return nil }
        return parts.element(.sequence).map { hash(ofKey: Array($0)) }
    }

    /// Whether the text is such a hash.
    static func isHash(_ text: String) -> Bool { Data(base64Encoded: text)?.count == 32 }

    private static func isKey(_ bytes: [UInt8]) -> Bool {
        var file = DERReader(bytes)
        return file.sequence() != nil && file.isAtEnd
    }

    private static func hash(ofKey bytes: [UInt8]) -> String {
        Data(SHA256.hash(of: Data(bytes))).base64EncodedString()
    }
}
