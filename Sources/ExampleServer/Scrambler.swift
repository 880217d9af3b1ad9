#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Generates texts that look like secrets, and are the same each time.
struct Scrambler: Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    /// Returns the next text: 32 characters that are valid in any header.
    mutating func text() -> String {
        (0..<2).map { _ in
            let word = String(next(), radix: 16)
            return String(repeating: "0", count: 16 - word.count) + word
        }.joined()
    }

    /// SplitMix64, which maps neighbouring seeds to very different numbers.
    private mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}

extension Data {
    /// Base64 in the alphabet for URLs, without padding, as the parts of a JWT are encoded (RFC 7515, 2).
    var base64ForURLs: String {
        String(
            base64EncodedString().compactMap { character in
                switch character {
                case "+": "-"
                case "/": "_"
                case "=": nil
                default: character
                }
            })
    }
}
