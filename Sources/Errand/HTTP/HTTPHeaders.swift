/// Header fields in the order they were added. Names are compared without regard to case, and may repeat.
public struct HTTPHeaders: Sendable, Hashable {
    /// One header field.
    public struct Field: Sendable, Hashable {
        /// The name, as it was given.
        public var name: String
        /// The value, as it was given.
        public var value: String
        /// Whether the value is secret, though the name does not tell: then no description shows it.
        public internal(set) var isSecret = false

        /// Makes a field. It is checked when a request is built, not here.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// Whether the names and the values are the same to the letter.
        public static func == (left: Field, right: Field) -> Bool {
            left.name == right.name && left.value == right.value
        }

        /// Hashes what `==` compares.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(name)
            hasher.combine(value)
        }
    }

    /// The fields, in order.
    public private(set) var fields: [Field]

    /// Makes headers of those fields.
    public init(_ fields: [Field] = []) {
        self.fields = fields
    }

    /// The first value of that name. Setting it replaces all fields of the name; setting `nil` removes them.
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

    /// All values of that name, in order.
    public func values(_ name: String) -> [String] {
        fields.compactMap { $0.name.equalsIgnoringCase(name) ? $0.value : nil }
    }

    /// Marks the fields that a client's own names make secret.
    mutating func hide(_ names: SecretNames) {
        for index in fields.indices where names.isOwn(fields[index].name) {
            fields[index].isSecret = true
        }
    }

    /// Adds a field and keeps those of the same name.
    public mutating func add(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// Sets each name of `other` to the values that it has there.
    public mutating func merge(_ other: HTTPHeaders) {
        guard !other.fields.isEmpty else { return }
        guard !fields.isEmpty else { return fields = other.fields }
        fields.removeAll { field in other[field.name] != nil }
        fields += other.fields
    }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral, Sequence {
    /// Headers written as a dictionary; a name may repeat.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements.map { Field(name: $0.0, value: $0.1) })
    }

    /// The fields one by one, in order.
    public func makeIterator() -> IndexingIterator<[Field]> {
        fields.makeIterator()
    }
}

extension HTTPHeaders: CustomStringConvertible, CustomReflectable {
    /// The fields one a line; values that are secret by custom are not shown.
    public var description: String {
        fields.map(\.description).joined(separator: "\n")
    }
    /// Shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["headers": description]) }
}

extension HTTPHeaders.Field: CustomStringConvertible, CustomReflectable {
    /// The field as one line; a value that is secret by custom is not shown.
    public var description: String { "\(name.printable): \(Redactor.standard.value(of: self))" }
    /// Shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["field": description]) }
}

extension Redactor {
    /// The value of a header as it may be shown; URLs in it come without their secrets.
    func value(of field: HTTPHeaders.Field) -> String { masked(field).printable }

    /// The value of a header without its secrets, and its control characters as they are.
    func masked(_ field: HTTPHeaders.Field) -> String {
        if field.isSecret || names.contains(field.name, in: .header) { return Self.mask }
        let isURL = field.name.equalsIgnoringCase("Location") || field.name.equalsIgnoringCase("Content-Location")
        return masked(field.value, isURL: isURL)
    }
}

extension String {
    /// Compares as HTTP compares names: ASCII letters without regard to case.
    func equalsIgnoringCase(_ other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return zip(utf8, other.utf8).allSatisfy { $0 == $1 || $0.asciiLowercased == $1.asciiLowercased }
    }
}

extension UInt8 {
    var asciiLowercased: UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
    }
}
