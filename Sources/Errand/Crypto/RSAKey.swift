#if canImport(Security)
import Security
#endif
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A private key for RSA, and what the system does with it: Security on Apple's platforms, where CryptoKit has no RSA,
/// and OpenSSL on Linux.
struct RSAKey: Sendable, Hashable {
    /// The key in the form of RFC 8017 (A.1.2).
    let form: [UInt8]
    /// The two numbers of the public key.
    let modulus, exponent: [UInt8]

    /// The sizes of a modulus in bits: no smaller one may sign (RFC 7518, 3.3), and OpenSSL uses no larger one.
    private static let sizes = 2048...16384

    init(form: [UInt8]) throws(ServiceError) {
        var whole = DERReader(form)
        guard var numbers = whole.sequence(), whole.isAtEnd, numbers.number() == [], let modulus = numbers.number(),
            let exponent = numbers.number()
        else { throw Self.unusable }
        let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        guard Self.sizes ~= bits else {
            throw .badSetting("an RSA key has to have 2048 bits or more, and at most 16384; this one has \(bits)")
        }
        (self.form, self.modulus, self.exponent) = (form, modulus, exponent)
        // What cannot sign is told now, and not at the first request.
        guard try isOwn(signature(of: Data()), of: Data()) else { throw Self.unusable }
    }

    private static let unusable = ServiceError.badSetting("the RSA key is damaged")

    /// Returns a signature of the SHA-256 hash (RFC 8017, 8.2).
    func signature(of data: Data) throws(ServiceError) -> [UInt8] {
        #if canImport(Security)
        guard let key = Self.key(form),
            let signature = SecKeyCreateSignature(key, .rsaSignatureMessagePKCS1v15SHA256, data as CFData, nil)
        else { throw Self.unusable }
        return Array(signature as Data)
        #else
        guard let signature = try LibCrypto.found.signature(of: data, by: form, .rsa) else { throw Self.unusable }
        return signature
        #endif
    }

    /// Whether a signature is accepted by the public key.
    private func isOwn(_ signature: [UInt8], of data: Data) throws(ServiceError) -> Bool {
        #if canImport(Security)
        guard let key = Self.key(form), let open = SecKeyCopyPublicKey(key) else { return false }
        return SecKeyVerifySignature(
            open, .rsaSignatureMessagePKCS1v15SHA256, data as CFData, Data(signature) as CFData, nil)
        #else
        return try LibCrypto.found.accepts(signature, of: data, by: form, .rsa)
        #endif
    }

    #if canImport(Security)
    private static func key(_ form: [UInt8]) -> SecKey? {
        let attributes: [CFString: Any] = [
            kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeyClass: kSecAttrKeyClassPrivate,
        ]
        return SecKeyCreateWithData(Data(form) as CFData, attributes as CFDictionary, nil)
    }
    #endif
}
