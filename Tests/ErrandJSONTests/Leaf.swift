import Foundation

/// A type that a scripted model asks for by itself.
enum Leaf: CaseIterable, Sendable {
    case bool, string, double, float, int, int8, int16, int32, int64, int128
    case uint, uint8, uint16, uint32, uint64, uint128
    case strings, doubles, integers, rows, bools, floats, bytes, optionals, optionalStrings, dates
    case date, url, data, decimal, dictionary, numbered, nested, text, level, small, range, anything

    enum Level: String, Codable { case low, high }
    enum Number: Int8, Codable { case one = 1, two }

    struct Small: Decodable {
        var id: Int
        var name: String?
        var tags: [String]?
    }

    /// Calls the closure with the type, for those that decoders have no method of their own for.
    private func type() -> any Decodable.Type {
        switch self {
        case .strings: [String].self
        case .doubles: [Double].self
        case .integers: [Int].self
        case .rows: [[Double]].self
        case .bools: [Bool].self
        case .floats: [Float].self
        case .bytes: [UInt8].self
        case .optionals: [Int?].self
        case .optionalStrings: [String?].self
        case .dates: [Date].self
        case .date: Date.self
        case .url: URL.self
        case .data: Data.self
        case .decimal: Decimal.self
        case .dictionary: Members<[String: Int]>.self
        case .numbered: Members<[Int: String]>.self
        case .nested: Members<[String: [String: Double]]>.self
        case .text: String?.self
        case .level: Level.self
        case .small: Small.self
        case .range: Number.self
        case .anything: Anything.self
        case .bool: Bool.self
        case .string: String.self
        case .double: Double.self
        case .float: Float.self
        case .int: Int.self
        case .int8: Int8.self
        case .int16: Int16.self
        case .int32: Int32.self
        case .int64: Int64.self
        case .int128: Int128.self
        case .uint: UInt.self
        case .uint8: UInt8.self
        case .uint16: UInt16.self
        case .uint32: UInt32.self
        case .uint64: UInt64.self
        case .uint128: UInt128.self
        }
    }

    func single(_ decoder: any Decoder) throws -> any Decodable {
        let container = try decoder.singleValueContainer()
        func any<Value: Decodable>(_ type: Value.Type) throws -> any Decodable { try container.decode(type) }
        return switch self {
        case .bool: try container.decode(Bool.self)
        case .string: try container.decode(String.self)
        case .double: try container.decode(Double.self)
        case .float: try container.decode(Float.self)
        case .int: try container.decode(Int.self)
        case .int8: try container.decode(Int8.self)
        case .int16: try container.decode(Int16.self)
        case .int32: try container.decode(Int32.self)
        case .int64: try container.decode(Int64.self)
        case .int128: try container.decode(Int128.self)
        case .uint: try container.decode(UInt.self)
        case .uint8: try container.decode(UInt8.self)
        case .uint16: try container.decode(UInt16.self)
        case .uint32: try container.decode(UInt32.self)
        case .uint64: try container.decode(UInt64.self)
        case .uint128: try container.decode(UInt128.self)
        default: try any(type())
        }
    }

    func member<Key: CodingKey>(_ container: KeyedDecodingContainer<Key>, _ key: Key) throws -> any Decodable {
        func any<Value: Decodable>(_ type: Value.Type) throws -> any Decodable {
            try container.decode(type, forKey: key)
        }
        return switch self {
        case .bool: try container.decode(Bool.self, forKey: key)
        case .string: try container.decode(String.self, forKey: key)
        case .double: try container.decode(Double.self, forKey: key)
        case .float: try container.decode(Float.self, forKey: key)
        case .int: try container.decode(Int.self, forKey: key)
        case .int8: try container.decode(Int8.self, forKey: key)
        case .int16: try container.decode(Int16.self, forKey: key)
        case .int32: try container.decode(Int32.self, forKey: key)
        case .int64: try container.decode(Int64.self, forKey: key)
        case .int128: try container.decode(Int128.self, forKey: key)
        case .uint: try container.decode(UInt.self, forKey: key)
        case .uint8: try container.decode(UInt8.self, forKey: key)
        case .uint16: try container.decode(UInt16.self, forKey: key)
        case .uint32: try container.decode(UInt32.self, forKey: key)
        case .uint64: try container.decode(UInt64.self, forKey: key)
        case .uint128: try container.decode(UInt128.self, forKey: key)
        default: try any(type())
        }
    }

