#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// Turns values into the bodies of requests. `JSONEncoder` is one.
public protocol RequestEncoder: Sendable {
    /// What the encoded body is, for `Content-Type`.
    var contentType: String { get }
    /// The value as bytes.
    func encode<Value: Encodable>(_ value: Value) throws -> Data
}

extension JSONEncoder: RequestEncoder {
    /// JSON.
    public var contentType: String { "application/json" }
}

/// Turns the bodies of answers into values. `JSONDecoder` is one.
public protocol ResponseDecoder: Sendable {
    /// The value in the bytes, or the one below `keys` if there are any.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data, below keys: [String]) throws -> Value
}

extension JSONDecoder: ResponseDecoder {
    /// The value in the bytes, or the one below `keys` if there are any.
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data, below keys: [String]) throws -> Value {
        guard !keys.isEmpty else { return try decode(type, from: data) }
        return try decode(Envelope<Value>.self, from: data, configuration: keys[...]).value
    }
}

/// A value that lies below some keys of the answer.
private struct Envelope<Value: Decodable>: DecodableWithConfiguration {
    let value: Value

    init(from decoder: any Decoder, configuration keys: ArraySlice<String>) throws {
        guard let first = keys.first else {
            value = try Value(from: decoder)
            return
        }
        var container = try decoder.container(keyedBy: MemberName.self)
        var current = container.member(first)
        for name in keys.dropFirst() {
            container = try container.nestedContainer(keyedBy: MemberName.self, forKey: current)
            current = container.member(name)
        }
        value = try container.decode(Value.self, forKey: current)
    }
}

extension KeyedDecodingContainer<MemberName> {
    /// The member of that name. A decoder with a strategy for keys has renamed `data_list` to `dataList`; the name as
    /// the server writes it finds it all the same.
    fileprivate func member(_ name: String) -> MemberName {
        let key = MemberName(stringValue: name)
        guard !contains(key) else { return key }
        let plain = name.plainName
        return allKeys.first { $0.stringValue.plainName == plain } ?? key
    }
}

extension String {
    fileprivate var plainName: String { lowercased().replacing("_", with: "") }
}
