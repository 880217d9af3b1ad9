#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A private key that signs: ECDSA on the curve P-256 with SHA-256, which is called `ES256`.
///
///     let key = try SigningKey(pem: String(contentsOfFile: "/etc/billing/key.pem", encoding: .utf8))
///
/// On Apple's platforms CryptoKit signs. On Linux the system's OpenSSL does, 1.1.1 or later; a program that makes no
/// key does not need it. Its description shows only the thumbprint of the public key.
public struct SigningKey: Sendable, Hashable {
    private let secret: [UInt8]
    /// The two coordinates of the public key.
    private let point: [UInt8]

    private init(secret: [UInt8]) throws(ServiceError) {
        self.secret = secret
        point = try P256Keys.point(of: secret)
    }

    /// Creates a new key from the system's source of random numbers.
    public init() throws(ServiceError) {
        var random = SystemRandomNumberGenerator()
        var secret: [UInt8]
        repeat {
            secret = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        } while !P256Keys.isSecret(secret)
        try self.init(secret: secret)
    }

    /// Creates a key from the text of a file: `BEGIN PRIVATE KEY` or `BEGIN EC PRIVATE KEY`, not encrypted. Other
    /// blocks in the text, such as certificates, do not matter. This makes one:
    /// `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem`
    public init(pem: String) throws(ServiceError) {
        for block in PEM.blocks(in: pem) where ["PRIVATE KEY", "EC PRIVATE KEY"].contains(block.label) {
            guard let secret = try P256Keys.secret(in: block.bytes) else { break }
            try self.init(secret: secret)
            return
        }
        throw .badSetting("the text has no private key on the curve P-256; such a key begins with BEGIN PRIVATE KEY")
    }

    /// Creates a key from ``rawRepresentation``.
    public init(rawRepresentation: Data) throws(ServiceError) {
        let secret = Array(rawRepresentation)
        guard P256Keys.isSecret(secret) else {
            throw .badSetting("a private key on the curve P-256 has 32 bytes; these are none")
        }
        try self.init(secret: secret)
    }

    /// The private key, as 32 bytes. Keep it like a password.
    public var rawRepresentation: Data { Data(secret) }

    /// The public key as a JSON Web Key (RFC 7517), to register with a server.
    public var publicKey: String {
        let (x, y) = (Base64URL.encode(Array(point.prefix(32))), Base64URL.encode(Array(point.suffix(32))))
        return #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
    }

    /// The thumbprint of the public key (RFC 7638), by which a server may know it.
    public var thumbprint: String { Base64URL.encode(SHA256.hash(of: Data(publicKey.utf8))) }

    /// Returns a signature: two numbers of 32 bytes (RFC 7518, 3.4).
    func signature(of data: Data) throws(ServiceError) -> [UInt8] {
        try P256Keys.signature(of: data, by: secret)
    }
}

extension SigningKey: CustomStringConvertible, CustomReflectable {
    /// The thumbprint of the public key.
    public var description: String { "SigningKey(\(thumbprint))" }
    /// A mirror that shows only the description.
    public var customMirror: Mirror { Mirror(self, children: ["thumbprint": thumbprint]) }
}

/// Text with named blocks of bytes (RFC 7468).
private enum PEM {
    static func blocks(in text: String) -> [(label: String, bytes: [UInt8])] {
        var blocks: [(label: String, bytes: [UInt8])] = []
        var label: String?
        var content = ""
        for line in text.split(whereSeparator: \.isNewline).map(\.trimmed) {
            if let name = line.between("-----BEGIN ", "-----") {
                (label, content) = (name, "")
            } else if let name = line.between("-----END ", "-----") {
                if name == label, let data = Data(base64Encoded: content) { blocks.append((name, Array(data))) }
                label = nil
            } else if label != nil {
                content += line
            }
        }
        return blocks
    }
}

extension Substring {
    /// Returns what is between a beginning and an end; `nil` if the text has another.
    fileprivate func between(_ start: String, _ end: String) -> String? {
        guard hasPrefix(start), hasSuffix(end), utf8.count >= start.utf8.count + end.utf8.count else { return nil }
        return String(dropFirst(start.count).dropLast(end.count))
    }
}
