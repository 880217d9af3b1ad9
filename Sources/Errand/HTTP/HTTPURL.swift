/// A checked absolute http or https URL: a scheme, a host, a port, a path and an optional query, and nothing else.
///
/// It is parsed as RFC 3986 says and keeps the path and the query as written, so the URL that was built is the URL that
/// is sent.
public struct HTTPURL: Sendable, Hashable {
    /// The parts, immutable in one object: layers pass the request along, and one object means one reference count.
    private final class Parts: Sendable {
        let origin: Origin
        let path: String
        let query: String?
        let names: SecretNames
        /// The text to show, if the names alone do not determine what is secret.
        let shown: String?

        init(origin: Origin, path: String, query: String?, names: SecretNames, shown: String? = nil) {
            self.origin = origin
            self.path = path
            self.query = query
            self.names = names
            self.shown = shown
        }
    }

    private let parts: Parts

    /// The scheme, the host and the port.
    public var origin: Origin { parts.origin }
    /// The percent-encoded path; it begins with a slash.
    public var path: String { parts.path }
    /// The percent-encoded query, without its question mark.
    public var query: String? { parts.query }

    /// The names of the parameters whose values are redacted in the description.
    var secretNames: SecretNames { parts.names }
    /// A redactor that knows these names.
    package var redactor: Redactor { Redactor(secretNames) }

    init(origin: Origin, path: String, query: String?, secretNames: SecretNames = .standard) {
        parts = Parts(origin: origin, path: path, query: query, names: secretNames)
    }

    private init(_ parts: Parts) {
        self.parts = parts
    }

    /// Returns the same URL, whose description shows what the redactor leaves of it.
    func shown(by redactor: Redactor) -> HTTPURL {
        let text = redactor.text(ofURL: description)
        guard text != description else { return self }
        return HTTPURL(Parts(origin: origin, path: path, query: query, names: secretNames, shown: text))
    }

    /// Parses an absolute URL. Drops a fragment; refuses credentials.
    init(reading text: String) throws(HTTPFault) {
        let reference = try Reference(text)
        guard let scheme = reference.scheme else { throw .url(text, "it has no scheme (https://…)") }
        guard let authority = reference.authority else { throw .url(text, "it has no host") }
        self.init(
            origin: try Origin(scheme: scheme, authority: authority, of: text),
            path: reference.path.isEmpty ? "/" : reference.path,
            query: reference.query)
    }

    /// The path and the query, as in the request line.
    public var target: String {
        guard let query else { return path }
        return "\(path)?\(query)"
    }

    /// The whole URL, including secrets. Use `description` for text that people read.
    public var absoluteString: String { origin.description + target }

    /// Resolves `reference` against this URL (RFC 3986, 5.2); the scheme stays http or https.
    func resolving(reading reference: String) throws(HTTPFault) -> HTTPURL {
        let url = try target(of: reference)
        return HTTPURL(origin: url.origin, path: url.path, query: url.query, secretNames: secretNames)
    }

    private func target(of reference: String) throws(HTTPFault) -> HTTPURL {
        let parsed = try Reference(reference)
        if parsed.scheme != nil { return try HTTPURL(reading: reference).withoutDots }
        if let authority = parsed.authority {
            let origin = try Origin(scheme: origin.scheme, authority: authority, of: reference)
            return HTTPURL(origin: origin, path: parsed.path, query: parsed.query).withoutDots
        }
        if parsed.path.isEmpty { return HTTPURL(origin: origin, path: path, query: parsed.query ?? query) }
        if parsed.path.hasPrefix("/") {
            return HTTPURL(origin: origin, path: parsed.path, query: parsed.query).withoutDots
        }
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
        let folder = String(Substring(path.utf8[...slash]))
        return HTTPURL(origin: origin, path: folder + parsed.path, query: parsed.query).withoutDots
    }

    /// Returns whether the origins, the paths and the queries are equal, character by character.
    public static func == (left: HTTPURL, right: HTTPURL) -> Bool {
        left.origin == right.origin && left.path == right.path && left.query == right.query
    }

