/// A known secret, found in text with the Knuth–Morris–Pratt algorithm: it reads each byte of the text about once,
/// however often a server repeats the beginning of the secret.
struct KnownSecret: Sendable {
    let bytes: [UInt8]
    /// For each matched length, the length that still matches when the next byte does not.
    private let fallback: [Int]

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var fallback = [0]
        fallback.reserveCapacity(bytes.count)
        var length = 0
        for byte in bytes.dropFirst() {
            while length > 0, byte != bytes[length] { length = fallback[length - 1] }
            if byte == bytes[length] { length += 1 }
            fallback.append(length)
        }
        self.fallback = fallback
    }

    /// Returns the ranges of the secret in the text, including overlapping ones.
    func ranges(in text: [UInt8]) -> [Range<Int>] {
        guard !bytes.isEmpty, text.count >= bytes.count else { return [] }
        var found: [Range<Int>] = []
        var length = 0
        for (index, byte) in text.enumerated() {
            while length > 0, byte != bytes[length] { length = fallback[length - 1] }
            if byte == bytes[length] { length += 1 }
            guard length == bytes.count else { continue }
            found.append(index + 1 - length..<index + 1)
            length = fallback[length - 1]
        }
        return found
    }
}
