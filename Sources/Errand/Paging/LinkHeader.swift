/// The `Link` header fields of a response (RFC 8288).
enum LinkHeader {
    /// Returns the target of the first link with the relation `next`, as written; `nil` if there is none.
    ///
    /// Skips malformed links. A link with an `anchor` is not about this response.
    static func next(in values: [String]) -> String? {
        for value in values {
            var rest = value.utf8[...]
            while let link = nextLink(in: &rest) {
                guard link.leadsOn else { continue }
                return link.target
            }
        }
        return nil
    }

    private struct Link {
        var target: String
        var relation: String?
        var hasAnchor = false

        /// Whether the link leads to the next page. Its relation may be one of several, in any case.
        var leadsOn: Bool {
            guard !hasAnchor, let relation else { return false }
            return relation.split(whereSeparator: \.isWhitespace).contains { String($0).equalsIgnoringCase("next") }
        }
    }

    private typealias Bytes = Substring.UTF8View

    /// Reads up to and including the comma after the link.
    private static func nextLink(in rest: inout Bytes) -> Link? {
        while true {
            skip(in: &rest) { isSpace($0) || $0 == UInt8(ascii: ",") }
            guard let first = rest.first else { return nil }
            guard first == UInt8(ascii: "<") else {
                // Not a link: continue after the next comma.
                _ = text(in: &rest) { $0 == UInt8(ascii: ",") }
                continue
            }
            // No later link can end either.
            guard let end = rest.firstIndex(of: UInt8(ascii: ">")) else { return nil }
            let target = Substring(rest[rest.index(after: rest.startIndex)..<end])
            var link = Link(target: String(target).trimmed)
            rest = rest[rest.index(after: end)...]
            while let (name, value) = nextParameter(in: &rest) {
                // All but the first `rel` are ignored (RFC 8288, 3.3).
                if name.equalsIgnoringCase("rel") { link.relation = link.relation ?? value }
                if name.equalsIgnoringCase("anchor") { link.hasAnchor = true }
            }
            return link
        }
    }

    /// Reads a parameter with the semicolon before it; `nil` at the end of the link.
    private static func nextParameter(in rest: inout Bytes) -> (name: String, value: String)? {
        skip(in: &rest) { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: ",") }
        guard rest.first == UInt8(ascii: ";") else { return nil }
        rest.removeFirst()
        let name = text(in: &rest) { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: ",") }
        guard rest.first == UInt8(ascii: "=") else { return (name.trimmed, "") }
        rest.removeFirst()
        skip(in: &rest, while: isSpace)
        guard rest.first == UInt8(ascii: "\"") else {
            return (name.trimmed, text(in: &rest) { $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: ",") }.trimmed)
        }
        return (name.trimmed, quotedText(in: &rest))
    }

    private static func quotedText(in rest: inout Bytes) -> String {
        rest.removeFirst()
        var bytes: [UInt8] = []
        while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            // A backslash escapes the next character.
            bytes.append(byte == UInt8(ascii: "\\") ? rest.popFirst() ?? byte : byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func text(in rest: inout Bytes, until isEnd: (UInt8) -> Bool) -> String {
        let text = rest.prefix { !isEnd($0) }
        rest = rest[text.endIndex...]
        return String(Substring(text))
    }

    private static func skip(in rest: inout Bytes, while isSkipped: (UInt8) -> Bool) {
        rest = rest.drop(while: isSkipped)
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
}
