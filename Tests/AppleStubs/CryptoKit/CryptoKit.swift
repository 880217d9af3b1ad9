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
