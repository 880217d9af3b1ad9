/// Header fields in the order they were added. Names are case-insensitive and may repeat.
public struct HTTPHeaders: Sendable, Hashable {
    /// One header field.
    public struct Field: Sendable, Hashable {
        /// The name, as given.
        public var name: String
        /// The value, as given.
        public var value: String
        /// Whether the value is secret although its name does not show it: then no description shows the value.
        public internal(set) var isSecret = false
        /// Whether a field with that name is before this one in the same literal. A request with it is not sent.
        var isRepeated = false

        /// Creates a field. The request builder checks it later.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// Returns whether the names and the values are equal, byte by byte.
        public static func == (left: Field, right: Field) -> Bool {
            left.name == right.name && left.value == right.value
        }

        /// Hashes what `==` compares.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(bytesOf: name)
            hasher.combine(bytesOf: value)
        }
    }

    /// The fields, in order.
    public private(set) var fields: [Field]

    /// Creates headers with those fields.
    public init(_ fields: [Field] = []) {
        self.fields = fields
    }

    /// The first value with that name. Setting it replaces all fields with the name; setting `nil` removes them.
    public subscript(_ name: String) -> String? {
        get { fields.first { $0.name.equalsIgnoringCase(name) }?.value }
        set {
            guard let newValue else { return fields.removeAll { $0.name.equalsIgnoringCase(name) } }
            guard let first = fields.firstIndex(where: { $0.name.equalsIgnoringCase(name) }) else {
                return fields.append(Field(name: name, value: newValue))
            }
            fields[first].value = newValue
            var seen = false
            fields.removeAll { field in
                guard field.name.equalsIgnoringCase(name) else { return false }
                defer { seen = true }
                return seen
            }
        }
    }

    /// Returns all values with that name, in order.
    public func values(_ name: String) -> [String] {
        fields.compactMap { $0.name.equalsIgnoringCase(name) ? $0.value : nil }
    }

    /// Marks the fields with a client's own secret names.
    mutating func hide(_ names: SecretNames) {
        for index in fields.indices where names.isOwn(fields[index].name) {
            fields[index].isSecret = true
        }
    }

    /// Marks the fields in whose values the redactor finds a secret that their names, and names in them, do not show.
    mutating func hide(by redactor: Redactor) {
        for index in fields.indices where redactor.hidesMore(of: fields[index]) { fields[index].isSecret = true }
    }

    /// Adds a field, and keeps those with the same name.
    public mutating func add(name: String, value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// Adds a field, and keeps those with the same name.
    @available(*, deprecated, renamed: "add(name:value:)")
    public mutating func add(_ name: String, _ value: String) {
        add(name: name, value: value)
    }

    /// Adds the fields of `other`, which replace all fields with the same names.
    public mutating func merge(_ other: HTTPHeaders) {
        guard !other.fields.isEmpty else { return }
        guard !fields.isEmpty else { return fields = other.fields }
        fields.removeAll { field in other[field.name] != nil }
        fields += other.fields
    }
}

extension HTTPHeaders {
    /// The codings that were applied to the body, in that order, such as `gzip`; empty if it is sent as it is.
    var codings: [String] {
        let values = values("Content-Encoding")
        // Values with too many elements count as one coding each, which is unknown.
        let elements = FieldParser.elements(of: values) ?? values.map { $0[...] }
        return elements.map { $0.lowercased() }.filter { $0 != "identity" }
    }

    /// Whether the body is not compressed.
    var hasPlainBody: Bool { codings.isEmpty }

    /// The length of the body; `nil` if it is not known, or is that of compressed bytes.
    var bodyLength: Int? {
        guard hasPlainBody, self["Transfer-Encoding"] == nil, let length = self["Content-Length"].flatMap({ Int($0) })
        else { return nil }
        return length >= 0 ? length : nil
    }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral, Sequence {
    /// Creates headers from a dictionary literal.
    ///
    /// A call whose request has a name twice in one literal fails with `.invalidRequest`, because one of the two is
    /// probably a mistake. Use ``add(_:_:)`` to send several fields with a name.
    public init(dictionaryLiteral elements: (String, String)...) {
        var fields: [Field] = []
        fields.reserveCapacity(elements.count)
        for (name, value) in elements {
            var field = Field(name: name, value: value)
            field.isRepeated = fields.contains { $0.name.equalsIgnoringCase(name) }
            fields.append(field)
        }
        self.init(fields)
    }

    /// Returns an iterator over the fields, in order.
    public func makeIterator() -> IndexingIterator<[Field]> {
        fields.makeIterator()
    }
}

extension HTTPHeaders: OpaqueReflectable {
    /// The fields, one per line. Secret values are redacted.
    public var description: String {
        fields.map(\.description).joined(separator: "\n")
    }
}

extension HTTPHeaders.Field: OpaqueReflectable {
    /// The field as one line. A secret value is redacted.
    public var description: String { "\(name.printable): \(Redactor.standard.value(of: self))" }
}

extension Redactor {
    /// Returns the value of a header, safe to show, with secrets in URLs redacted.
    func value(of field: HTTPHeaders.Field) -> String { masked(field).printable }

    /// Returns whether it finds a secret in the value of a header that the standard redactor does not find.
    fileprivate func hidesMore(of field: HTTPHeaders.Field) -> Bool {
        let masked = masked(field)
        // In most values there is none. What the standard redactor finds, this one finds too.
        return masked != field.value && masked != Self.standard.masked(field)
    }

    /// Returns the value of a header without secrets; control characters are kept.
    func masked(_ field: HTTPHeaders.Field) -> String {
        if field.isSecret || names.contains(field.name, in: .header) { return Self.mask }
        let isURL = field.name.equalsIgnoringCase("Location") || field.name.equalsIgnoringCase("Content-Location")
        return masked(field.value, isURL: isURL)
    }
}

extension String {
    /// Compares as HTTP compares names: ASCII letters are case-insensitive.
    func equalsIgnoringCase(_ other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        func areEqual(_ one: some Sequence<UInt8>, _ other: some Sequence<UInt8>) -> Bool {
            zip(one, other).allSatisfy { $0 == $1 || $0.asciiLowercased == $1.asciiLowercased }
        }
        // Bytes in a buffer are read ten times as fast as those of a string.
        let result = utf8.withContiguousStorageIfAvailable { one in
            other.utf8.withContiguousStorageIfAvailable { areEqual(one, $0) }
        }
        return (result ?? nil) ?? areEqual(utf8, other.utf8)
    }
}
