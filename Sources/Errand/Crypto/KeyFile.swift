#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The private key in a file: text with named blocks of bytes (RFC 7468), one of which has the key.
enum KeyFile {
    /// What a file may contain.
    enum Key: Equatable {
        /// The secret of a key on the curve P-256.
        case p256(secret: [UInt8])
        /// A key for RSA, in the form of RFC 8017.
        case rsa(form: [UInt8])
    }

    /// The object identifiers of both kinds (RFC 5480, 8017), and of the curve.
    private static let (elliptic, rsa, p256): ([UInt8], [UInt8], [UInt8]) = (
        [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01],
        [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01],
        [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
    )

    private static let encrypted = ServiceError.badSetting(
        "the private key is encrypted; this writes it without its password: openssl pkey -in key.pem")

    /// Returns the first key in the text.
    static func key(in text: String) throws(ServiceError) -> Key {
        // The older way: a field before the bytes.
        if text.split(whereSeparator: \.isNewline).contains(where: { $0.trimmed == "Proc-Type: 4,ENCRYPTED" }) {
            throw encrypted
        }
        for block in PEM.blocks(in: text) {
            let key: Key?
            switch block.label {
            case "PRIVATE KEY": key = wrapped(block.bytes)
            case "EC PRIVATE KEY": key = onCurve(block.bytes[...], curve: nil)
            case "RSA PRIVATE KEY": key = .rsa(form: block.bytes)
            case "ENCRYPTED PRIVATE KEY": throw encrypted
            default: continue
            }
            guard let key else { break }
            return key
        }
        throw .badSetting(
            "the text has no private key on the curve P-256 and none for RSA; such a key begins with BEGIN PRIVATE KEY")
    }

    /// Reads a key of any kind (PKCS #8, RFC 5958).
    private static func wrapped(_ bytes: [UInt8]) -> Key? {
        var whole = DERReader(bytes)
        guard var parts = whole.sequence(), parts.number() != nil, var kind = parts.sequence(),
            let name = kind.content(.identifier), let content = parts.content(.octets)
        else { return nil }
        switch Array(name) {
        case elliptic: return kind.content(.identifier).flatMap { onCurve(content, curve: Array($0)) }
        case rsa: return .rsa(form: Array(content))
        default: return nil
        }
    }

    /// Reads a key on a curve (RFC 5915), which names the curve itself where nothing around it does.
    private static func onCurve(_ bytes: ArraySlice<UInt8>, curve outer: [UInt8]?) -> Key? {
        var whole = DERReader(bytes)
        guard var parts = whole.sequence(), parts.number() == [1], let digits = parts.content(.octets) else {
            return nil
        }
        var named = parts.content(.first).map(DERReader.init)
        let inner = named?.content(.identifier).map(Array.init)
        guard let curve = outer ?? inner, curve == p256, inner ?? curve == curve else { return nil }
        // Some programs leave out the zeros at the start.
        let secret = [UInt8](repeating: 0, count: max(0, 32 - digits.count)) + digits
        return P256Keys.isSecret(secret) ? .p256(secret: secret) : nil
    }
}
