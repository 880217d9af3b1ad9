// Declarations of Apple's, without a behavior: see Tests/AppleStubs/README.md.
// swift-format-ignore-file

public import Foundation

// https://developer.apple.com/documentation/cryptokit/p256
public enum P256: Sendable {
    public enum Signing: Sendable {
        // https://developer.apple.com/documentation/cryptokit/p256/signing/privatekey
        public struct PrivateKey: Sendable {
            public init<Bytes: ContiguousBytes>(rawRepresentation: Bytes) throws {}
            public init<Bytes: RandomAccessCollection>(derRepresentation: Bytes) throws where Bytes.Element == UInt8 {}
            public var rawRepresentation: Data { Data() }
            public var publicKey: PublicKey { PublicKey() }
            public func signature<D: DataProtocol>(for data: D) throws -> ECDSASignature { ECDSASignature() }
        }

        // https://developer.apple.com/documentation/cryptokit/p256/signing/publickey
        public struct PublicKey: Sendable {
            init() {}
            public var rawRepresentation: Data { Data() }
        }

        // https://developer.apple.com/documentation/cryptokit/p256/signing/ecdsasignature
        public struct ECDSASignature: Sendable {
            init() {}
            public var rawRepresentation: Data { Data() }
        }
    }
}

// https://developer.apple.com/documentation/cryptokit/symmetrickey
public struct SymmetricKey: Sendable {
    public init<D: ContiguousBytes>(data: D) {}
}

// https://developer.apple.com/documentation/cryptokit/aes/gcm
public enum AES: Sendable {
    public enum GCM: Sendable {
        // https://developer.apple.com/documentation/cryptokit/aes/gcm/nonce
        public struct Nonce: Sendable {
            public init<D: DataProtocol>(data: D) throws {}
        }

        // https://developer.apple.com/documentation/cryptokit/aes/gcm/sealedbox
        public struct SealedBox: Sendable {
            public init<C: DataProtocol, T: DataProtocol>(nonce: Nonce, ciphertext: C, tag: T) throws {}
            public var ciphertext: Data { Data() }
            public var tag: Data { Data() }
        }

        // https://developer.apple.com/documentation/cryptokit/aes/gcm/seal(_:using:nonce:authenticating:)
        public static func seal<Plaintext: DataProtocol, AuthenticatedData: DataProtocol>(
            _ message: Plaintext, using key: SymmetricKey, nonce: Nonce? = nil,
            authenticating authenticatedData: AuthenticatedData
        ) throws -> SealedBox { try SealedBox(nonce: Nonce(data: Data()), ciphertext: Data(), tag: Data()) }

        // https://developer.apple.com/documentation/cryptokit/aes/gcm/open(_:using:authenticating:)
        public static func open<AuthenticatedData: DataProtocol>(
            _ sealedBox: SealedBox, using key: SymmetricKey, authenticating authenticatedData: AuthenticatedData
        ) throws -> Data { Data() }
    }
}
