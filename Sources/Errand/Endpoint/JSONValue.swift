/// Any JSON, for what has no type of its own.
///
///     let value: JSONValue = try await client.run(.get("settings"))
///     let name = value["users"]?[0]?["name"]?.string
///
/// As a literal it holds values of different types, at any depth:
///
///     let body = RequestBody.json(["name": "Bo", "pets": [["name": "Rex", "age": 4], "none"]])
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without a fraction.
    case integer(Int)
    /// Any other number.
    case number(Double)
    /// Text.
    case string(String)
    /// A list.
    case array([JSONValue])
    /// An object. Its members have no order.
    case object([String: JSONValue])
}

extension JSONValue {
    /// The truth value, if it is one.
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The number, if it is one without a fraction.
    public var integer: Int? { if case .integer(let value) = self { value } else { nil } }
    /// The number, if it is one.
    public var number: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }
    /// The text, if it is one.
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    /// The elements, if it is a list.
    public var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
    /// The members, if it is an object.
    public var object: [String: JSONValue]? { if case .object(let members) = self { members } else { nil } }
    /// Whether it is `null`.
    public var isNull: Bool { self == .null }

    /// The member of that name; `nil` if it is missing, or this is no object.
    public subscript(name: String) -> JSONValue? { object?[name] }

    /// The element at that place; `nil` if there is none, or this is no list.
    public subscript(index: Int) -> JSONValue? {
        array.flatMap { $0.indices.contains(index) ? $0[index] : nil }
    }
}

extension JSONValue: Codable {
    /// Reads any JSON.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            // What is none of these is told by the last attempt.
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    /// Writes it as it is.
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

// Not by `nil`: a missing member would be compared with `null` where one writes `== nil`.
extension JSONValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral {
    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// A number without a fraction.
    public init(integerLiteral value: Int) { self = .integer(value) }
}

extension JSONValue: ExpressibleByFloatLiteral, ExpressibleByStringInterpolation {
    /// A number.
    public init(floatLiteral value: Double) { self = .number(value) }
    /// Text.
    public init(stringLiteral value: String) { self = .string(value) }
}

extension JSONValue: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    /// A list.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// An object; of members with the same name the last one stays.
    public init(dictionaryLiteral members: (String, JSONValue)...) {
        self = .object(Dictionary(members) { $1 })
    }
}

extension JSONValue: CustomStringConvertible, CustomReflectable {
    /// What kind of value it is, and how large; never what is in it, which may be a secret.
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
    /// Shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["json": description]) }
}
