#if os(Linux)
import Errand
package import ErrandTesting
package import Foundation
import Testing

/// The same text in every coding, as the usual programs make it.
package struct CodedSample: Sendable, CustomTestStringConvertible {
    package let name: String
    /// The value of `Content-Encoding`.
    package let codings: String
    package let packed: Data
    /// Whether a second one may follow, as with the members of gzip.
    package let repeats: Bool

    package static let text = Data(#"{"id": 7, "name": "\#(String(repeating: "as it was, ", count: 12))"}"#.utf8)

    package static let gzip = CodedSample(
        "gzip", "gzip", "H4sIAAAAAAACA6tWykxRslIw11FQykvMTQUylRKLFTJLFMoTi3UUBoypVAsALTnnAJkAAAA=", repeats: true)
    package static let wrapped = CodedSample(
        "deflate as zlib wraps it", "deflate", "eJyrVspMUbJSMNdRUMpLzE0FMpUSixUySxTKE4t1FAaMqVQLAB68L8o=")
    package static let raw = CodedSample(
        "deflate without a wrapping", "deflate", "q1bKTFGyUjDXUVDKS8xNBTKVEosVMksUyhOLdRQGjKlUCwA=")
    package static let brotli = CodedSample(
        "br", "br", "G5gA+K2Od1A7wYoGJ2rc2D49tQZhEdlbIjeVdldhfaVDV2RzHYgkAgUoAQgAizrGmHaSGgo=")
    package static let zstd = CodedSample(
        "zstd", "zstd", "KLUv/QRYRQEABAJ7ImlkIjogNywgIm5hbWUiOiAiYXMgaXQgd2FzLCAifQEAWqfFCZ7dInY=", repeats: true)
    package static let five = CodedSample(
        "five in a row", "gzip, deflate, deflate, zstd, br",
        "CyaAKLUv/QRYAQIAATsAxP94nJPv5mAAASbm1WGnfAI3BRlcDww45X3Gl9VoqlC3qJG3yCnh7lIRtp6VIdwMupbPGWYCFQMAnRQPek3BVoAD")

    package static let all = [gzip, wrapped, raw, brotli, zstd, five]

    /// The same text in Zstandard with a window of 128 megabytes.
    package static let wide = CodedSample(
        "zstd with a large window", "zstd",
        "KLUv/QSIRQEABAJ7ImlkIjogNywgIm5hbWUiOiAiYXMgaXQgd2FzLCAifQEAWqfFCZ7dInY=")
    /// A million empty members of gzip, in Brotli.
    package static let nothing = CodedSample(
        "nothing, a million times", "gzip, br", "z///fwAEHHJfl8QChNIEUQ4rhGovRNn0/v/znyUGgARAHBaALkkM")

    /// Zeros in every coding.
    package static func zeros(_ count: Int) -> [CodedSample] {
        guard case .write(let gzip) = LoopbackReply.bomb(count).steps.last?.kind else { return [] }
        let raw = gzip.dropFirst(10).dropLast(8)
        // The checksum of zlib (RFC 1950, 2.2).
        let sum = UInt32(count % 65_521) << 16 | 1
        let wrapped = Data([0x78, 0x01]) + raw + withUnsafeBytes(of: sum.bigEndian) { Data($0) }
        // Blocks of 128 Ki times the same byte (RFC 8878, 3.1.1.2), and one of the rest.
        let (blocks, rest) = count.quotientAndRemainder(dividingBy: 128 << 10)
        let zstd =
            Data([0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x38])
            + Data(repeatElement([0x02, 0x00, 0x10, 0x00], count: blocks).joined())
            + Data([rest << 3 | 3, rest >> 5, rest >> 13, 0].map { UInt8(truncatingIfNeeded: $0) })
        return [
            CodedSample(name: "gzip", codings: "gzip", packed: gzip),
            CodedSample(name: "deflate as zlib wraps it", codings: "deflate", packed: wrapped),
            CodedSample(name: "deflate without a wrapping", codings: "deflate", packed: Data(raw)),
            CodedSample(name: "zstd", codings: "zstd", packed: zstd),
        ]
    }

    /// 256 MiB of zeros in Brotli.
    package static let brotliBomb = CodedSample(
        "br", "br",
        "z///fwAkAOKxQHLv//n//w+ABEAcFoDu/T////8BkACIwwLQvf/n//8/ABIAcVgAuvf//P//B0ACIA4LQPf+n////wBIAMRh"
            + "Aeje//P//x8ACYA4LADd+3/+//8DIAEQhwWge//P//9/ACQA4rAAdO//+f//D4AEQBwWgO79P////wGQAIjDAtC9/+f//z8A"
            + "EgBxWAC69//8//8HQAIgDgtA9/6f////AEgAxGEB6N7/8///HwAJgDgsAN37//z//wcgARCHBaB7/w8=")

    package var testDescription: String { name }

    package init(name: String, codings: String, packed: Data, repeats: Bool = false) {
        (self.name, self.codings, self.packed, self.repeats) = (name, codings, packed, repeats)
    }

    private init(_ name: String, _ codings: String, _ base64: String, repeats: Bool = false) {
        self.init(name: name, codings: codings, packed: Data(base64Encoded: base64) ?? Data(), repeats: repeats)
    }

    /// Returns a response with these coded bytes: of that length, or in chunks.
    package func reply(_ packed: Data? = nil, inChunks: Bool = false) -> LoopbackReply {
        let packed = packed ?? self.packed
        let headers: HTTPHeaders = ["Content-Encoding": codings]
        guard inChunks else { return .status(200, headers: headers, body: packed) }
        let halves = [packed.prefix(packed.count / 2), packed.dropFirst(packed.count / 2)]
        // A chunk without bytes would be the last.
        return .chunks(halves.filter { !$0.isEmpty }, headers: headers)
    }
}
#endif
