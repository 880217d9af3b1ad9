/// Reads values in the encoding DER (X.690), in which files have keys and OpenSSL makes signatures.
struct DERReader {
    enum Tag: UInt8 {
        case integer = 0x02
        case octets = 0x04
        case identifier = 0x06
        case sequence = 0x30
        /// What has the number 0 in its sequence: the curve of a key (RFC 5915), the version of a certificate.
        case first = 0xA0
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }
    init(_ bytes: [UInt8]) { rest = bytes[...] }

    var isAtEnd: Bool { rest.isEmpty }

    /// Reads the next value, which has that tag, and returns its content; `nil` if it is another, or not whole.
    mutating func content(_ tag: Tag) -> ArraySlice<UInt8>? {
        var next = rest
        guard next.popFirst() == tag.rawValue, let first = next.popFirst() else { return nil }
        var count = Int(first)
        if first >= 0x80 {
            // The length of a length: a key has at most a few thousand bytes.
            let digits = next.prefix(Int(first & 0x7F))
            guard 1...3 ~= digits.count, digits.count == Int(first & 0x7F) else { return nil }
            count = digits.reduce(0) { $0 << 8 | Int($1) }
            next = next.dropFirst(digits.count)
        }
        guard count <= next.count else { return nil }
        rest = next.dropFirst(count)
        return next.prefix(count)
    }

    /// Reads the next value, which has that tag, and returns all of it; `nil` if it is another, or not whole.
    mutating func element(_ tag: Tag) -> ArraySlice<UInt8>? {
        let start = rest
        return content(tag).map { start[..<$0.endIndex] }
    }

    /// Reads a sequence.
    mutating func sequence() -> DERReader? { content(.sequence).map(DERReader.init) }

    /// Reads a number that is not negative, and returns its digits without the zeros before them.
    mutating func number() -> [UInt8]? {
        guard let digits = content(.integer), let first = digits.first, first < 0x80 else { return nil }
        return Array(digits.drop { $0 == 0 })
    }
}
