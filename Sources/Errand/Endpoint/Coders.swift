// Who imports this module can use its decoder.
@_exported public import ErrandJSON
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A type that encodes the bodies of requests, such as `JSONEncoder`.
public protocol RequestEncoder: Sendable {
    /// The value of the `Content-Type` header for encoded bodies.
    var contentType: String { get }
    /// Encodes the value.
    func encode<Value: Encodable>(_ value: Value) throws -> Data
}

extension JSONEncoder: RequestEncoder {
    /// `application/json`.
    public var contentType: String { "application/json" }
}

/// A type that decodes the bodies of responses, such as ``FastJSONDecoder`` or Foundation's `JSONDecoder`.
public protocol ResponseDecoder: Sendable {
    /// Decodes the value in the bytes, or the value below `keys` if there are any.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data, below keys: [String]) throws -> Value
}

extension FastJSONDecoder: ResponseDecoder {}

extension JSONDecoder: ResponseDecoder {
    /// Decodes the value in the bytes, or the value below `keys` if there are any.
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data, below keys: [String]) throws -> Value {
        guard !keys.isEmpty else { return try decode(type, from: data) }
        return try decode(Envelope<Value>.self, from: data, configuration: keys[...]).value
    }
}

/// A value below some keys of a response.
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
    /// Returns the member with that name. A decoder with a key strategy has renamed `data_list` to `dataList`; the name
    /// that the server writes finds it all the same.
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
