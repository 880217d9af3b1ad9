import ErrandTestSupport
import Foundation
import Testing

@testable import Errand

@Suite("Signatures with a shared secret") struct SigningSecretTests {
    /// An example of RFC 4231, 4.
    struct Example: Sendable, CustomTestStringConvertible {
        let number: Int
        let key: [UInt8]
        let message: [UInt8]
        let signature: String

        var testDescription: String { "test case \(number)" }
    }

    private static let long = [UInt8](repeating: 0xAA, count: 131)
    private static let examples = [
        Example(
            number: 1, key: [UInt8](repeating: 0x0B, count: 20), message: Array("Hi There".utf8),
            signature: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
        Example(
            number: 2, key: Array("Jefe".utf8), message: Array("what do ya want for nothing?".utf8),
            signature: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        Example(
            number: 3, key: [UInt8](repeating: 0xAA, count: 20), message: [UInt8](repeating: 0xDD, count: 50),
            signature: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
        Example(
            number: 4, key: Array(1...25), message: [UInt8](repeating: 0xCD, count: 50),
            signature: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
        Example(
            number: 6, key: long, message: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            signature: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"),
        Example(
            number: 7, key: long,
            message: Array(
                ("This is a test using a larger than block-size key and a larger than block-size data. "
                    + "The key needs to be hashed before being used by the HMAC algorithm.").utf8),
            signature: "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"),
    ]

    @Test("messages are signed as in RFC 4231", arguments: examples)
    func standard(example: Example) {
        let secret = SigningSecret(Data(example.key))
        let signature = secret.signature(of: Data(example.message))
        #expect(Hexadecimal.encode(signature) == example.signature)
        #expect(secret.accepts(example.signature, of: Data(example.message)))
        #expect(secret.accepts(example.signature.uppercased(), of: Data(example.message)))
        #expect(secret.accepts(signature, of: Data(example.message)))
    }

    @Test("a text is the bytes of its UTF-8, and a signature may be in base64")
    func texts() {
        let (secret, message) = (SigningSecret("Jeﬀe"), Data("message".utf8))
        let signature = secret.signature(of: message)
        #expect(signature == SigningSecret(Data("Jeﬀe".utf8)).signature(of: message))
        #expect(secret.accepts(signature.base64EncodedString(), of: message))
        #expect(secret.accepts(Base64URL.encode(signature), of: message))
        // A slice, whose first index is not 0.
        #expect(secret.accepts((Data("x".utf8) + signature).dropFirst(), of: (Data("y".utf8) + message).dropFirst()))
    }

    @Test("another message, another secret, another bit and another length are refused")
    func refused() {
        let (secret, message) = (SigningSecret("secret"), Data("message".utf8))
        let signature = secret.signature(of: message)
        #expect(!secret.accepts(signature, of: Data("massage".utf8)))
        #expect(!SigningSecret("secrets").accepts(signature, of: message))
        for index in signature.indices {
            var other = signature
            other[index] ^= 0x80
            #expect(!secret.accepts(other, of: message), "byte \(index)")
        }
        for text in ["", "0", Hexadecimal.encode(signature.dropLast()), String(repeating: "g", count: 64), "é"] {
            #expect(!secret.accepts(text, of: message), "\(text)")
        }
        #expect(!secret.accepts(signature + [0], of: message))
        #expect(!secret.accepts(signature.dropLast(), of: message))
        #expect(!secret.accepts(Data(), of: message))
    }

    @Test("a text matches only if it is the secret")
    func matching() {
        let secret = SigningSecret("hunter2")
        #expect(secret.matches("hunter2"))
        for text in ["", "hunter", "hunter22", "Hunter2"] { #expect(!secret.matches(text), "\(text)") }
    }

    @Test("the secret is not printed, dumped or reflected")
    func hidden() {
        let secret = SigningSecret("hunter2")
        var dumped = ""
        dump(["a": secret], to: &dumped)
        let hash = Hexadecimal.encode(SHA256.hash(of: Data("hunter2".utf8)))
        for text in ["\(secret)", String(reflecting: secret), dumped] {
            #expect(!text.contains("hunter2") && !text.contains(hash) && text.contains("redacted"), "\(text)")
        }
        #expect(Mirror(reflecting: secret).children.count == 1)
    }

    @Test("bytes are compared to the last, and only with as many")
    func comparing() {
        #expect(SigningSecret.isEqual([], []))
        #expect(SigningSecret.isEqual([1, 2], [1, 2]))
        #expect(!SigningSecret.isEqual([1, 2], [1, 3]))
        #expect(!SigningSecret.isEqual([3, 2], [1, 2]))
        #expect(!SigningSecret.isEqual([1, 2], [1]))
    }
}
