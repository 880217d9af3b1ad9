/// A path below the client's base URL.
///
///     let path: EndpointPath = "users/\(id)/friends"
///
/// Every interpolated value becomes exactly one segment, or a part of one: whatever it contains, it can change neither
/// the number of segments nor the host. Literal text may contain percent escapes, which are kept. A path that leaves
/// the base URL, an absolute URL, a query or an empty interpolated value makes the call fail with `.invalidRequest`.
///
/// A path may be a part of another:
///
///     let user: EndpointPath = "users/\(id)"
///     let friends: EndpointPath = "\(user)/friends"
///
/// Use `EndpointPath(segments:)` for segments that are known only at run time.
///
/// A value that is exactly `..` is sent as `%2E%2E`, so it is one segment here and on the wire. A proxy that unescapes
/// paths before it routes may still treat it as a step up: refuse such identifiers if they come from untrusted sources.
public struct EndpointPath: Sendable, Hashable {
    private(set) var text = ""
    private(set) var problem: String?
    /// Which of the first 64 segments have an interpolated value, one bit each.
    private var values: UInt64 = 0

    /// Returns whether the paths are sent alike.
    public static func == (left: EndpointPath, right: EndpointPath) -> Bool {
        left.text == right.text && left.problem == right.problem
    }

    /// Hashes what `==` compares.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(text)
        hasher.combine(problem)
    }

    /// Hashes the path without its interpolated values, in which calls of the same endpoint differ.
    func hashPattern(into hasher: inout Hasher) {
        for (index, segment) in text.split(separator: "/", omittingEmptySubsequences: false).enumerated() {
            hasher.combine(index < 64 && values & 1 << index != 0 ? "" : segment)
        }
    }

    /// The number of slashes before the end, which is that of the last segment.
    private var lastSegment: Int { text.utf8.count { $0 == UInt8(ascii: "/") } }

    /// Creates a path from segments, each of which is escaped.
    public init(segments: [String]) {
        for (offset, segment) in segments.enumerated() {
            if offset > 0 { text += "/" }
            append(segment: segment)
        }
        // Which of them are the same in each call is not known.
        values = 0
    }

    /// Creates the path of a URL, which names the call. The call itself checks the URL.
    init(ofURL url: String) {
        var rest = Redactor.withoutUserInfo(url).prefix(before: "?#")
        if let scheme = rest.firstRange(of: "://") {
            rest = rest[scheme.upperBound...].drop(before: "/")
        } else if rest.hasPrefix("//") {
            rest = Substring(rest.utf8.dropFirst(2)).drop(before: "/")
        }
        self.init(segments: rest.split(separator: "/").map { PercentEncoding.decode(String($0)) })
        // A server names as many URLs as it has resources.
        values = .max
    }

    /// Returns the path below `base`, which ends without a slash.
    func resolved(below base: String) throws(ServiceError) -> String {
        if let problem { throw .invalidRequest(InvalidRequest(.path, problem)) }
        guard !text.isEmpty else { return base.isEmpty ? "/" : base }
        let separator = text.utf8.first == UInt8(ascii: "/") ? "" : "/"
        return base + separator + text
    }

    private mutating func append(literal: String) {
        // Most literals need no further check.
        guard !PercentEncoding.path.allowsAll(literal) else { return text += literal }
        guard let encoded = PercentEncoding.path.keepingEscapes(literal) else {
            return fail("the path \(HTTPSyntax.quoted(literal)) has a % that is not followed by two hexadecimal digits")
        }
        let bytes = literal.utf8
        for (mark, part) in [("?", "a query; pass it as `query:`"), ("#", "a fragment")] where literal.contains(mark) {
            let shown = HTTPSyntax.quoted(Redactor.standard.text(ofURL: literal))
            // The call has this name, although it is never sent.
            text += literal.prefix(before: "?#")
            return fail("the path \(shown) has \(part)")
        }
        guard bytes.contains(UInt8(ascii: "%")) else { return text += encoded }
        // An escaped dot is a dot (RFC 3986, 6.2.2.2): a server would treat it as a step up, so it has to be counted.
        text += encoded.replacing("%2E", with: ".").replacing("%2e", with: ".")
    }

    /// Appends a path, whose values are escaped already.
    private mutating func append(path: EndpointPath) {
        if let problem = path.problem { return fail(problem) }
        guard !path.text.isEmpty else { return failOnEmptyValue() }
        let isSlashDoubled = text.hasSuffix("/") && path.text.hasPrefix("/")
        let shift = lastSegment - (isSlashDoubled ? 1 : 0)
        if shift < 64 { values |= path.values << shift }
        text += isSlashDoubled ? path.text.dropFirst() : path.text[...]
    }

    private mutating func failOnEmptyValue() {
        fail("an empty value follows \(HTTPSyntax.quoted(text)) in the path, which would name another resource")
    }

    private mutating func append(segment: String) {
        guard !segment.isEmpty else { return failOnEmptyValue() }
        // A value of one or two dots would be a step in the tree.
        text +=
            segment == "." || segment == ".."
            ? segment.replacing(".", with: "%2E") : PercentEncoding.segment.encode(segment)
        if lastSegment < 64 { values |= 1 << lastSegment }
    }

    private mutating func finish() {
        guard problem == nil else { return }
        // Without a dot, a colon or a leading slash there is nothing to check.
        guard
            text.utf8.first == UInt8(ascii: "/")
                || !text.utf8.all({ $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: ":") })
        else { return }
        if text.hasPrefix("//") || text.hasPrefix("/\\") || isAbsolute {
            let advice = "pass a URL from a response as `url:`, and create another client for another server"
            return fail("\(HTTPSyntax.quoted(text)) is not a path below the base URL; \(advice)")
        }
        guard text.utf8.contains(UInt8(ascii: ".")), hasDotSegments else { return }
        var depth = 0
        for segment in text.split(separator: "/") {
            if segment == ".." { depth -= 1 } else if segment != "." { depth += 1 }
            if depth < 0 { return fail("the path \(HTTPSyntax.quoted(text)) leads outside the base URL") }
        }
        text = String(PathSegments.removingDots(text).dropFirst(text.hasPrefix("/") ? 0 : 1))
        values = 0
    }

    private var hasDotSegments: Bool {
        text.split(separator: "/").contains { $0 == "." || $0 == ".." }
    }

    /// Whether the text begins with a scheme. A colon in a later segment is harmless.
    private var isAbsolute: Bool {
        let first = text.utf8.prefix { $0 != UInt8(ascii: "/") }
        guard let colon = first.firstIndex(of: UInt8(ascii: ":")) else { return false }
        return text.utf8[colon...].dropFirst().starts(with: "//".utf8)
    }

    private mutating func fail(_ reason: String) {
        problem = problem ?? reason
    }
}

