@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("SHA-256") struct SHA256Tests {
    @Test(
        "the examples of FIPS 180-4 and of NIST's test vectors",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (
                String(repeating: "a", count: 100_000),
                "6d1cf22d7cc09b085dfc25ee1a1f3ae0265804c607bc2074ad253bcc82fd81ee"
            ),
        ])
    func vectors(text: String, expected: String) {
        #expect(Hexadecimal.encode(SHA256.hash(of: Data(text.utf8))) == expected)
    }

    @Test("the hash does not depend on the pieces in which the bytes come, at any length around a block")
    func pieces() {
        var random = SeededRandom(1)
        for count in [0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 129, 1000] {
            let bytes = Data((0..<count).map { _ in UInt8(random.int(0...255)) })
            for _ in 0..<10 {
                var hash = SHA256()
                var rest = bytes
                while !rest.isEmpty {
                    let piece = rest.prefix(random.int(1...100))
                    hash.append(piece)
                    rest = rest.dropFirst(piece.count)
                }
                #expect(hash.count == count)
                #expect(hash.finalized() == SHA256.hash(of: bytes))
                #expect(hash.finalized() == hash.finalized(), "it can be asked twice")
            }
        }
    }

    #if os(Linux)
    @Test("it is what sha256sum prints", .enabled(if: Program.sha256sum.isInstalled))
    func program() async throws {
        var random = SeededRandom(2)
        for _ in 0..<20 {
            let bytes = Data((0..<random.int(0...3000)).map { _ in UInt8(random.int(0...255)) })
            let said = String(decoding: try await Program.sha256sum.run([], input: bytes), as: UTF8.self)
            #expect(said.hasPrefix(Hexadecimal.encode(SHA256.hash(of: bytes)) + " "))
        }
    }
    #endif
}