    func memberIfPresent<Key: CodingKey>(
        _ container: KeyedDecodingContainer<Key>, _ key: Key
    ) throws -> (any Decodable)? {
        func any<Value: Decodable>(_ type: Value.Type) throws -> (any Decodable)? {
            try container.decodeIfPresent(type, forKey: key)
        }
        return switch self {
        case .bool: try container.decodeIfPresent(Bool.self, forKey: key)
        case .string: try container.decodeIfPresent(String.self, forKey: key)
        case .double: try container.decodeIfPresent(Double.self, forKey: key)
        case .float: try container.decodeIfPresent(Float.self, forKey: key)
        case .int: try container.decodeIfPresent(Int.self, forKey: key)
        case .int8: try container.decodeIfPresent(Int8.self, forKey: key)
        case .int16: try container.decodeIfPresent(Int16.self, forKey: key)
        case .int32: try container.decodeIfPresent(Int32.self, forKey: key)
        case .int64: try container.decodeIfPresent(Int64.self, forKey: key)
        case .int128: try container.decodeIfPresent(Int128.self, forKey: key)
        case .uint: try container.decodeIfPresent(UInt.self, forKey: key)
        case .uint8: try container.decodeIfPresent(UInt8.self, forKey: key)
        case .uint16: try container.decodeIfPresent(UInt16.self, forKey: key)
        case .uint32: try container.decodeIfPresent(UInt32.self, forKey: key)
        case .uint64: try container.decodeIfPresent(UInt64.self, forKey: key)
        case .uint128: try container.decodeIfPresent(UInt128.self, forKey: key)
        default: try any(type())
        }
    }

    func element(_ container: inout any UnkeyedDecodingContainer) throws -> any Decodable {
        func any<Value: Decodable>(_ type: Value.Type) throws -> any Decodable { try container.decode(type) }
        return switch self {
        case .bool: try container.decode(Bool.self)
        case .string: try container.decode(String.self)
        case .double: try container.decode(Double.self)
        case .float: try container.decode(Float.self)
        case .int: try container.decode(Int.self)
        case .int8: try container.decode(Int8.self)
        case .int16: try container.decode(Int16.self)
        case .int32: try container.decode(Int32.self)
        case .int64: try container.decode(Int64.self)
        case .int128: try container.decode(Int128.self)
        case .uint: try container.decode(UInt.self)
        case .uint8: try container.decode(UInt8.self)
        case .uint16: try container.decode(UInt16.self)
        case .uint32: try container.decode(UInt32.self)
        case .uint64: try container.decode(UInt64.self)
        case .uint128: try container.decode(UInt128.self)
        default: try any(type())
        }
    }

    func elementIfPresent(_ container: inout any UnkeyedDecodingContainer) throws -> (any Decodable)? {
        func any<Value: Decodable>(_ type: Value.Type) throws -> (any Decodable)? {
            try container.decodeIfPresent(type)
        }
        return switch self {
        case .bool: try container.decodeIfPresent(Bool.self)
        case .string: try container.decodeIfPresent(String.self)
        case .double: try container.decodeIfPresent(Double.self)
        case .float: try container.decodeIfPresent(Float.self)
        case .int: try container.decodeIfPresent(Int.self)
        case .int8: try container.decodeIfPresent(Int8.self)
        case .int16: try container.decodeIfPresent(Int16.self)
        case .int32: try container.decodeIfPresent(Int32.self)
        case .int64: try container.decodeIfPresent(Int64.self)
        case .int128: try container.decodeIfPresent(Int128.self)
        case .uint: try container.decodeIfPresent(UInt.self)
        case .uint8: try container.decodeIfPresent(UInt8.self)
        case .uint16: try container.decodeIfPresent(UInt16.self)
        case .uint32: try container.decodeIfPresent(UInt32.self)
        case .uint64: try container.decodeIfPresent(UInt64.self)
        case .uint128: try container.decodeIfPresent(UInt128.self)
        default: try any(type())
        }
    }
}

/// A dictionary. Which of several broken members makes it fail is random, so its errors are not compared.
struct Members<Value: Decodable>: Decodable, CustomStringConvertible {
    let description: String

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        description = (try? container.decode(Value.self)).map { Outcome.text($0) } ?? "broken"
    }
}

/// Any JSON, found out by asking.
indirect enum Anything: Decodable, Sendable, CustomStringConvertible {
    case null
    case bool(Bool)
    case number(String)
    case text(String)
    case array([Anything])
    case object([String: Anything])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int.self) {
            self = .number("\(value)")
        } else if let value = try? container.decode(Double.self) {
            self = .number("\(value.bitPattern)")
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([Anything].self) {
            self = .array(value)
        } else {
            // Not as a dictionary, which fails at any of its members that cannot be decoded: their order is random.
            let members = try decoder.container(keyedBy: AnyKey.self)
            let pairs = members.allKeys.map { key in
                (key.stringValue, (try? members.decode(Anything.self, forKey: key)) ?? .text("malformed"))
            }
            self = .object(Dictionary(pairs) { $1 })
        }
    }

    var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .number(let text): text
        case .text(let text): "\(Array(text.utf8))"
        case .array(let elements): "\(elements)"
        case .object(let members): "\(members.map { "\(Array($0.key.utf8)): \($0.value)" }.sorted())"
        }
    }
}
