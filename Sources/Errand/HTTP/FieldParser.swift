/// Reads the value of a header field from its beginning to its end, with the rules that fields have in common (RFC
/// 9110, 5.6): tokens, quoted strings, numbers, lists and parameters.
///
/// Each kind of field builds on it and decides what a fault means: ``MediaType``, ``LinkHeader`` and lists skip what is
/// malformed, while ``ContentRange``, ``HTTPDate`` and ``StructuredField`` refuse the whole value.
///
/// A function that returns `nil` has read nothing. All of them take time in proportion to what they read.
struct FieldParser {
    private let bytes: Substring.UTF8View
    /// Before the first byte that has not been read yet.
    private(set) var position: Substring.Index

    /// What has not been read yet.
    var rest: Substring.UTF8View { bytes[position...] }

    init(_ value: some StringProtocol) {
        bytes = Substring(value).utf8
        position = bytes.startIndex
    }

    var isAtEnd: Bool { position == bytes.endIndex }

    /// The next byte; `nil` at the end.
    var next: UInt8? { isAtEnd ? nil : bytes[position] }

    /// Reads one byte, whatever it is; `nil` at the end.
    mutating func pop() -> UInt8? {
        guard let next else { return nil }
        position = bytes.index(after: position)
        return next
    }

    /// Reads that byte, if it comes next.
    mutating func skip(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position = bytes.index(after: position)
        return true
    }

    @inline(__always)
    mutating func skip(while isSkipped: (UInt8) -> Bool) {
        position = rest.firstIndex { !isSkipped($0) } ?? bytes.endIndex
    }

    /// Skips spaces and tabs, which are allowed around the parts of most fields.
    mutating func skipSpaces() { skip(while: Self.isSpace) }

    /// Reads the bytes up to the first that does not belong to the part.
    @inline(__always)
    mutating func take(while isPart: (UInt8) -> Bool) -> Substring {
        let start = position
        skip(while: isPart)
        return Substring(bytes[start..<position])
    }

    /// Reads a token, such as the name of a directive or of a scheme.
    mutating func token() -> Substring? {
        let token = take(while: HTTPSyntax.isTokenByte)
        return token.isEmpty ? nil : token
    }

    /// Reads a text in quotation marks, in which a backslash escapes the next character. A text without its second mark
    /// goes on to the end of the value, or is none if it has to be closed.
    mutating func quotedText(isClosed: Bool = false) -> String? {
        let start = position
        guard skip(UInt8(ascii: "\"")) else { return nil }
        let plain = take { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        if skip(UInt8(ascii: "\"")) { return String(plain) }
        var bytes = Array(plain.utf8)
        while let byte = pop() {
            if byte == UInt8(ascii: "\"") { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte == UInt8(ascii: "\\") ? pop() ?? byte : byte)
        }
        guard !isClosed else {
            position = start
            return nil
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads digits.
    mutating func digits() -> Substring? {
        let digits = take(while: Self.isDigit)
        return digits.isEmpty ? nil : digits
    }
}

extension FieldParser {
    /// Reads `name`, `name=value` or `name="value"`, up to the semicolon or the comma after it. The value is `nil` if
    /// there is no equals sign.
    mutating func pair() -> (name: Substring, value: String?) {
        let name = take { $0 != UInt8(ascii: "=") && !Self.isSeparator($0) }.trimmed
        guard skip(UInt8(ascii: "=")) else { return (name, nil) }
        skipSpaces()
        let value = quotedText() ?? String(take { !Self.isSeparator($0) }.trimmed)
        // What follows a quotation mark belongs to nothing.
        skip { !Self.isSeparator($0) }
        return (name, value)
    }

    /// Reads a parameter with the semicolon before it, and skips what stands before that; `nil` at the comma after the
    /// last parameter, and at the end.
    mutating func parameter() -> (name: Substring, value: String?)? {
        skip { !Self.isSeparator($0) }
        guard skip(UInt8(ascii: ";")) else { return nil }
        return pair()
    }

    /// Reads an element of a list with the commas before it; `nil` at the end. Empty elements are skipped, and a comma
    /// in quotation marks separates nothing.
    mutating func element() -> Substring? {
        skip { Self.isSpace($0) || $0 == UInt8(ascii: ",") }
        guard !isAtEnd else { return nil }
        let start = position
        let end = rest.firstIndex(found: { bytes in
            var (isQuoted, isEscaped) = (false, false)
            return bytes.firstIndex { byte in
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\"") {
                    isQuoted.toggle()
                } else if isQuoted {
                    isEscaped = byte == UInt8(ascii: "\\")
                } else {
                    return byte == UInt8(ascii: ",")
                }
                return false
            }
        })
        position = end ?? bytes.endIndex
        return Substring(bytes[start..<position]).trimmed
    }

    /// The most elements that are read. No list that is meant seriously has more.
    static let mostElements = 1000

    /// Returns the elements of a list, given as the values of all fields with the name; `nil` if they are too many.
    static func elements(of values: [String]) -> [Substring]? {
        var elements: [Substring] = []
        for value in values {
            var parser = FieldParser(value)
            while let element = parser.element() {
                guard elements.count < mostElements else { return nil }
                elements.append(element)
            }
        }
        return elements
    }

    /// Returns a number of seconds or of requests; `nil` unless the text consists of digits. A number that is too large
    /// becomes the largest (RFC 9111, 1.2.2).
    static func wholeNumber(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy(isDigit) else { return nil }
        return Int64(text) ?? .max
    }

    static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    fileprivate static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func isSeparator(_ byte: UInt8) -> Bool { byte == UInt8(ascii: ";") || byte == UInt8(ascii: ",") }
}

extension Substring {
    /// The text without spaces and tabs at its ends.
    var trimmed: Substring {
        let bytes = utf8
        var (start, end) = (bytes.startIndex, bytes.endIndex)
        while start < end, FieldParser.isSpace(bytes[start]) { start = bytes.index(after: start) }
        while start < end {
            let last = bytes.index(before: end)
            guard FieldParser.isSpace(bytes[last]) else { break }
            end = last
        }
        return self[start..<end]
    }

    /// The name of a field or a parameter, in lower case; `nil` if it is no token. Only ASCII is hashed fast.
    var asName: String? { !isEmpty && utf8.allSatisfy(HTTPSyntax.isTokenByte) ? lowercased() : nil }

    /// Compares as HTTP compares names: ASCII letters are case-insensitive.
    func equalsIgnoringCase(_ other: some StringProtocol) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8) { $0.asciiLowercased == $1.asciiLowercased }
    }
}

extension String {
    /// The text without spaces and tabs at its ends.
    var trimmed: String { String(self[...].trimmed) }
}
