@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

#if os(Linux)
@Suite("Keys for RSA that sign") struct RSAKeyTests {
    private func message(of error: ServiceError?) -> String { error.map { "\($0)" } ?? "none" }

    @Test("a key signs as the standard's example does, however it is read")
    func standards() throws {
        let modulus = RSAExample.modulus
        let files = try [
            pem("RSA PRIVATE KEY", RSAExample.plainForm()),
            pem("PRIVATE KEY", RSAExample.wrappedForm()),
            pem("CERTIFICATE", [1, 2, 3]) + pem("PRIVATE KEY", RSAExample.wrappedForm()),
        ]
        for file in files {
            let key = try SigningKey(pem: file)
            #expect(key.publicKey == #"{"e":"AQAB","kty":"RSA","n":"\#(modulus)"}"#)
            #expect(key.thumbprint == Base64URL.encode(SHA256.hash(of: Data(key.publicKey.utf8))))
            #expect(Base64URL.encode(try key.signature(of: Data(RSAExample.signed.utf8))) == RSAExample.signature)
            #expect(try SigningKey(rawRepresentation: key.rawRepresentation) == key)
            #expect(key.algorithm == "RS256")
        }
    }

    @Test("a key that is too small, damaged or encrypted is refused, with advice")
    func refused() throws {
        let small = try RSAExample.plainForm(modulus: Array(repeating: 0xC1, count: 128))
        let large = try RSAExample.plainForm(modulus: Array(repeating: 0xC1, count: 2049))
        for form in [small, large] {
            let error = #expect(throws: ServiceError.self) {
                try SigningKey(pem: pem("RSA PRIVATE KEY", form))
            }
            #expect(message(of: error).contains("2048 bits"))
        }
        let encrypted = try pem("ENCRYPTED PRIVATE KEY", RSAExample.wrappedForm())
        let error = #expect(throws: ServiceError.self) { try SigningKey(pem: encrypted) }
        #expect(message(of: error).contains("openssl pkey"))
        let older = try pem("RSA PRIVATE KEY", RSAExample.plainForm())
            .replacing(
                "KEY-----\n", with: "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n", maxReplacements: 1
            )
        let ofOlder = #expect(throws: ServiceError.self) { try SigningKey(pem: older) }
        #expect(message(of: ofOlder).contains("openssl pkey"))
        // A key for RSA with another padding (RFC 4055).
        var other = try RSAExample.wrappedForm()
        let name: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
        let place = try #require(other.firstRange(of: name))
        other[place.upperBound - 1] = 0x0A
        #expect(throws: ServiceError.self) { try SigningKey(pem: pem("PRIVATE KEY", other)) }
    }

    @Test("a file that ends too early, or in which a byte is another, is refused or signs, and never ends the program")
    func damaged() throws {
        for (label, form) in try [
            ("RSA PRIVATE KEY", RSAExample.plainForm()), ("PRIVATE KEY", RSAExample.wrappedForm()),
        ] {
            for count in stride(from: 0, to: form.count, by: 7) {
                #expect(throws: ServiceError.self, "\(count) bytes") {
                    try SigningKey(pem: pem(label, Array(form.prefix(count))))
                }
            }
            // The lengths and tags are at the start; what follows is digits.
            for place in 0..<60 {
                for byte: UInt8 in [0x00, 0x02, 0x30, 0x7F, 0x80, 0x84, 0xFF] {
                    var changed = form
                    changed[place] = byte
                    do {
                        _ = try SigningKey(pem: pem(label, changed)).signature(of: Data("a".utf8))
                    } catch {
                        #expect(message(of: error).contains("key"))
                    }
                }
            }
        }
    }

    @Test("a key whose numbers do not belong together is refused, though it could sign")
    func wrongNumbers() throws {
        let form = try RSAExample.plainForm()
        // The modulus begins after the version, and the rest are secret numbers.
        for place in stride(from: 20, to: 260, by: 40) {
            var changed = form
            changed[place] ^= 0x10
            let error = #expect(throws: ServiceError.self) {
                try SigningKey(rawRepresentation: Data(changed))
            }
            #expect(message(of: error).contains("damaged"))
        }
        for more in [[0x00], [0x30, 0x00]] as [[UInt8]] {
            #expect(throws: ServiceError.self) { try SigningKey(rawRepresentation: Data(form + more)) }
        }
    }

    @Test("S10: no description shows the secret")
    func descriptions() throws {
        let key = try SigningKey(rawRepresentation: Data(RSAExample.plainForm()))
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped] {
            #expect(text.contains(key.thumbprint) && text.utf8.count < 200)
        }
    }
}
#endif

@Suite("JSON Web Tokens of an app's own") struct SignedTokenTests {
    private struct Claims: Encodable {
        var iss = "TEAM123456"
        var iat: Date
    }

    @Test("a token has the key's name and the claims, with dates in whole seconds")
    func claims() throws {
        let key = try SigningKey()
        let claims = Claims(iat: Date(timeIntervalSince1970: 1_700_000_000.9))
        for (text, name) in [
            (try key.jsonWebToken(claims), key.thumbprint), (try key.jsonWebToken(claims, keyID: "K1"), "K1"),
        ] {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            try #require(parts.count == 3)
            let plain = try parts.prefix(2).map { String(decoding: try #require(Base64URL.decode($0)), as: UTF8.self) }
            #expect(plain[0] == #"{"alg":"ES256","kid":"\#(name)","typ":"JWT"}"#)
            #expect(plain[1] == #"{"iat":1700000000,"iss":"TEAM123456"}"#)
            #if os(Linux)
            let signature = Array(try #require(Base64URL.decode(parts[2])))
            let signed = Data(parts.prefix(2).joined(separator: ".").utf8)
            #expect(try SignatureCheck.accepts(signature, of: signed, by: key))
            #endif
        }
    }

    @Test("claims that cannot be encoded are an error")
    func refused() throws {
        let key = try SigningKey()
        for seconds in [Double.nan, .infinity, 1e300] {
            #expect(throws: ServiceError.self) {
                try key.jsonWebToken(Claims(iat: Date(timeIntervalSince1970: seconds)))
            }
        }
    }
}
