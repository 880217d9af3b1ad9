#if canImport(CryptoKit)
import CryptoKit
#endif
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Encryption that also shows whether a text was changed: AES with a key of 256 bits in Galois/Counter Mode (NIST SP
/// 800-38D). CryptoKit does it on Apple's platforms, OpenSSL on Linux.
///
/// Each text has a random nonce of 96 bits, so one key is good for 2³² texts. A sealed text is the nonce, the
/// encrypted bytes, and a tag over both and the context. The context is not encrypted; it has to be the same when the
/// text is opened.
package enum AESGCM {
    /// Why a text could not be sealed or opened.
    package enum Failure: Error, Hashable, CaseIterable {
        /// There is no library that encrypts.
        case unavailable
        /// The key has another length than 32 bytes.
        case invalidKey
        /// The text or its context was changed, or was sealed with another key.
        case notAuthentic
        /// The library has failed.
        case failed
    }

    package static let keyLength = 32
    package static let nonceLength = 12
    package static let tagLength = 16

    /// Returns the sealed text.
    package static func seal(
        _ text: [UInt8], with key: [UInt8], context: [UInt8]
    ) throws(Failure) -> [UInt8] {
        var random = SystemRandomNumberGenerator()
        let nonce = (0..<nonceLength).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        return try seal(text, with: key, nonce: nonce, context: context)
    }

    #if canImport(CryptoKit)
    static func seal(
        _ text: [UInt8], with key: [UInt8], nonce: [UInt8], context: [UInt8]
    ) throws(Failure) -> [UInt8] {
        guard key.count == keyLength else { throw .invalidKey }
        do {
            let box = try AES.GCM.seal(
                Data(text), using: SymmetricKey(data: Data(key)), nonce: AES.GCM.Nonce(data: Data(nonce)),
                authenticating: Data(context))
            return nonce + Array(box.ciphertext) + Array(box.tag)
        } catch {
            throw .failed
        }
    }

    /// Returns the text that was sealed with that key and that context.
    package static func open(
        _ sealed: [UInt8], with key: [UInt8], context: [UInt8]
    ) throws(Failure) -> [UInt8] {
        guard key.count == keyLength else { throw .invalidKey }
        guard let parts = Parts(sealed) else { throw .notAuthentic }
        do {
            let box = try AES.GCM.SealedBox(
                nonce: AES.GCM.Nonce(data: Data(parts.nonce)), ciphertext: Data(parts.bytes), tag: Data(parts.tag))
            return Array(
                try AES.GCM.open(box, using: SymmetricKey(data: Data(key)), authenticating: Data(context)))
        } catch {
            throw .notAuthentic
        }
    }
    #else
    static func seal(
        _ text: [UInt8], with key: [UInt8], nonce: [UInt8], context: [UInt8],
        by library: LibCryptoCipher? = .shared
    ) throws(Failure) -> [UInt8] {
        guard key.count == keyLength else { throw .invalidKey }
        guard let library else { throw .unavailable }
        guard let sealed = library.seal(text, key: key, nonce: nonce, context: context) else { throw .failed }
        return nonce + sealed.bytes + sealed.tag
    }

    /// Returns the text that was sealed with that key and that context.
    package static func open(
        _ sealed: [UInt8], with key: [UInt8], context: [UInt8]
    ) throws(Failure) -> [UInt8] {
        try open(sealed, with: key, context: context, by: .shared)
    }

    static func open(
        _ sealed: [UInt8], with key: [UInt8], context: [UInt8], by library: LibCryptoCipher?
    ) throws(Failure) -> [UInt8] {
        guard key.count == keyLength else { throw .invalidKey }
        guard let library else { throw .unavailable }
        guard let parts = Parts(sealed),
            let text = library.open(
                parts.bytes, tag: parts.tag, key: key, nonce: parts.nonce, context: context)
        else { throw .notAuthentic }
        return text
    }
    #endif

    private struct Parts {
        let nonce, bytes, tag: [UInt8]

        init?(_ sealed: [UInt8]) {
            guard sealed.count >= nonceLength + tagLength else { return nil }
            nonce = Array(sealed.prefix(nonceLength))
            bytes = Array(sealed.dropFirst(nonceLength).dropLast(tagLength))
            tag = Array(sealed.suffix(tagLength))
        }
    }
}