    /// Hashes the origin, the path and the query.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(origin)
        hasher.combine(path)
        hasher.combine(query)
    }

    private var withoutDots: HTTPURL {
        HTTPURL(origin: origin, path: PathSegments.removingDots(path), query: query)
    }
}

extension HTTPURL: OpaqueReflectable {
    /// The URL with the values of secret parameters redacted.
    public var description: String {
        if let shown = parts.shown { return shown }
        let path = origin.description + path
        return query.map { "\(path)?\(Redactor(secretNames).text(ofQuery: $0))" } ?? path
    }
}

extension HTTPURL {
    /// The parts of a URL reference, split as RFC 3986 (appendix B) describes, without the fragment.
    struct Reference {
        var scheme: String?
        var authority: Substring?
        var path: String
        var query: String?

        init(_ text: String) throws(HTTPFault) {
            guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") }) else {
                throw .url(text, "it has a space, a backslash or a control character")
            }
            var rest = text.utf8.prefix { $0 != UInt8(ascii: "#") }
            if let colon = rest.firstIndex(of: UInt8(ascii: ":")), Self.isScheme(rest[..<colon]) {
                scheme = Substring(rest[..<colon]).lowercased()
                rest = rest[colon...].dropFirst()
            }
            if rest.starts(with: "//".utf8) {
                rest = rest.dropFirst(2)
                let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
                authority = Substring(rest[..<end])
                rest = rest[end...]
            }
            if let mark = rest.firstIndex(of: UInt8(ascii: "?")) {
                query = try Self.encoded(Substring(rest[mark...].dropFirst()), .query, of: text)
                rest = rest[..<mark]
            }
            path = try Self.encoded(Substring(rest), .path, of: text)
        }

        private static func isScheme(_ text: Substring.UTF8View) -> Bool {
            guard let first = text.first?.asciiLowercased, (0x61...0x7A).contains(first) else { return false }
            return text.allSatisfy { byte in
                PercentEncoding.isAlphanumeric(byte) || byte == 0x2B || byte == 0x2D || byte == 0x2E
            }
        }

        private static func encoded(
            _ text: Substring, _ place: PercentEncoding, of whole: String
        ) throws(HTTPFault) -> String {
            guard let encoded = place.keepingEscapes(text) else {
                throw .url(whole, "it has a % that is not followed by two hexadecimal digits")
            }
            return encoded
        }
    }
}

extension Origin {
    fileprivate init(scheme: String, authority: Substring, of text: String) throws(HTTPFault) {
        guard scheme == "https" || scheme == "http" else { throw .url(text, "its scheme is neither https nor http") }
        guard !authority.contains("@") else { throw .url(text, "it has a user name or a password") }
        var host = authority
        var port: Int?
        let end = authority.hasPrefix("[") ? authority.lastIndex(of: "]") ?? authority.startIndex : authority.startIndex
        if let colon = authority[end...].lastIndex(of: ":") {
            host = authority[..<colon]
            let digits = Substring(authority.utf8[colon...].dropFirst())
            if !digits.isEmpty {
                guard let number = UInt16(digits), number > 0, digits.utf8.allSatisfy({ $0 != UInt8(ascii: "+") })
                else {
                    throw .url(text, "its port is not a number from 1 to 65535")
                }
                port = Int(number)
            }
        }
        guard !host.isEmpty else { throw .url(text, "it has no host") }
        // No DNS name is longer, and longer ones have overrun a buffer in libcurl's SOCKS proxy code.
        guard host.utf8.count <= 255 else { throw .url(text, "its host is longer than 255 bytes") }
        guard Self.isHost(host) else { throw .url(text, "its host has an invalid character") }
        self.init(scheme: scheme, host: host.lowercased(), port: port)
    }

    private static func isHost(_ host: Substring) -> Bool {
        if host.hasPrefix("["), host.hasSuffix("]") {
            let inside = Substring(host.utf8.dropFirst().dropLast())
            return inside.contains(":")
                && inside.utf8.allSatisfy { PercentEncoding.isHexDigit($0) || $0 == 0x3A || $0 == 0x2E }
        }
        return host.utf8.allSatisfy { PercentEncoding.isAlphanumeric($0) || $0 == 0x2D || $0 == 0x2E || $0 == 0x5F }
    }
}
