#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension RequestBody {
    /// Creates a body from a value, which the client's encoder encodes, with `null` for members that are `nil`.
    ///
    ///     try await client.run(.put("users/7", body: .json(user, explicitNulls: true)))  // "email": null
    ///
    /// Without this, `Codable` leaves such members out. It is for types whose `encode(to:)` the compiler writes, and
    /// for others that use `encodeIfPresent`.
    public static func json(_ value: some Encodable & Sendable, explicitNulls: Bool) -> RequestBody {
        explicitNulls ? RequestBody(content: .json(ExplicitNulls(value: value))) : .json(value)
    }
}

/// A value that is encoded with `null` where it has no member.
private struct ExplicitNulls<Value: Encodable>: Encodable {
    let value: Value

    func encode(to encoder: any Encoder) throws {
        if Self.isLeaf(value) {
            var container = encoder.singleValueContainer()
            try container.encode(value)
        } else if let dictionary = value as? any StringKeyed {
            // An encoder leaves the keys of a dictionary as they are only if it sees that they are those of one.
            var container = encoder.singleValueContainer()
            try container.encode(dictionary.withExplicitNulls)
        } else {
            try value.encode(to: NullEncoder(base: encoder))
        }
    }

    /// Whether an encoder may treat the type in a way of its own, or it has no members.
    private static func isLeaf(_ value: Value) -> Bool {
        switch value {
        case is Bool, is String, is any BinaryInteger, is any BinaryFloatingPoint, is Date, is Data, is URL, is Decimal:
            true
        default: false
        }
    }
}

extension ExplicitNulls: Sendable where Value: Sendable {}

private protocol StringKeyed {
    var withExplicitNulls: any Encodable { get }
}

extension Dictionary: StringKeyed where Key == String, Value: Encodable {
    fileprivate var withExplicitNulls: any Encodable { mapValues { ExplicitNulls(value: $0) } }
}

private struct NullEncoder: Encoder {
    let base: any Encoder

    var codingPath: [any CodingKey] { base.codingPath }
    var userInfo: [CodingUserInfoKey: Any] { base.userInfo }

    func container<Key>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(NullMembers(base: base.container(keyedBy: type)))
    }
    func unkeyedContainer() -> any UnkeyedEncodingContainer { NullElements(base: base.unkeyedContainer()) }
    func singleValueContainer() -> any SingleValueEncodingContainer { NullValue(base: base.singleValueContainer()) }
}

private struct NullMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
    var base: KeyedEncodingContainer<Key>

    var codingPath: [any CodingKey] { base.codingPath }

    mutating func encodeNil(forKey key: Key) throws { try base.encodeNil(forKey: key) }
    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try base.encode(ExplicitNulls(value: value), forKey: key)
    }

    private mutating func write(_ value: (some Encodable)?, forKey key: Key) throws {
        if let value { try encode(value, forKey: key) } else { try encodeNil(forKey: key) }
    }
    // Each of these has a default that leaves `nil` out.
    mutating func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try write(value, forKey: key) }
    mutating func encodeIfPresent(_ value: String?, forKey key: Key) throws { try write(value, forKey: key) }
    mutating func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try write(value, forKey: key) }
    mutating func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try write(value, forKey: key) }
    mutating func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try write(value, forKey: key) }
    mutating func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try write(value, forKey: key) }
    mutating func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try write(value, forKey: key) }
    mutating func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try write(value, forKey: key) }
    mutating func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try write(value, forKey: key) }
    mutating func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try write(value, forKey: key) }
    mutating func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try write(value, forKey: key) }
    mutating func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try write(value, forKey: key) }
    mutating func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try write(value, forKey: key) }
    mutating func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try write(value, forKey: key) }
    mutating func encodeIfPresent(_ value: Int128?, forKey key: Key) throws { try write(value, forKey: key) }
    mutating func encodeIfPresent(_ value: UInt128?, forKey key: Key) throws { try write(value, forKey: key) }
    mutating func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
        try write(value, forKey: key)
    }

    mutating func nestedContainer<Inner>(
        keyedBy type: Inner.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Inner> {
        KeyedEncodingContainer(NullMembers<Inner>(base: base.nestedContainer(keyedBy: type, forKey: key)))
    }
    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        NullElements(base: base.nestedUnkeyedContainer(forKey: key))
    }
    mutating func superEncoder() -> any Encoder { NullEncoder(base: base.superEncoder()) }
    mutating func superEncoder(forKey key: Key) -> any Encoder { NullEncoder(base: base.superEncoder(forKey: key)) }
}

private struct NullElements: UnkeyedEncodingContainer {
    var base: any UnkeyedEncodingContainer

    var codingPath: [any CodingKey] { base.codingPath }
    var count: Int { base.count }

    mutating func encodeNil() throws { try base.encodeNil() }
    mutating func encode<Value: Encodable>(_ value: Value) throws { try base.encode(ExplicitNulls(value: value)) }
    mutating func nestedContainer<Inner>(keyedBy type: Inner.Type) -> KeyedEncodingContainer<Inner> {
        KeyedEncodingContainer(NullMembers<Inner>(base: base.nestedContainer(keyedBy: type)))
    }
    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        NullElements(base: base.nestedUnkeyedContainer())
    }
    mutating func superEncoder() -> any Encoder { NullEncoder(base: base.superEncoder()) }
}

private struct NullValue: SingleValueEncodingContainer {
    var base: any SingleValueEncodingContainer

    var codingPath: [any CodingKey] { base.codingPath }

    mutating func encodeNil() throws { try base.encodeNil() }
    mutating func encode<Value: Encodable>(_ value: Value) throws { try base.encode(ExplicitNulls(value: value)) }
}
