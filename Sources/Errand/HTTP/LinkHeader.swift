extension HTTPHeaders {
    /// A link to another resource, from a `Link` header field (RFC 8288).
    public struct Link: Sendable, Hashable {
        /// The URL as written, absolute or relative to the URL of the response.
        public let target: String
        /// The relations of the response to that resource in lower case, such as `next` or `last`.
        public let relations: [String]
    }

    /// The links of the response, in order.
    ///
    /// Malformed links are left out, and so are links with an `anchor`, which are not about this response.
    public var links: [Link] { LinkHeader.links(in: values("Link")) }
}

/// The `Link` header fields of a response (RFC 8288).
enum LinkHeader {
    /// Returns the links about the response, in order.
    static func links(in values: [String]) -> [HTTPHeaders.Link] {
        values.flatMap { value in
            var parser = FieldParser(value)
            var links: [HTTPHeaders.Link] = []
            while let (link, hasAnchor) = HTTPHeaders.Link.reading(next: &parser) {
                if !hasAnchor { links.append(link) }
            }
            return links
        }
    }

    /// Returns the target of the first link with the relation `next`, as written; `nil` if there is none.
    static func next(in values: [String]) -> String? {
        links(in: values).first { $0.has("next") }?.target
    }
}

extension HTTPHeaders.Link {
    /// Returns whether the link has the relation. It may be one of several, in any case.
    func has(_ relation: String) -> Bool {
        relations.contains { $0.equalsIgnoringCase(relation) }
    }

    /// Reads the next link, up to the comma after it, and whether it has an anchor. Returns `nil` if there is none.
    fileprivate static func reading(next parser: inout FieldParser) -> (link: Self, hasAnchor: Bool)? {
        repeat {
            // What does not begin with a target is no link.
            parser.skip { $0 == UInt8(ascii: ",") || $0 == 0x20 || $0 == 0x09 }
            guard let first = parser.next else { return nil }
            if first == UInt8(ascii: "<") { break }
            parser.skip { $0 != UInt8(ascii: ",") }
        } while true
        let text = Substring(parser.take { $0 != UInt8(ascii: ">") }.utf8.dropFirst())
        // Without its end, no later link has one either.
        guard parser.skip(UInt8(ascii: ">")) else { return nil }
        var (relation, hasAnchor) = (String?.none, false)
        while let (name, value) = parser.parameter() {
            // All but the first `rel` are ignored (RFC 8288, 3.3).
            if name.equalsIgnoringCase("rel") { relation = relation ?? value ?? "" }
            if name.equalsIgnoringCase("anchor") { hasAnchor = true }
        }
        let relations = (relation ?? "").utf8.split { $0 == 0x20 || $0 == 0x09 }.map { Substring($0).lowercased() }
        return (Self(target: String(text.trimmed), relations: relations), hasAnchor)
    }
}
