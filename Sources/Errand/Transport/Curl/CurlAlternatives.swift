#if os(Linux)
/// What the `Alt-Svc` fields of a response say about HTTP/3 at the origin's own host and port (RFC 7838).
enum CurlAlternatives: Sendable, Hashable {
    /// The origin speaks HTTP/3, for that long.
    case announced(for: Duration)
    /// It does not, or no longer: each response says all that is so from now on.
    case withdrawn

    /// A day, unless the field says otherwise.
    private static let usualLifetime: Int64 = 86_400
    /// A year. A longer time is a mistake, or as good as this one.
    private static let longestLifetime: Int64 = 31_536_000

    /// Reads the values of the fields, in their order; `nil` if there are none, or none that is well-formed.
    init?(_ values: [String], of origin: Origin) {
        var found: CurlAlternatives?
        for value in values {
            guard let read = Self.read(value, of: origin) else { continue }
            if case .announced = found { continue }
            found = read
        }
        guard let found else { return nil }
        self = found
    }

    private static func read(_ value: String, of origin: Origin) -> CurlAlternatives? {
        let value = value.trimmed
        guard !value.isEmpty else { return nil }
        if value == "clear" { return .withdrawn }
        var parser = FieldParser(value)
        var found = CurlAlternatives.withdrawn
        repeat {
            parser.skipSpaces()
            // Lists may have empty elements.
            guard !parser.isAtEnd, parser.next != UInt8(ascii: ",") else { continue }
            guard let name = parser.token(), parser.skipWithSpaces(UInt8(ascii: "=")),
                let authority = parser.quotedText(isClosed: true), let lifetime = lifetime(&parser)
            else { return nil }
            let isOwn = name == "h3" && isOwn(authority, of: origin)
            if case .withdrawn = found, isOwn, lifetime > 0 { found = .announced(for: .seconds(lifetime)) }
        } while parser.skipWithSpaces(UInt8(ascii: ","))
        return parser.isAtEnd ? found : nil
    }

    /// Reads the parameters of an alternative, and returns its lifetime in seconds; `nil` if they are malformed.
    private static func lifetime(_ parser: inout FieldParser) -> Int64? {
        var lifetime = usualLifetime
        while parser.skipWithSpaces(UInt8(ascii: ";")) {
            parser.skipSpaces()
            guard let name = parser.token(), parser.skipWithSpaces(UInt8(ascii: "=")),
                let value = parser.quotedText(isClosed: true) ?? parser.token().map({ String($0) })
            else { return nil }
            guard name == "ma" else { continue }
            guard let seconds = FieldParser.wholeNumber(value) else { return nil }
            lifetime = min(seconds, longestLifetime)
        }
        return lifetime
    }

    /// Whether it is the origin's host, which may be left out, and its port.
    private static func isOwn(_ authority: String, of origin: Origin) -> Bool {
        guard let colon = authority.lastIndex(of: ":") else { return false }
        let host = authority[..<colon].lowercased()
        return (host.isEmpty || host == origin.host)
            && Substring(authority.utf8[colon...].dropFirst()) == "\(origin.port)"
    }
}

extension FieldParser {
    /// Reads that byte with the spaces before it, if it comes next.
    fileprivate mutating func skipWithSpaces(_ byte: UInt8) -> Bool {
        skipSpaces()
        return skip(byte)
    }
}
#endif
