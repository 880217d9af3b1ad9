#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A private key that signs, with SHA-256: one on the curve P-256, which is called `ES256`, or one for RSA, `RS256`.
///
///     let key = try SigningKey(pem: String(contentsOfFile: "/etc/billing/key.pem", encoding: .utf8))
///
/// On Apple's platforms CryptoKit signs, and Security for RSA. On Linux the system's OpenSSL does, 1.1.1 or later; a
/// program that makes no key does not need it. Its description shows only the thumbprint of the public key.
public struct SigningKey: Sendable, Hashable {
    private enum Kind: Sendable, Hashable {
        /// The point has two coordinates, which are the public key.
        case p256(secret: [UInt8], point: [UInt8])
        case rsa(RSAKey)
    }

    private let kind: Kind

    private init(_ key: KeyFile.Key) throws(ServiceError) {
        switch key {
        case .p256(let secret): kind = .p256(secret: secret, point: try P256Keys.point(of: secret))
        case .rsa(let form): kind = .rsa(try RSAKey(form: form))
        }
    }

    /// Creates a new key on the curve P-256 from the system's source of random numbers.
    public init() throws(ServiceError) {
        var random = SystemRandomNumberGenerator()
        var secret: [UInt8]
        repeat {
            secret = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        } while !P256Keys.isSecret(secret)
        try self.init(.p256(secret: secret))
    }

    /// Creates a key from the text of a file: `BEGIN PRIVATE KEY`, `BEGIN EC PRIVATE KEY` or `BEGIN RSA PRIVATE KEY`,
    /// not encrypted. Other blocks in the text, such as certificates, do not matter. A key for RSA has to have 2048
    /// bits or more. This makes one for `ES256`:
    /// `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out key.pem`
    public init(pem: String) throws(ServiceError) {
        try self.init(KeyFile.key(in: pem))
    }

    /// Creates a key from ``rawRepresentation``.
    public init(rawRepresentation: Data) throws(ServiceError) {
        let bytes = Array(rawRepresentation)
        if P256Keys.isSecret(bytes) {
            try self.init(.p256(secret: bytes))
        } else if bytes.first == DERReader.Tag.sequence.rawValue {
            try self.init(.rsa(form: bytes))
        } else {
            throw .badSetting("these bytes are neither a private key on the curve P-256, which has 32, nor an RSA key")
        }
    }

    /// The private key: 32 bytes, or for RSA the form of RFC 8017. Keep it like a password.
    public var rawRepresentation: Data {
        switch kind {
        case .p256(let secret, _): Data(secret)
        case .rsa(let key): Data(key.form)
        }
    }

    /// The public key as a JSON Web Key (RFC 7517), to register with a server.
    public var publicKey: String {
        switch kind {
        case .p256(_, let point):
            let (x, y) = (Base64URL.encode(point.prefix(32)), Base64URL.encode(point.suffix(32)))
            return #"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#
        case .rsa(let key):
            return #"{"e":"\#(Base64URL.encode(key.exponent))","kty":"RSA","n":"\#(Base64URL.encode(key.modulus))"}"#
        }
    }

    /// The thumbprint of the public key (RFC 7638), by which a server may know it.
    public var thumbprint: String { Base64URL.encode(SHA256.hash(of: Data(publicKey.utf8))) }

    /// Returns a JSON Web Token (RFC 7519) that the key has signed, for a server that wants one of the app's own
    /// making, such as Apple's `client_secret`. A date in the claims is a number of seconds.
    ///
    ///     struct Claims: Encodable {
    ///         var iss = "TEAM123456", sub = "com.example.app", aud = "https://appleid.apple.com"
    ///         var iat = Date.now, exp = Date.now + 300
    ///     }
    ///     let secret = try key.jsonWebToken(Claims(), keyID: "KEY1234567")
    ///
    /// - Parameters:
    ///   - claims: What the token says.
    ///   - keyID: The identifier by which the server knows the key, ``thumbprint`` by default.
    public func jsonWebToken(_ claims: some Encodable, keyID: String? = nil) throws(ServiceError) -> String {
        try SignedToken.text(claims, by: self, keyID: keyID ?? thumbprint)
    }

    /// The name of the way in which it signs (RFC 7518, 3.1).
    var algorithm: String {
        switch kind {
        case .p256: "ES256"
        case .rsa: "RS256"
        }
    }

    /// Returns a signature: on the curve two numbers of 32 bytes (RFC 7518, 3.4).
    func signature(of data: Data) throws(ServiceError) -> [UInt8] {
        switch kind {
        case .p256(let secret, _): try P256Keys.signature(of: data, by: secret)
        case .rsa(let key): try key.signature(of: data)
        }
    }
}

extension SigningKey: OpaqueReflectable {
    /// The thumbprint of the public key.
    public var description: String { "SigningKey(\(thumbprint))" }
}
