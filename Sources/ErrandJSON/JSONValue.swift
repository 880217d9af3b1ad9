/// Any JSON value, for JSON without a type of its own.
///
///     let value = try FastJSONDecoder().decode(JSONValue.self, from: data)
///     let name = value["users"]?[0]?["name"]?.string
///
/// A literal may have values of different types, at any depth:
///
///     let value: JSONValue = ["name": "Bo", "pets": [["name": "Rex", "age": 4], "none"]]
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without a fraction.
    case integer(Int)
    /// Any other number, as precisely as a `Double` holds it.
    case number(Double)
    /// Text.
    case string(String)
    /// A list.
    case array([JSONValue])
    /// An object. Its members have no order.
    case object([String: JSONValue])
}

extension JSONValue {
    /// The Boolean value; `nil` if this is not one.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The number; `nil` if this is not a number without a fraction.
    public var integer: Int? { if case .integer(let value) = self { value } else { nil } }
    /// The number; `nil` if this is not one.
    public var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }
    /// The text; `nil` if this is not one.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The elements; `nil` if this is not a list.
    public var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
    /// The members; `nil` if this is not an object.
    public var object: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }
    /// Whether the value is `null`.
    public var isNull: Bool { self == .null }

    /// Returns the member with that name; `nil` if it is missing, or this is not an object.
    public subscript(name: String) -> JSONValue? { object?[name] }

    /// Returns the element at that index; `nil` if there is none, or this is not a list.
    public subscript(index: Int) -> JSONValue? {
        array.flatMap { $0.indices.contains(index) ? $0[index] : nil }
    }
}

extension JSONValue: Codable {
    /// Decodes any JSON.
    ///
    /// The value takes more memory than its JSON: twelve times as much for a list of digits, and 32 times for lists of
    /// one element in each other.
    public init(from decoder: any Decoder) throws {
        if let decoder = decoder as? JSONValueDecoder {
            try self.init(decoder.node)
        } else {
            try self.init(trying: decoder)
        }
    }

    /// Reads the value by its kind.
    private init(_ node: JSONNode) throws {
        switch node.kind {
        case .null: self = .null
        case .no: self = .bool(false)
        case .yes: self = .bool(true)
        case .integer, .number, .ascii, .unicode, .escaped:
            if let value = node.integer() {
                self = .integer(value)
            } else if let value = try node.number() {
                self = .number(value)
            } else {
                self = .string(try node.text() ?? "")
            }
        case .array:
            var elements: [JSONValue] = []
            elements.reserveCapacity(node.count)
            try node.forEachElement { elements.append(try JSONValue($0)) }
            self = .array(elements)
        case .object, .irregularObject:
            var members: [String: JSONValue] = [:]
            members.reserveCapacity(node.count)
            // Of members with the same key, the first one counts, as in any dictionary that is decoded.
            try node.forEachMember { key, value in
                if members[key] == nil { members[key] = try JSONValue(value) }
            }
            self = .object(members)
        }
    }

    /// Reads the value from another decoder, which does not say what it has: a type that does not fit makes room for
    /// the next, so its error is of no interest.
    private init(trying decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if var list = try? decoder.unkeyedContainer() {
            // First of those that fail: an error takes the longer, the more arrays there are around the value.
            var elements: [JSONValue] = []
            while !list.isAtEnd { elements.append(try list.decode(JSONValue.self)) }
            self = .array(elements)
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else {
            // The last attempt reports a value that is none of these.
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Encodes the value as it is.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let elements): try container.encode(elements)
        case .object(let members): try container.encode(members)
        }
    }
}

// Not by `nil`: with `== nil`, a missing member would be compared with `null`.
extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral {
    /// Creates a Boolean value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates a number without a fraction.
    public init(integerLiteral value: Int) { self = .integer(value) }
}

extension JSONValue: ExpressibleByFloatLiteral, ExpressibleByStringInterpolation {
    /// Creates a number.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// Creates a text.
    public init(stringLiteral value: String) { self = .string(value) }
}

extension JSONValue: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    /// Creates a list.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Creates an object. Of members with the same name, the last one stays.
    public init(dictionaryLiteral members: (String, JSONValue)...) {
        self = .object(Dictionary(members) { $1 })
    }
}

extension JSONValue: CustomStringConvertible, CustomReflectable {
    /// The kind of the value and its size, without its content, which may be secret.
    public var description: String {
        switch self {
        case .null: "null"
        case .bool: "a truth value"
        case .integer, .number: "a number"
        case .string(let text): "a text of \(text.utf8.count) bytes"
        case .array(let elements): "a list of \(elements.count)"
        case .object(let members): "an object of \(members.count)"
        }
    }
    /// A mirror that shows only the description.
    public var customMirror: Mirror { Mirror(self, children: ["json": description]) }
}
