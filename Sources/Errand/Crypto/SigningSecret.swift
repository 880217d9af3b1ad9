#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A secret that two programs share: one signs a message with it, the other checks the signature. It is HMAC (RFC 2104)
/// with SHA-256, with which most services sign their webhooks.
///
///     let secret = SigningSecret("whsec-2Hk3")
///     guard secret.accepts(signature, of: body) else { throw Forbidden() }
///
/// An empty secret, as a variable of the environment that is missing may become, accepts nothing. Its description and
/// its mirror do not show it. For signatures with a private key, see ``SigningKey``.
public struct SigningSecret: Sendable {
    /// The hash after the first block of each of its two passes, which is all that is needed of the secret.
    private let inner, outer: SHA256
    /// For comparisons with the secret itself.
    private let digest: [UInt8]
    private let isEmpty: Bool

    /// Creates a secret from a text in UTF-8. If a service gives its secret in base64 or hexadecimal, its documentation
    /// says whether the text is the secret, or the bytes that it stands for.
    public init(_ text: String) {
        self.init(Data(text.utf8))
    }

    /// Creates a secret from bytes.
    public init(_ bytes: Data) {
        digest = SHA256.hash(of: bytes)
        isEmpty = bytes.isEmpty
        // A longer key is replaced by its hash (RFC 2104, 2).
        let key = bytes.count > SHA256.block ? digest : Array(bytes)
        let block = key + [UInt8](repeating: 0, count: SHA256.block - key.count)
        func begin(_ pad: UInt8) -> SHA256 {
            var hash = SHA256()
            hash.append(Data(block.map { $0 ^ pad }))
            return hash
        }
        (inner, outer) = (begin(0x36), begin(0x5C))
    }

    /// Returns the signature of a message, 32 bytes.
    public func signature(of message: Data) -> Data {
        var (inner, outer) = (inner, outer)
        inner.append(message)
        outer.append(Data(inner.finalized()))
        return Data(outer.finalized())
    }

    /// Returns whether the bytes are the signature of the message. The time that it takes does not depend on how many
    /// of the bytes are right.
    public func accepts(_ signature: Data, of message: Data) -> Bool {
        !isEmpty && Self.isEqual(Array(signature), Array(self.signature(of: message)))
    }

    /// Returns whether the text is the signature of the message, in hexadecimal or base64. The time that it takes does
    /// not depend on how much of the text is right.
    public func accepts(_ signature: String, of message: Data) -> Bool {
        // Neither form has a text that is a signature in the other: one has 64 characters, the other has 44.
        guard let bytes = signature.utf8.count == 64 ? Hexadecimal.decode(signature) : Self.base64(signature) else {
            return false
        }
        return accepts(Data(bytes), of: message)
    }

    /// Returns whether the text is the secret itself, for services that send it along instead of a signature. The time
    /// that it takes does not depend on how much of the text is right.
    public func matches(_ text: String) -> Bool {
        !isEmpty && Self.isEqual(SHA256.hash(of: Data(text.utf8)), digest)
    }

    private static func base64(_ text: String) -> [UInt8]? {
        // Some services write the alphabet for URLs.
        (Data(base64Encoded: text) ?? Base64URL.decode(text)).map(Array.init)
    }

    /// Compares all bytes of texts of one length, whatever differs.
    static func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension SigningSecret: OpaqueReflectable {
    /// The name of the type, without the secret.
    public var description: String { "SigningSecret(\(Redactor.mask))" }
}
