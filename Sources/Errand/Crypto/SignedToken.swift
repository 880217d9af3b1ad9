#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A JSON Web Token that a key has signed (RFC 7515, 7519).
enum SignedToken {
    private struct Header: Encodable {
        var alg: String
        var kid: String
        let typ = "JWT"
    }

    /// Returns a token with those claims, which names the key by `keyID`.
    static func text(
        _ claims: some Encodable, by key: SigningKey, keyID: String
    ) throws(ServiceError) -> String {
        try text(part(claims), header: part(Header(alg: key.algorithm, kid: keyID)), signedBy: key)
    }

    /// Returns a token with those claims, whose header is that JSON text.
    static func text(
        _ claims: some Encodable, header: String, by key: SigningKey
    ) throws(ServiceError) -> String {
        try text(part(claims), header: Base64URL.encode(Array(header.utf8)), signedBy: key)
    }

    private static func text(
        _ claims: String, header: String, signedBy key: SigningKey
    ) throws(ServiceError) -> String {
        let signed = "\(header).\(claims)"
        return "\(signed).\(Base64URL.encode(try key.signature(of: Data(signed.utf8))))"
    }

    private static func part(_ value: some Encodable) throws(ServiceError) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Servers expect whole seconds, though RFC 7519 allows others.
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            guard let seconds = Int(exactly: date.timeIntervalSince1970.rounded(.down)) else {
                throw EncodingError.invalidValue(
                    date, .init(codingPath: encoder.codingPath, debugDescription: "no such number of seconds"))
            }
            try container.encode(seconds)
        }
        do {
            return Base64URL.encode(try encoder.encode(value))
        } catch {
            throw .badSetting("the claims of a token cannot be encoded")
        }
    }
}
