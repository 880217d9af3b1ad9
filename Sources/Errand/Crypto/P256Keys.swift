#if canImport(CryptoKit)
import CryptoKit
#endif
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What the system does with keys on the curve P-256: CryptoKit on Apple's platforms, OpenSSL on Linux.
///
/// A secret is a number of 32 bytes; a point has two coordinates, and a signature two numbers, of as many bytes each.
enum P256Keys {
    /// The order of the curve: a secret is less than this, and not zero.
    private static let order: [UInt8] = [
        0xFF, 0xFF, 0xFF, 0xFF, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xBC, 0xE6,
        0xFA, 0xAD, 0xA7, 0x17, 0x9E, 0x84, 0xF3, 0xB9, 0xCA, 0xC2, 0xFC, 0x63, 0x25, 0x51,
    ]

    /// Why this process has no use for keys; `nil` if it can use them.
    static var problem: String? {
        #if canImport(CryptoKit)
        return nil
        #else
        return LibCrypto.shared == nil ? LibCrypto.missing : nil
        #endif
    }

    /// Whether the bytes are a secret.
    static func isSecret(_ bytes: [UInt8]) -> Bool {
        bytes.count == order.count && bytes.contains { $0 != 0 } && bytes.lexicographicallyPrecedes(order)
    }

    #if canImport(CryptoKit)
    static func point(of secret: [UInt8]) throws(ServiceError) -> [UInt8] {
        do {
            return Array(try P256.Signing.PrivateKey(rawRepresentation: Data(secret)).publicKey.rawRepresentation)
        } catch {
            throw .badSetting("the key cannot be used")
        }
    }

    static func signature(of data: Data, by secret: [UInt8]) throws(ServiceError) -> [UInt8] {
        do {
            let key = try P256.Signing.PrivateKey(rawRepresentation: Data(secret))
            return Array(try key.signature(for: data).rawRepresentation)
        } catch {
            throw .badSetting("the key cannot be used")
        }
    }
    #else
    /// A key with the curve's name begins like this, and the secret follows (RFC 5915).
    private static let start: [UInt8] = [0x30, 0x31, 0x02, 0x01, 0x01, 0x04, 0x20]
    /// The curve's name, without the public key, which OpenSSL computes then.
    private static let curve: [UInt8] = [0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
    /// What comes before the point of a public key on this curve (RFC 5480).
    private static let publicStart: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
        0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
    ]

    static func point(of secret: [UInt8]) throws(ServiceError) -> [UInt8] {
        guard let open = try LibCrypto.found.publicKey(of: start + secret + curve), open.starts(with: publicStart),
            open.count == publicStart.count + 64
        else { throw .badSetting("the key cannot be used") }
        return Array(open.suffix(64))
    }

    static func signature(of data: Data, by secret: [UInt8]) throws(ServiceError) -> [UInt8] {
        guard let der = try LibCrypto.found.signature(of: data, by: start + secret + curve, .ellipticCurve),
            let plain = plain(der)
        else { throw .badSetting("the key cannot be used") }
        return plain
    }

    /// Returns the two numbers of a signature, without the lengths and the zeros of its form (RFC 3279).
    static func plain(_ der: [UInt8]) -> [UInt8]? {
        var whole = DERReader(der)
        guard var numbers = whole.sequence(), let first = numbers.number(), let second = numbers.number(),
            numbers.isAtEnd, whole.isAtEnd, max(first.count, second.count) <= 32
        else { return nil }
        return [first, second].flatMap { [UInt8](repeating: 0, count: 32 - $0.count) + $0 }
    }
    #endif
}
