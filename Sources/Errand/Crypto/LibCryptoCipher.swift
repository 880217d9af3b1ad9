#if os(Linux)
#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The functions of OpenSSL's libcrypto that encrypt with AES-GCM, opened when they are first needed.
struct LibCryptoCipher: Sendable {
    private typealias Bytes = UnsafePointer<UInt8>
    private typealias Make = @convention(c) @Sendable () -> OpaquePointer?
    private typealias Free = @convention(c) @Sendable (OpaquePointer?) -> Void
    private typealias Begin =
        @convention(c) @Sendable (OpaquePointer?, OpaquePointer?, OpaquePointer?, Bytes?, Bytes?, CInt) -> CInt
    private typealias Update =
        @convention(c) @Sendable (
            OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<CInt>, Bytes?, CInt
        ) -> CInt
    private typealias Finish =
        @convention(c) @Sendable (OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<CInt>) -> CInt
    private typealias Control =
        @convention(c) @Sendable (OpaquePointer?, CInt, CInt, UnsafeMutableRawPointer?) -> CInt

    /// The library of the system; `nil` if there is none with all functions.
    static let shared = LibCryptoCipher()

    /// `EVP_CTRL_AEAD_GET_TAG` and `EVP_CTRL_AEAD_SET_TAG`.
    private static let (getTag, setTag): (CInt, CInt) = (0x10, 0x11)

    private let makeContext: Make
    private let freeContext: Free
    private let aes256: Make
    private let begin: Begin
    private let update: Update
    private let finish: Finish
    private let control: Control

    private init?() {
        guard let library = LibCrypto.open() else { return nil }
        func find<Function>(_ name: String, as type: Function.Type = Function.self) -> Function? {
            dlsym(library, name).map { unsafeBitCast($0, to: type) }
        }
        guard let makeContext: Make = find("EVP_CIPHER_CTX_new"), let freeContext: Free = find("EVP_CIPHER_CTX_free"),
            let aes256: Make = find("EVP_aes_256_gcm"), let begin: Begin = find("EVP_CipherInit_ex"),
            let update: Update = find("EVP_CipherUpdate"), let finish: Finish = find("EVP_CipherFinal_ex"),
            let control: Control = find("EVP_CIPHER_CTX_ctrl")
        else { return nil }
        (self.makeContext, self.freeContext, self.aes256) = (makeContext, freeContext, aes256)
        (self.begin, self.update, self.finish, self.control) = (begin, update, finish, control)
    }

    /// Returns the encrypted bytes and the tag; `nil` if the library fails.
    func seal(_ plain: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8]) -> (bytes: [UInt8], tag: [UInt8])? {
        withCipher(key, nonce, isSealing: true) { cipher in
            guard let bytes = process(plain, context, by: cipher) else { return nil }
            var end: CInt = 0
            // This mode has no padding, so nothing follows.
            guard withScratch({ finish(cipher, $0, &end) }) == 1 else { return nil }
            var tag = [UInt8](repeating: 0, count: AESGCM.tagLength)
            guard control(cipher, Self.getTag, CInt(tag.count), &tag) == 1 else { return nil }
            return (bytes, tag)
        }
    }

    /// Returns the decrypted bytes; `nil` if they or the context do not belong to the tag.
    func open(_ sealed: [UInt8], tag: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8]) -> [UInt8]? {
        withCipher(key, nonce, isSealing: false) { cipher in
            guard let bytes = process(sealed, context, by: cipher) else { return nil }
            var expected = tag
            guard control(cipher, Self.setTag, CInt(expected.count), &expected) == 1 else { return nil }
            var end: CInt = 0
            return withScratch({ finish(cipher, $0, &end) }) == 1 ? bytes : nil
        }
    }

    private func withCipher<Result>(
        _ key: [UInt8], _ nonce: [UInt8], isSealing: Bool, _ use: (OpaquePointer) -> Result?
    ) -> Result? {
        guard let cipher = makeContext() else { return nil }
        // It also clears the key.
        defer { freeContext(cipher) }
        guard begin(cipher, aes256(), nil, key, nonce, isSealing ? 1 : 0) == 1 else { return nil }
        return use(cipher)
    }

    private func process(_ bytes: [UInt8], _ context: [UInt8], by cipher: OpaquePointer) -> [UInt8]? {
        guard let count = CInt(exactly: bytes.count), let others = CInt(exactly: context.count) else { return nil }
        var done: CInt = 0
        guard others == 0 || update(cipher, nil, &done, context, others) == 1 else { return nil }
        var result = [UInt8](repeating: 0, count: bytes.count)
        guard count == 0 || update(cipher, &result, &done, bytes, count) == 1 && done == count else { return nil }
        return result
    }

    private func withScratch(_ use: (UnsafeMutablePointer<UInt8>?) -> CInt) -> CInt {
        var block = [UInt8](repeating: 0, count: 16)
        return block.withUnsafeMutableBufferPointer { use($0.baseAddress) }
    }
}
#endif
