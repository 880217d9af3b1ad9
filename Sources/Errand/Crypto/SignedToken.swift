#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A JSON Web Token that a key has signed (RFC 7515, 7519).
enum SignedToken {
    private struct Header: Encodable {
        let alg = "ES256"
        var kid: String
        let typ = "JWT"
    }

    /// Returns a token with those claims, which names the key by `keyID`.
    static func text(
        _ claims: some Encodable, by key: SigningKey, keyID: String
    ) throws(ServiceError) -> String {
        let signed = try "\(part(Header(kid: keyID))).\(part(claims))"
        return "\(signed).\(Base64URL.encode(try key.signature(of: Data(signed.utf8))))"
    }

    private static func part(_ value: some Encodable) throws(ServiceError) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return Base64URL.encode(try encoder.encode(value))
        } catch {
            throw .badSetting("the claims of a token cannot be encoded")
        }
    }
}
