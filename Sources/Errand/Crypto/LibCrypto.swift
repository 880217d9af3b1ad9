#if os(Linux)
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The functions of OpenSSL's libcrypto that sign, opened when they are first needed. The library is that of the
/// system, with which libcurl usually works already. With the package trait `LinkedCurl` it is the one that the program
/// is linked with, if there is one.
struct LibCrypto: Sendable {
    private typealias Bytes = UnsafePointer<UInt8>
    private typealias DecodeKey =
        @convention(c) @Sendable (
            CInt, UnsafeMutablePointer<OpaquePointer?>?, UnsafeMutablePointer<Bytes?>, CLong
        ) -> OpaquePointer?
    private typealias EncodeKey =
        @convention(c) @Sendable (
            OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?
        ) -> CInt
    private typealias Make = @convention(c) @Sendable () -> OpaquePointer?
    private typealias Free = @convention(c) @Sendable (OpaquePointer?) -> Void
    private typealias BeginSigning =
        @convention(c) @Sendable (
            OpaquePointer?, UnsafeMutablePointer<OpaquePointer?>?, OpaquePointer?, OpaquePointer?, OpaquePointer?
        ) -> CInt
    private typealias Sign =
        @convention(c) @Sendable (
            OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int>, Bytes?, Int
        ) -> CInt
    private typealias Verify = @convention(c) @Sendable (OpaquePointer?, Bytes?, Int, Bytes?, Int) -> CInt
    private typealias Initialize = @convention(c) @Sendable (UInt64, OpaquePointer?) -> CInt

    /// The library of the system; `nil` if there is none with all functions.
    static let shared = LibCrypto()

    /// The library of the system, or an error that says which one is missing.
    static var found: LibCrypto {
        get throws(ServiceError) {
            guard let shared else { throw .badSetting(missing) }
            return shared
        }
    }

    static let missing = "signatures need the library libcrypto of OpenSSL 1.1.1 or later, which was not found"

    /// The versions whose functions these are, the latest first.
    private static let names = ["libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so"]
    /// A flag for `OPENSSL_init_crypto`: what the library has allocated stays until the process is gone, because other
    /// threads may use it while the program ends.
    private static let noCleanup: UInt64 = 0x80000

    /// The kind of a key.
    enum KeyKind: CInt {
        case rsa = 6
        case ellipticCurve = 408
    }

    private let decodeKey: DecodeKey
    private let encodePublicKey: EncodeKey
    private let freeKey: Free
    private let makeContext: Make
    private let freeContext: Free
    private let sha256: Make
    private let beginSigning: BeginSigning
    private let sign: Sign
    private let beginVerifying: BeginSigning
    private let verify: Verify

    private init?() {
        guard let library = Self.open() else { return nil }
        func find<Function>(_ name: String, as type: Function.Type = Function.self) -> Function? {
            dlsym(library, name).map { unsafeBitCast($0, to: type) }
        }
        guard let decodeKey: DecodeKey = find("d2i_PrivateKey"),
            let encodePublicKey: EncodeKey = find("i2d_PUBKEY"), let freeKey: Free = find("EVP_PKEY_free"),
            let makeContext: Make = find("EVP_MD_CTX_new"), let freeContext: Free = find("EVP_MD_CTX_free"),
            let sha256: Make = find("EVP_sha256"), let beginSigning: BeginSigning = find("EVP_DigestSignInit"),
            let sign: Sign = find("EVP_DigestSign"),
            let beginVerifying: BeginSigning = find("EVP_DigestVerifyInit"),
            let verify: Verify = find("EVP_DigestVerify")
        else { return nil }
        (self.decodeKey, self.encodePublicKey) = (decodeKey, encodePublicKey)
        (self.freeKey, self.makeContext, self.freeContext) = (freeKey, makeContext, freeContext)
        (self.sha256, self.beginSigning, self.sign) = (sha256, beginSigning, sign)
        (self.beginVerifying, self.verify) = (beginVerifying, verify)
    }

    /// Opens the library, which is then never closed; `nil` if there is none.
    static func open() -> UnsafeMutableRawPointer? {
        var library = linked
        for name in names where library == nil { library = dlopen(name, RTLD_NOW | RTLD_LOCAL) }
        guard let library else { return nil }
        if let function = dlsym(library, "OPENSSL_init_crypto") {
            _ = unsafeBitCast(function, to: Initialize.self)(noCleanup, nil)
        }
        return library
    }

    /// The program itself, if it is linked with the library; otherwise `nil`.
    private static var linked: UnsafeMutableRawPointer? {
        #if LinkedCurl
        // A shared libcurl that is linked with the program usually brings the library along, and no file is opened
        // then. Of the functions, this one came last, with 1.1.1: a library that has it has the others.
        guard let program = dlopen(nil, RTLD_NOW), dlsym(program, "EVP_DigestSign") != nil else { return nil }
        return program
        #else
        return nil
        #endif
    }

    /// Returns the public part of a key on a curve, in the form of X.509; `nil` if the bytes are no such key.
    func publicKey(of der: [UInt8]) -> [UInt8]? {
        withKey(der, .ellipticCurve) { key in
            let count = Int(encodePublicKey(key, nil))
            guard count > 0 else { return nil }
            var bytes = [UInt8](repeating: 0, count: count)
            return bytes.withUnsafeMutableBufferPointer { buffer -> Bool in
                var position = buffer.baseAddress
                return encodePublicKey(key, &position) == count
            } ? bytes : nil
        }
    }

    /// Returns a signature of the SHA-256 hash, in the form of the key's kind; `nil` if the key cannot sign.
    func signature(of data: Data, by der: [UInt8], _ kind: KeyKind) -> [UInt8]? {
        withKey(der, kind) { key in
            guard let context = makeContext() else { return nil }
            defer { freeContext(context) }
            guard beginSigning(context, nil, sha256(), nil, key) == 1 else { return nil }
            return data.withUnsafeBytes { data in
                let bytes = data.baseAddress?.assumingMemoryBound(to: UInt8.self)
                var count = 0
                guard sign(context, nil, &count, bytes, data.count) == 1 else { return nil }
                var signature = [UInt8](repeating: 0, count: count)
                guard sign(context, &signature, &count, bytes, data.count) == 1 else { return nil }
                return Array(signature.prefix(count))
            }
        }
    }

    /// Whether a signature of the SHA-256 hash is that of the key.
    func accepts(_ signature: [UInt8], of data: Data, by der: [UInt8], _ kind: KeyKind) -> Bool {
        let isOwn = withKey(der, kind) { key -> Bool? in
            guard let context = makeContext() else { return nil }
            defer { freeContext(context) }
            guard beginVerifying(context, nil, sha256(), nil, key) == 1 else { return nil }
            return data.withUnsafeBytes { data in
                let bytes = data.baseAddress?.assumingMemoryBound(to: UInt8.self)
                return verify(context, signature, signature.count, bytes, data.count) == 1
            }
        }
        return isOwn ?? false
    }

    private func withKey<Result>(_ der: [UInt8], _ kind: KeyKind, _ use: (OpaquePointer) -> Result?) -> Result? {
        der.withUnsafeBufferPointer { der in
            var position = der.baseAddress
            guard let key = decodeKey(kind.rawValue, nil, &position, der.count) else { return nil }
            defer { freeKey(key) }
            return use(key)
        }
    }
}
#endif
