/// The value of `Content-Range` (RFC 9110, 14.4): the bytes that a 206 holds, or the length that a 416 names.
enum ContentRange: Sendable, Hashable {
    /// `bytes 0-99/200`, or `bytes 0-99/*` if the length of the whole is not known.
    case part(Range<Int>, of: Int?)
    /// `bytes */200`: the range that was asked for is not within the whole.
    case unsatisfied(length: Int)

    /// Reads a value. Returns `nil` for another unit and for a range that cannot be.
    init?(_ text: String) {
        let words = text.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let length = Self.number(parts[1])
        guard length != nil || parts[1] == "*" else { return nil }
        if parts[0] == "*" {
            guard let length else { return nil }
            self = .unsatisfied(length: length)
            return
        }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last,
            last < length ?? .max
        else { return nil }
        self = .part(first..<last + 1, of: length)
    }

    /// Digits and nothing else: no sign, and no number that does not fit.
    private static func number(_ text: Substring) -> Int? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int(text)
    }
}
