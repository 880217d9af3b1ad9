/// Takes apart `Set-Cookie` lines that a transport has joined with commas.
///
/// `Set-Cookie` is the one field whose lines must not be joined (RFC 9110, 5.3), because a date has a comma too.
/// URLSession joins them all the same. Where a comma is followed by a name and an equals sign, another cookie begins: a
/// date goes on with digits and a space.
///
/// A line that nobody has joined is one cookie, whatever commas it has. To take that apart would let whoever has a say
/// in one value set another cookie.
enum SetCookieLines {
    /// The attributes that browsers know, which never have a comma but for the date.
    private static let attributes: Set<String> = [
        "domain", "expires", "httponly", "max-age", "partitioned", "path", "priority", "samesite", "secure",
    ]

    /// Returns the lines. Takes time in proportion to the text, whatever a server has made of it.
    static func split(joined text: String) -> [String] {
        let bytes = text.utf8
        guard text.firstIndex(of: ",") != nil else { return [text] }
        var lines: [String] = []
        var (start, index) = (bytes.startIndex, bytes.startIndex)
        // Whether a comma may end the part of the line that is being read, and whether that is the cookie's value.
        var (mayEnd, isValue) = (true, true)
        while index < bytes.endIndex {
            let next = bytes.index(after: index)
            switch bytes[index] {
            case UInt8(ascii: ";"):
                (mayEnd, isValue) = (isKnownAttribute(bytes[next...]), false)
            case UInt8(ascii: "=") where isValue:
                // A comma in a value in quotation marks separates nothing.
                if let end = endOfQuotation(bytes[next...]) { index = end }
            case UInt8(ascii: ",") where mayEnd:
                guard let beginning = beginning(of: bytes[next...]) else { break }
                lines.append(String(Substring(bytes[start..<index])))
                (start, index, mayEnd, isValue) = (beginning, beginning, true, true)
                continue
            default: break
            }
            index = bytes.index(after: index)
        }
        lines.append(String(Substring(bytes[start...])))
        return lines
    }

    /// Returns where the next cookie begins after a comma; `nil` if none does.
    private static func beginning(of rest: Substring.UTF8View) -> String.Index? {
        var parser = FieldParser(Substring(rest))
        parser.skipSpaces()
        let start = parser.position
        return parser.token() != nil && parser.next == UInt8(ascii: "=") ? start : nil
    }

    private static func isKnownAttribute(_ rest: Substring.UTF8View) -> Bool {
        var parser = FieldParser(Substring(rest))
        parser.skipSpaces()
        guard let name = parser.token(), attributes.contains(name.lowercased()) else { return false }
        parser.skipSpaces()
        return parser.next.map("=,;".utf8.contains) ?? true
    }

    /// Returns the second of the quotation marks around a value; `nil` if it is not in quotation marks.
    private static func endOfQuotation(_ rest: Substring.UTF8View) -> String.Index? {
        var parser = FieldParser(Substring(rest))
        parser.skipSpaces()
        guard parser.skip(UInt8(ascii: "\"")) else { return nil }
        parser.skip { $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: ";") }
        let end = parser.position
        guard parser.skip(UInt8(ascii: "\"")) else { return nil }
        parser.skipSpaces()
        return parser.next.map(",;".utf8.contains) ?? true ? end : nil
    }
}
