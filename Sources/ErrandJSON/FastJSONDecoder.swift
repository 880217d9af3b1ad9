#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A decoder of JSON: several times faster than Foundation's `JSONDecoder`, for the same models, with the same
/// strategies and the same errors.
///
/// It is the decoder of Errand's client unless you set another one, and can be used alone:
///
///     let users = try FastJSONDecoder().decode([User].self, from: data)
///
/// It is a value: a copy has strategies of its own, and tasks may share one. Like `JSONDecoder`, it reads UTF-8 with or
/// without a byte order mark, UTF-16 and UTF-32; it ignores a comma at the end of an array or object; of members with
/// the same key, the first one counts; and it refuses more than 512 nested arrays and objects.
///
/// The differences:
///
/// - ``DateDecodingStrategy-swift.struct/iso8601WithOptionalFractions`` is new. JSON5, top-level members without braces
///   and, on Apple's platforms, the strategy `formatted` are missing: use `JSONDecoder` for those.
/// - `allKeys` has the order of the document. Of several members of a dictionary that cannot be decoded, the first is
///   reported; `JSONDecoder` reports any of them.
/// - A syntax error has a ``JSONFault`` as its `underlyingError`, which says where it is, by line and column.
/// - A malformed text or number is `DecodingError.dataCorrupted` also where the initializer of a model catches it.
/// - A date that is no ISO 8601 is reported at its own path, not at that of the model around it.
/// - The time is proportional to the size of the document. For this, more than 128 combining marks in a row are put
///   into canonical order, in which the text is equal: `JSONDecoder` takes a time that grows with their square.
/// - Zero may have any exponent. `JSONDecoder` refuses some, such as `0e5`.
/// - A document of 4 GiB, a text of 256 MiB, or an array of 268 million elements is refused.
public struct FastJSONDecoder: Sendable {
    /// The conversion of keys in JSON before they are compared with those of a model; none by default.
    public var keyDecodingStrategy: KeyDecodingStrategy = .useDefaultKeys
    /// The format of dates; by default that of `Date` itself, a number of seconds since 2001.
    public var dateDecodingStrategy: DateDecodingStrategy = .deferredToDate
    /// The format of `Data`; Base64 by default.
    public var dataDecodingStrategy: DataDecodingStrategy = .base64
    /// The strings that stand for infinity and for what is not a number; none by default.
    public var nonConformingFloatDecodingStrategy: NonConformingFloatDecodingStrategy = .throw
    /// Values for the initializers of models; none by default.
    public var userInfo: [CodingUserInfoKey: any Sendable] = [:]

    /// Creates a decoder with the default strategies.
    public init() {}

    /// Decodes a value.
    ///
    /// - Throws: `DecodingError`, or what the initializer of a model throws.
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
        try decoding(data) { decoder in try decoder.value(decoder.entry, as: type, at: JSONPathKey.none) }
    }

    /// Decodes a value of a type that needs a configuration for it.
    public func decode<Value: DecodableWithConfiguration>(
        _ type: Value.Type, from data: Data, configuration: Value.DecodingConfiguration
    ) throws -> Value {
        try decoding(data) { decoder in try Value(from: decoder, configuration: configuration) }
    }

    /// Decodes the value below those keys, the outermost first.
    ///
    /// Write the keys as the server does: they are found with any key strategy.
    public func decode<Value: Decodable>(_ type: Value.Type, from data: Data, below keys: [String]) throws -> Value {
        try decode(type, from: data, below: keys, for: nil)
    }

    /// Decodes the value below those keys; stops soon after the recipient is stopped, with its error.
    package func decode<Value: Decodable>(
        _ type: Value.Type, from data: Data, below keys: [String], for recipient: (any Stoppable)?
    ) throws -> Value {
        try decoding(data, for: recipient) { decoder in
            var decoder = decoder
            for name in keys { decoder = try decoder.decoder(below: name) }
            return try decoder.value(decoder.entry, as: type, at: JSONPathKey.none)
        }
    }

    func decoding<Value>(
        _ data: Data, for recipient: (any Stoppable)? = nil, _ body: (JSONValueDecoder) throws -> Value
    ) throws -> Value {
        try JSONEncoding.withUTF8(of: data) { bytes in
            var document: JSONDocument
            do throws(JSONFault) {
                document = try JSONDocument(bytes, self, for: recipient)
            } catch {
                throw error.decodingError
            }
            // A model may have kept a decoder or a container; also one whose initializer has thrown.
            defer {
                if !isKnownUniquelyReferenced(&document) {
                    document.keepBytes()
                    document.stopAsking()
                }
            }
            return try run(document, body)
        }
    }

    /// No decoder of its own is left when it returns.
    @inline(never)
    private func run<Value>(_ document: JSONDocument, _ body: (JSONValueDecoder) throws -> Value) throws -> Value {
        try body(JSONValueDecoder(document, entry: 0, parent: nil, key: JSONPathKey.none))
    }
}
