#if os(Linux)
/// What the `Alt-Svc` fields of a response say about HTTP/3 at the origin's own host and port (RFC 7838).
enum CurlAlternatives: Sendable, Hashable {
    /// The origin speaks HTTP/3, for that long.
    case announced(for: Duration)
    /// It does not, or no longer: each response says all that is so from now on.
    case withdrawn

    /// A day, unless the field says otherwise.
    private static let usualLifetime = 86_400
    /// A year. A longer time is a mistake, or as good as this one.
    private static let longestLifetime = 31_536_000

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
        var scanner = Scanner(value)
        guard !scanner.isAtEnd else { return nil }
        if scanner.isClear { return .withdrawn }
        var found = CurlAlternatives.withdrawn
        repeat {
            scanner.skipSpaces()
            // Lists may have empty elements.
            guard !scanner.isAtEnd, scanner.rest.first != UInt8(ascii: ",") else { continue }
            guard let name = scanner.token(), scanner.skip("="), let authority = scanner.quoted() else { return nil }
            guard let lifetime = lifetime(&scanner) else { return nil }
            let isOwn = name == "h3" && isOwn(authority, of: origin)
            if case .withdrawn = found, isOwn, lifetime > 0 { found = .announced(for: .seconds(lifetime)) }
        } while scanner.skip(",")
        return scanner.isAtEnd ? found : nil
    }

    /// Reads the parameters of an alternative, and returns its lifetime in seconds; `nil` if they are malformed.
    private static func lifetime(_ scanner: inout Scanner) -> Int? {
        var lifetime = usualLifetime
        scanner.skipSpaces()
        while scanner.skip(";") {
            scanner.skipSpaces()
            guard let name = scanner.token(), scanner.skip("="), let value = scanner.quoted() ?? scanner.token() else {
                return nil
            }
            scanner.skipSpaces()
            guard name == "ma" else { continue }
            guard !value.isEmpty, value.utf8.all({ (0x30...0x39).contains($0) }) else { return nil }
            lifetime = min(Int(value) ?? longestLifetime, longestLifetime)
        }
        return lifetime
    }

    /// Whether it is the origin's host, which may be left out, and its port.
    private static func isOwn(_ authority: String, of origin: Origin) -> Bool {
        guard let colon = authority.lastIndex(of: ":") else { return false }
        let host = authority[..<colon].lowercased()
        return (host.isEmpty || host == origin.host) && authority[authority.index(after: colon)...] == "\(origin.port)"
    }
}

/// Reads a field value from its beginning to its end.
private struct Scanner {
    private(set) var rest: Substring.UTF8View

    init(_ text: String) {
        rest = text[...].utf8
        skipSpaces()
    }

    var isAtEnd: Bool { rest.isEmpty }

    /// Whether there is nothing but the word that withdraws everything.
    var isClear: Bool {
        var copy = self
        guard copy.token() == "clear" else { return false }
        copy.skipSpaces()
        return copy.isAtEnd
    }

    mutating func skipSpaces() {
        rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }

    /// Skips that character, and spaces before it. Returns whether it was there.
    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        skipSpaces()
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    mutating func token() -> String? {
        let token = rest.prefix(while: HTTPSyntax.isTokenByte)
        guard !token.isEmpty else { return nil }
        rest = rest[token.endIndex...]
        return String(Substring(token))
    }

    /// Reads a text in quotation marks, in which a backslash escapes the next character.
    mutating func quoted() -> String? {
        guard rest.first == UInt8(ascii: "\"") else { return nil }
        var bytes: [UInt8] = []
        var left = rest.dropFirst()
        while let byte = left.popFirst() {
            switch byte {
            case UInt8(ascii: "\""):
                rest = left
                return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = left.popFirst() else { return nil }
                bytes.append(escaped)
            default: bytes.append(byte)
            }
        }
        return nil
    }
}
#endif