extension EndpointPath: ExpressibleByStringInterpolation, CustomStringConvertible {
    /// A path literal with values, which are escaped when they are added.
    public struct StringInterpolation: StringInterpolationProtocol, Sendable {
        fileprivate var path = EndpointPath(segments: [])

        /// Creates an empty interpolation.
        public init(literalCapacity: Int, interpolationCount: Int) {}

        /// Adds literal text.
        public mutating func appendLiteral(_ literal: String) {
            path.append(literal: literal)
        }

        /// Adds a value, escaped.
        public mutating func appendInterpolation(_ value: some CustomStringConvertible) {
            path.append(segment: value.description)
        }

        /// Adds a path, whose segments stay apart.
        public mutating func appendInterpolation(_ path: EndpointPath) {
            self.path.append(path: path)
        }

        /// Adds the raw value of an identifier or an enum, escaped.
        public mutating func appendInterpolation<Value: RawRepresentable>(_ value: Value)
        where Value.RawValue: CustomStringConvertible {
            path.append(segment: value.rawValue.description)
        }
    }

    /// Creates a path from a literal.
    public init(stringLiteral text: String) {
        append(literal: text)
        finish()
    }

    /// Creates a path from a literal with values.
    public init(stringInterpolation interpolation: StringInterpolation) {
        self = interpolation.path
        finish()
    }

    /// The path, percent-encoded.
    public var description: String { text }
}
