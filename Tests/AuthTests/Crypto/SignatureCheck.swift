#if os(Linux)
@testable import Errand
import Foundation
import Testing

/// Checks signatures with OpenSSL, from the public key alone.
enum SignatureCheck {
    private typealias Bytes = UnsafePointer<UInt8>
    private typealias DecodeKey =
        @convention(c) (
            UnsafeMutablePointer<OpaquePointer?>?, UnsafeMutablePointer<Bytes?>, CLong
        ) -> OpaquePointer?
    private typealias Make = @convention(c) () -> OpaquePointer?
    private typealias Free = @convention(c) (OpaquePointer?) -> Void
    private typealias Begin =
        @convention(c) (
            OpaquePointer?, OpaquePointer?, OpaquePointer?, OpaquePointer?, OpaquePointer?
        ) -> CInt
    private typealias Verify = @convention(c) (OpaquePointer?, Bytes?, Int, Bytes?, Int) -> CInt

    /// Returns whether the signature is that of the key for the data.
    static func accepts(_ signature: [UInt8], of data: Data, by key: SigningKey) throws -> Bool {
        struct PublicKey: Decodable {
            var x, y: String
        }
        let open = try JSONDecoder().decode(PublicKey.self, from: Data(key.publicKey.utf8))
        let point = [open.x, open.y].flatMap { Base64URL.decode($0) ?? Data() }
        return try accepts(signature, of: data, point: point)
    }

    private static func accepts(_ signature: [UInt8], of data: Data, point: [UInt8]) throws -> Bool {
        let library = try #require(dlopen("libcrypto.so.3", RTLD_NOW) ?? dlopen("libcrypto.so.1.1", RTLD_NOW))
        func find<Function>(_ name: String) throws -> Function {
            unsafeBitCast(try #require(dlsym(library, name)), to: Function.self)
        }
        let (decode, make, free): (DecodeKey, Make, Free) = try (
            find("d2i_PUBKEY"), find("EVP_MD_CTX_new"), find("EVP_MD_CTX_free")
        )
        let (hash, begin, verify): (Make, Begin, Verify) = try (
            find("EVP_sha256"), find("EVP_DigestVerifyInit"), find("EVP_DigestVerify")
        )
        let freeKey: Free = try find("EVP_PKEY_free")
        let start: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
            0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
        ]
        let form = start + point
        let key = form.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return decode(nil, &position, bytes.count)
        }
        defer { freeKey(key) }
        let context = make()
        defer { free(context) }
        try #require(key != nil && begin(context, nil, hash(), nil, key) == 1)
        let numbers = [signature.prefix(32), signature.suffix(32)].flatMap { half -> [UInt8] in
            var digits = Array(half.drop { $0 == 0 })
            if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
            return [0x02, UInt8(digits.count)] + digits
        }
        let encoded = [0x30, UInt8(numbers.count)] + numbers
        let bytes = Array(data)
        return verify(context, encoded, encoded.count, bytes, bytes.count) == 1
    }
}
#endif
