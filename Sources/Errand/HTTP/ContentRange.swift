/// The value of `Content-Range` (RFC 9110, 14.4): the bytes that a 206 holds, or the length that a 416 names.
enum ContentRange: Sendable, Hashable {
    /// `bytes 0-99/200`, or `bytes 0-99/*` if the length of the whole is not known.
    case part(Range<Int>, of: Int?)
    /// `bytes */200`: the range that was asked for is not within the whole.
    case unsatisfied(length: Int)

    /// Reads a value. Returns `nil` for another unit and for a range that cannot be.
    init?(_ text: String) {
        var parser = FieldParser(text)
        guard parser.token()?.equalsIgnoringCase("bytes") == true, parser.skip(UInt8(ascii: " ")) else { return nil }
        var range: Range<Int>?
        if !parser.skip(UInt8(ascii: "*")) {
            guard let first = parser.offset(), parser.skip(UInt8(ascii: "-")), let last = parser.offset(),
                first <= last, last < .max
            else { return nil }
            range = first..<last + 1
        }
        guard parser.skip(UInt8(ascii: "/")) else { return nil }
        let length = parser.offset()
        guard length != nil || parser.skip(UInt8(ascii: "*")), parser.isAtEnd else { return nil }
        if let range {
            guard range.upperBound <= length ?? .max else { return nil }
            self = .part(range, of: length)
        } else {
            guard let length else { return nil }
            self = .unsatisfied(length: length)
        }
    }
}

extension FieldParser {
    /// Digits and nothing else: no sign, and no number that does not fit.
    fileprivate mutating func offset() -> Int? { digits().flatMap { Int($0) } }
}
