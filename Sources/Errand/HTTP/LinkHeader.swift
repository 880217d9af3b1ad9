/// The `Link` header fields of a response (RFC 8288).
enum LinkHeader {
    /// Returns the target of the first link with the relation `next`, as written; `nil` if there is none.
    ///
    /// Skips malformed links. A link with an `anchor` is not about this response.
    static func next(in values: [String]) -> String? {
        for value in values {
            var parser = FieldParser(value)
            while let link = Link(next: &parser) {
                if link.isAbout(relation: "next") { return link.target }
            }
        }
        return nil
    }
}

private struct Link {
    let target: String
    private var relation: String?
    private var hasAnchor = false

    /// Reads the next link, up to the comma after it. Returns `nil` if there is none.
    init?(next parser: inout FieldParser) {
        repeat {
            // What does not begin with a target is no link.
            parser.skip { $0 == UInt8(ascii: ",") || $0 == 0x20 || $0 == 0x09 }
            guard let first = parser.next else { return nil }
            if first == UInt8(ascii: "<") { break }
            parser.skip { $0 != UInt8(ascii: ",") }
        } while true
        let text = parser.take { $0 != UInt8(ascii: ">") }.dropFirst()
        // Without its end, no later link has one either.
        guard parser.skip(UInt8(ascii: ">")) else { return nil }
        target = String(text.trimmed)
        while let (name, value) = parser.parameter() {
            // All but the first `rel` are ignored (RFC 8288, 3.3).
            if name.equalsIgnoringCase("rel") { relation = relation ?? value ?? "" }
            if name.equalsIgnoringCase("anchor") { hasAnchor = true }
        }
    }

    /// Returns whether the link has the relation. It may be one of several, in any case.
    func isAbout(relation name: String) -> Bool {
        guard !hasAnchor, let relation else { return false }
        return relation.split(whereSeparator: \.isWhitespace).contains { $0.equalsIgnoringCase(name) }
    }
}
