#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A JSON value, which backends read and write.
enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// The member of that name; `nil` if there is none, or it is null.
    subscript(_ name: String) -> JSON? {
        guard case .object(let members) = self, let member = members[name], member != .null else { return nil }
        return member
    }

    /// A text, or a number as text; `nil` for anything else.
    var text: String? {
        switch self {
        case .string(let text): text
        case .int(let number): "\(number)"
        case .double(let number): "\(number)"
        case .null, .bool, .array, .object: nil
        }
    }

    /// A whole number, also if it is written as text, as in a query.
    var number: Int? {
        switch self {
        case .int(let number): number
        case .string(let text): Int(text)
        case .null, .bool, .double, .array, .object: nil
        }
    }

    var elements: [JSON]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The encoded value. Members are sorted, so that equal values have equal bytes.
    var data: Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // JSON cannot represent NaN and infinities, and no backend computes with them.
        return (try? encoder.encode(self)) ?? Data()
    }
}

extension JSON: Codable {
    /// Clients send flat values. The stack of a connection's thread is small, and a deeply nested body must not exhaust
    /// it.
    private static let deepest = 16

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        guard decoder.codingPath.count <= Self.deepest else {
            throw DecodingError.dataCorruptedError(in: value, debugDescription: "it is nested too deeply")
        }
        // Each `try?` tests for one type; a mismatch is not an error. Whole numbers come before floating-point numbers.
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let int = try? value.decode(Int.self) {
            self = .int(int)
        } else if let double = try? value.decode(Double.self) {
            self = .double(double)
        } else if let string = try? value.decode(String.self) {
            self = .string(string)
        } else if let array = try? value.decode([JSON].self) {
            self = .array(array)
        } else {
            self = .object(try value.decode([String: JSON].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .int(let value): try container.encode(value)
        case .double(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

extension JSON: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int) { self = .int(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(arrayLiteral elements: JSON...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(Dictionary(elements) { $1 })
    }

    /// The text, or null.
    init(_ text: String?) { self = text.map { .string($0) } ?? .null }
}
