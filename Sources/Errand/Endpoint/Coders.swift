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
        var current = MemberName(stringValue: first)
        for name in keys.dropFirst() {
            container = try container.nestedContainer(keyedBy: MemberName.self, forKey: current)
            current = MemberName(stringValue: name)
        }
        value = try container.decode(Value.self, forKey: current)
    }
}
