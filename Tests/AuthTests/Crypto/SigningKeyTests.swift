@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("Keys that sign") struct SigningKeyTests {
    /// The key of RFC 7515, A.3.
    private let example = (
        secret: "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI", x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
    )

    private func bytes(_ text: String) throws -> [UInt8] { Array(try #require(Base64URL.decode(text))) }

    /// The key in the form of RFC 5915, with its public key or without.
    private func plainForm(isWhole: Bool) throws -> [UInt8] {
        let curve: [UInt8] = [0xA0, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07]
        let open = try [0xA1, 0x44, 0x03, 0x42, 0x00, 0x04] + bytes(example.x) + bytes(example.y)
        let content = try [0x02, 0x01, 0x01, 0x04, 0x20] + bytes(example.secret) + curve + (isWhole ? open : [])
        return [0x30, UInt8(content.count)] + content
    }

    /// The key in the form of PKCS #8.
    private func wrappedForm() throws -> [UInt8] {
        let secret = try [0x02, 0x01, 0x01, 0x04, 0x20] + bytes(example.secret)
        let kind: [UInt8] = [
            0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86,
            0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07,
        ]
        let content = kind + [0x04, UInt8(secret.count + 2), 0x30, UInt8(secret.count)] + secret
        return [0x30, UInt8(content.count)] + content
    }

    @Test("a key has the public key and the thumbprint of the standards' example, however it is read")
    func standards() throws {
        let key = try SigningKey(rawRepresentation: Data(bytes(example.secret)))
        let jwk = #"{"crv":"P-256","kty":"EC","x":"\#(example.x)","y":"\#(example.y)"}"#
        #expect(key.publicKey == jwk)
        #expect(key.thumbprint == Base64URL.encode(SHA256.hash(of: Data(jwk.utf8))))
        let certificate = pem("CERTIFICATE", [1, 2, 3])
        for file in [
            pem("EC PRIVATE KEY", try plainForm(isWhole: true)), pem("EC PRIVATE KEY", try plainForm(isWhole: false)),
            pem("PRIVATE KEY", try wrappedForm()),
            certificate + pem("PRIVATE KEY", try wrappedForm()) + certificate,
            pem("PRIVATE KEY", try wrappedForm()).replacingOccurrences(of: "\n", with: "\r\n  "),
        ] {
            #expect(try SigningKey(pem: file) == key)
        }
        #expect(key.rawRepresentation == Data(try bytes(example.secret)))
    }

    @Test("text without such a key is refused, with advice")
    func noKey() throws {
        var (broken, contradictory) = (try wrappedForm(), try plainForm(isWhole: false))
        broken[2] = 9
        // The curve's name ends so.
        contradictory[contradictory.count - 1] = 0x08
        let zero = [UInt8](repeating: 0, count: 32)
        for file in [
            "", "-----BEGIN PRIVATE KEY-----", pem("PRIVATE KEY", []), pem("PRIVATE KEY", [0x30, 0x00]),
            pem("PRIVATE KEY", broken), pem("EC PRIVATE KEY", contradictory),
            pem("CERTIFICATE", try wrappedForm()), "-----BEGIN PRIVATE KEY-----\n!!!\n-----END PRIVATE KEY-----",
        ] {
            let error = #expect(throws: ServiceError.self) { try SigningKey(pem: file) }
            #expect(error.map { "\($0)".contains("P-256") } ?? false, "\(file)")
        }
        for raw in [[], zero, [UInt8](repeating: 0xFF, count: 32), [UInt8](repeating: 1, count: 33)] {
            #expect(throws: ServiceError.self) { try SigningKey(rawRepresentation: Data(raw)) }
        }
    }

    @Test("S10: no description shows the secret, and two keys are not the same")
    func descriptions() throws {
        let key = try SigningKey()
        #expect(try SigningKey() != key)
        #expect(try SigningKey(rawRepresentation: key.rawRepresentation) == key)
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped] {
            #expect(!text.contains(Base64URL.encode(Array(key.rawRepresentation))) && !text.contains("secret"))
        }
    }

    #if os(Linux)
    @Test("a signature is accepted with the public key, and for no other text")
    func signatures() throws {
        for number in 0..<50 {
            let key = try SigningKey()
            let data = Data("message \(number)".utf8)
            let signature = try key.signature(of: data)
            #expect(signature.count == 64)
            #expect(try SignatureCheck.accepts(signature, of: data, by: key))
            #expect(try !SignatureCheck.accepts(signature, of: data + Data([0]), by: key))
        }
        #expect(try SignatureCheck.accepts(SigningKey().signature(of: Data()), of: Data(), by: SigningKey()) == false)
    }

    @Test("the numbers of a signature have 32 bytes each, also those that are shorter or have a zero before them")
    func numbers() {
        let (short, long) = ([UInt8](repeating: 0x11, count: 30), [UInt8](repeating: 0x99, count: 32))
        let form: [UInt8] = [0x30, 67, 0x02, 30] + short + [0x02, 33, 0x00] + long
        #expect(P256Keys.plain(form) == [0, 0] + short + long)
        let smallest = [UInt8](repeating: 0, count: 31) + [1]
        #expect(P256Keys.plain([0x30, 6, 0x02, 1, 1, 0x02, 1, 1]) == smallest + smallest)
    }

    @Test("keys are used in many tasks at once")
    func concurrent() async throws {
        let key = try SigningKey()
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<100 {
                group.addTask {
                    let data = Data("\(number)".utf8)
                    return try SignatureCheck.accepts(key.signature(of: data), of: data, by: key)
                }
            }
            for try await isAccepted in group { #expect(isAccepted) }
        }
    }
    #endif
}
