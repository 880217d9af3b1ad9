/// Text from which layers of escapes may have been removed, with the position of each byte in the original text.
struct UnescapedText {
    private(set) var bytes: [UInt8]
    /// The position of each byte in the original text, followed by the end of that text; empty if nothing has been
    /// unescaped.
    private var sources: [Int] = []

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Returns the range of the original text for a range of this text.
    func source(of range: Range<Int>) -> Range<Int> {
        sources.isEmpty ? range : sources[range.lowerBound]..<sources[range.upperBound]
    }

    /// Returns the text with one more layer of escapes removed, of any kind: JSON and JavaScript, HTML, URLs and forms.
    /// Returns `nil` if it has none. Makes one pass over the text.
    func unescaped() -> UnescapedText? {
        guard bytes.contains(where: Self.mayBegin) else { return nil }
        var plain: [UInt8] = []
        var starts: [Int] = []
        plain.reserveCapacity(bytes.count)
        starts.reserveCapacity(bytes.count + 1)
        var index = 0
        var isChanged = false
        while index < bytes.count {
            let start = sources.isEmpty ? index : sources[index]
            if Self.mayBegin(bytes[index]), let (meaning, length) = escape(at: index) {
                for byte in meaning {
                    plain.append(byte)
                    starts.append(start)
                }
                index += length
                isChanged = true
            } else {
                plain.append(bytes[index])
                starts.append(start)
                index += 1
            }
        }
        guard isChanged else { return nil }
        starts.append(sources.last ?? bytes.count)
        var next = UnescapedText(plain)
        next.sources = starts
        return next
    }

    /// Removes four layers at most, so that the work stays in proportion to the text.
    static func layers(of bytes: [UInt8]) -> [UnescapedText] {
        var layers = [UnescapedText(bytes)]
        while layers.count < 5, let next = layers[layers.count - 1].unescaped() { layers.append(next) }
        return layers
    }

    private static func mayBegin(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\\"), UInt8(ascii: "%"), UInt8(ascii: "&"), UInt8(ascii: "+"): true
        default: false
        }
    }

    /// Returns the decoded bytes of the escape at `index`, and its length; `nil` if there is none.
    private func escape(at index: Int) -> (meaning: [UInt8], length: Int)? {
        switch bytes[index] {
        case UInt8(ascii: "+"): return ([0x20], 1)
        case UInt8(ascii: "%"): return number(at: index + 1, digits: 2).map { ([UInt8($0)], 3) }
        case UInt8(ascii: "&"): return entity(at: index)
        default: return backslash(at: index)
        }
    }

    private func backslash(at index: Int) -> (meaning: [UInt8], length: Int)? {
        guard index + 1 < bytes.count else { return nil }
        switch bytes[index + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"), UInt8(ascii: "/"):
            return ([bytes[index + 1]], 2)
        case UInt8(ascii: "b"): return ([0x08], 2)
        case UInt8(ascii: "f"): return ([0x0C], 2)
        case UInt8(ascii: "n"): return ([0x0A], 2)
        case UInt8(ascii: "r"): return ([0x0D], 2)
        case UInt8(ascii: "t"): return ([0x09], 2)
        case UInt8(ascii: "x"): return number(at: index + 2, digits: 2).map { (Self.utf8($0), 4) }
        case UInt8(ascii: "u"):
            guard let unit = number(at: index + 2, digits: 4) else { return nil }
            // A character outside the basic plane takes two escapes.
            if (0xD800..<0xDC00).contains(unit), bytes[(index + 6)...].starts(with: [0x5C, 0x75]),
                let low = number(at: index + 8, digits: 4), (0xDC00..<0xE000).contains(low)
            {
                return (Self.utf8(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)), 12)
            }
            return (Self.utf8(unit), 6)
        default: return nil
        }
    }

    private static let entities: [(name: [UInt8], meaning: UInt8)] = [
        ("lt", UInt8(ascii: "<")), ("gt", UInt8(ascii: ">")), ("amp", UInt8(ascii: "&")), ("quot", UInt8(ascii: "\"")),
        ("apos", UInt8(ascii: "'")), ("sol", UInt8(ascii: "/")), ("plus", UInt8(ascii: "+")),
        ("equals", UInt8(ascii: "=")),
    ].map { (Array("\($0.0);".utf8), $0.1) }

    private func entity(at index: Int) -> (meaning: [UInt8], length: Int)? {
        let rest = bytes[(index + 1)...].prefix(10)
        guard rest.first == UInt8(ascii: "#") else {
            return Self.entities.first { rest.starts(with: $0.name) }.map { ([$0.meaning], $0.name.count + 1) }
        }
        guard let end = rest.firstIndex(of: UInt8(ascii: ";")) else { return nil }
        let digits = rest[(index + 2)..<end]
        let isHex = digits.first.map { $0.asciiLowercased == UInt8(ascii: "x") } ?? false
        let text = String(decoding: isHex ? digits.dropFirst() : digits, as: UTF8.self)
        return UInt32(text, radix: isHex ? 16 : 10).map { (Self.utf8($0), end - index + 1) }
    }

    private func number(at index: Int, digits: Int) -> UInt32? {
        let text = bytes.dropFirst(index).prefix(digits)
        guard text.count == digits, text.allSatisfy(PercentEncoding.isHexDigit) else { return nil }
        return UInt32(String(decoding: text, as: UTF8.self), radix: 16)
    }

    private static func utf8(_ value: UInt32) -> [UInt8] {
        Array(String(Unicode.Scalar(value) ?? "\u{FFFD}").utf8)
    }
}
