/// The value of `Content-Type`: a type, and its parameters (RFC 9110, 8.3).
struct MediaType {
    /// The type and the subtype as they were sent, such as `text/html`.
    let name: Substring
    private let parameters: FieldParser

    init(_ value: String) {
        var parser = FieldParser(value)
        name = parser.take { $0 != UInt8(ascii: ";") }.trimmed
        parameters = parser
    }

    /// The label of the encoding; `nil` if there is none.
    var charset: String? { self["charset"]?.trimmed }

    /// Returns whether the type has that name.
    func isNamed(_ other: String) -> Bool { name.equalsIgnoringCase(other) }

    /// Whether the name says that the content is JSON (RFC 8259, 11, and RFC 6839, 3.1).
    var isJSON: Bool { ["/json", "+json"].contains { Substring(name.utf8.suffix(5)).equalsIgnoringCase($0) } }

    /// Returns whether the type is the pattern, in which a `*` stands for any text.
    func matches(_ pattern: String) -> Bool {
        guard let star = pattern.utf8.firstIndex(of: UInt8(ascii: "*")) else { return isNamed(pattern) }
        guard pattern != "*/*" else { return true }
        let (before, after) = (pattern.utf8[..<star].count, pattern.utf8[star...].count - 1)
        guard name.utf8.count >= before + after else { return false }
        return Substring(name.utf8.prefix(before)).equalsIgnoringCase(pattern[..<star])
            && Substring(name.utf8.suffix(after)).equalsIgnoringCase(Substring(pattern.utf8.suffix(after)))
    }

    /// The value of the first parameter with that name; `nil` if there is none.
    private subscript(_ name: String) -> String? {
        var parser = parameters
        while let parameter = parser.parameter() {
            if parameter.name.equalsIgnoringCase(name), let value = parameter.value { return value }
        }
        return nil
    }
}
