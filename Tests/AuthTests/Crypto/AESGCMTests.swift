@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("Encryption that shows changes") struct AESGCMTests {
    private static let key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
    private static let text =
        "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
        + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
    private static let encrypted =
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
        + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"

    /// An example of the mode's specification for NIST, with a key of 256 bits.
    struct Example: Sendable, CustomTestStringConvertible {
        let number: Int
        let key, nonce, text, context, encrypted, tag: String

        var testDescription: String { "test case \(number)" }
    }

    private static let zeros = String(repeating: "0", count: 64)
    private static let examples = [
        Example(
            number: 13, key: zeros, nonce: String(zeros.prefix(24)), text: "", context: "", encrypted: "",
            tag: "530f8afbc74536b9a963b4f1c4cb738b"),
        Example(
            number: 14, key: zeros, nonce: String(zeros.prefix(24)), text: String(zeros.prefix(32)), context: "",
            encrypted: "cea7403d4d606b6e074ec5d3baf39d18", tag: "d0d1c8a799996bf0265b98b5d48ab919"),
        Example(
            number: 15, key: key, nonce: "cafebabefacedbaddecaf888", text: text + "1aafd255", context: "",
            encrypted: encrypted + "898015ad", tag: "b094dac5d93471bdec1a502270e3cc6c"),
        Example(
            number: 16, key: key, nonce: "cafebabefacedbaddecaf888", text: text,
            context: "feedfacedeadbeeffeedfacedeadbeefabaddad2", encrypted: encrypted,
            tag: "76fc6ece0f4e1768cddf8853bb2d551b"),
    ]

    @Test("texts are sealed as in the mode's specification, and opened again", arguments: examples)
    func specification(_ example: Example) throws {
        let (key, context) = (bytes(example.key), bytes(example.context))
        let sealed = try AESGCM.seal(bytes(example.text), with: key, nonce: bytes(example.nonce), context: context)
        #expect(sealed == bytes(example.nonce + example.encrypted + example.tag))
        #expect(try AESGCM.open(sealed, with: key, context: context) == bytes(example.text))
    }

    @Test("F8: no text is opened with a changed byte, another context, another key, or a part of it")
    func changes() throws {
        let (key, context) = (bytes(Self.key), Array("billing/token".utf8))
        let sealed = try AESGCM.seal(Array("a secret".utf8), with: key, context: context)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 0x10
            #expect(failure { try AESGCM.open(changed, with: key, context: context) } == .notAuthentic)
        }
        #expect(failure { try AESGCM.open(sealed, with: key, context: Array("other/token".utf8)) } == .notAuthentic)
        #expect(failure { try AESGCM.open(sealed, with: key.reversed(), context: context) } == .notAuthentic)
        for count in 0..<sealed.count {
            let part = Array(sealed.prefix(count))
            #expect(failure { try AESGCM.open(part, with: key, context: context) } == .notAuthentic)
        }
    }

    @Test("a text is sealed differently each time, and says nothing")
    func nonces() throws {
        let (key, text) = (bytes(Self.key), Array("a secret".utf8))
        let sealed = try (0..<100).map { _ in try AESGCM.seal(text, with: key, context: []) }
        #expect(Set(sealed.map { Array($0.prefix(AESGCM.nonceLength)) }).count == 100)
        #expect(!sealed.contains { String(decoding: $0, as: UTF8.self).contains("secret") })
    }

    @Test("a key of another length is refused", arguments: [0, 16, 31, 33])
    func keyLength(count: Int) {
        let key = [UInt8](repeating: 1, count: count)
        #expect(failure { try AESGCM.seal([1], with: key, context: []) } == .invalidKey)
        #expect(failure { try AESGCM.open([UInt8](repeating: 0, count: 40), with: key, context: []) } == .invalidKey)
    }

    #if os(Linux)
    @Test("without libcrypto, the error says so")
    func missingLibrary() {
        let key = [UInt8](repeating: 1, count: 32)
        #expect(failure { try AESGCM.seal([1], with: key, nonce: key, context: [], by: nil) } == .unavailable)
        #expect(failure { try AESGCM.open(key + key, with: key, context: [], by: nil) } == .unavailable)
    }
    #endif

    private func failure(_ body: () throws -> [UInt8]) -> AESGCM.Failure? {
        do {
            _ = try body()
            return nil
        } catch {
            return error as? AESGCM.Failure
        }
    }

    private func bytes(_ hex: String) -> [UInt8] {
        var rest = hex[...]
        var bytes: [UInt8] = []
        while !rest.isEmpty {
            bytes.append(UInt8(rest.prefix(2), radix: 16) ?? 0)
            rest = rest.dropFirst(2)
        }
        return bytes
    }
}
