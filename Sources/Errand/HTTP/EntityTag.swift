/// The version of a resource, as the server names it in the `ETag` header.
///
///     let reply = try await client.reply(to: .note(7))
///     if let version = reply.etag {
///         try await client.run(.put("notes/7", body: .json(changed)).ifMatch(version))
///     }
///
/// It is encoded as a text, as in the header.
public struct EntityTag: Sendable {
    private enum Kind: Sendable {
        case any
        case tag(String, isWeak: Bool)
    }

    private let kind: Kind

    /// Any version: the condition is about whether there is one at all.
    public static let any = EntityTag(kind: .any)

    private init(kind: Kind) { self.kind = kind }

    /// Creates a tag from the text of a header, such as `"a1"` or `W/"a1"` with their quotes, or from what is between
    /// these. As in a header, `*` is ``any``.
    public init(_ text: String) {
        self = text == "*" ? .any : EntityTag(field: text) ?? EntityTag(kind: .tag(text, isWeak: false))
    }

    /// Reads the value of a header; `nil` if it is malformed.
    init?(field: String) {
        let bytes = field.utf8
        let isWeak = bytes.starts(with: "W/".utf8)
        let quoted = bytes.dropFirst(isWeak ? 2 : 0)
        let inner = quoted.dropFirst().dropLast()
        guard quoted.count >= 2, quoted.first == UInt8(ascii: "\""), quoted.last == UInt8(ascii: "\""),
            inner.allSatisfy(Self.allows)
        else { return nil }
        kind = .tag(String(Substring(inner)), isWeak: isWeak)
    }

    private static func allows(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != UInt8(ascii: "\"") && byte != 0x7F
    }

    /// Whether two versions with this tag may differ in details, such as a counter of visits.
    public var isWeak: Bool { if case .tag(_, isWeak: true) = kind { true } else { false } }

    /// A description of what keeps it out of a header; `nil` if nothing does.
    var problem: String? {
        guard case .tag(let text, _) = kind, !text.utf8.allSatisfy(Self.allows) else { return nil }
        return "the entity tag \(HTTPSyntax.quoted(text)) has a character that a tag cannot have"
    }
}

extension EntityTag: Hashable {
    /// Returns whether the tags are the same, byte for byte. A weak one differs from the strong one with its text.
    public static func == (left: EntityTag, right: EntityTag) -> Bool {
        left.description.utf8.elementsEqual(right.description.utf8)
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) { hasher.combine(bytesOf: description) }

    /// Compares weakly, as a 304 does (RFC 9110, 8.8.3.2): `W/"x"` is `"x"`. A range would need the strong comparison.
    func matchesWeakly(_ other: EntityTag) -> Bool {
        guard case .tag(let text, _) = kind, case .tag(let otherText, _) = other.kind else { return false }
        return text.utf8.elementsEqual(otherText.utf8)
    }
}

extension EntityTag: CustomStringConvertible, ExpressibleByStringLiteral {
    /// The tag as in a header: `"a1"`, `W/"a1"` or `*`.
    public var description: String {
        switch kind {
        case .any: "*"
        case .tag(let text, let isWeak): (isWeak ? "W/\"" : "\"") + text + "\""
        }
    }

    /// Creates a tag from a literal, with or without quotes in it.
    public init(stringLiteral text: String) { self.init(text) }
}

extension EntityTag: Codable {
    /// Decodes a tag from a text.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes the tag as a text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension HTTPHeaders {
    /// The version of the resource; `nil` unless there is exactly one `ETag`, and that is well-formed.
    public var etag: EntityTag? {
        let values = values("ETag")
        return values.count == 1 ? values.first.flatMap { EntityTag(field: $0.trimmed) } : nil
    }
}
