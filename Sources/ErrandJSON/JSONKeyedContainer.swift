/// The members of an object, for the keys of a model.
struct JSONKeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: JSONValueDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] {
        // An enumeration with associated values is an object with one member, and asks for its key.
        if let name = decoder.onlyMemberName { return Key(stringValue: name).map { [$0] } ?? [] }
        return decoder.memberNames.compactMap { Key(stringValue: $0) }
    }

    func contains(_ key: Key) -> Bool {
        // A decoding that was stopped ends with the next step that can throw.
        (try? decoder.member(key.stringValue)) != nil
    }

    @inline(__always)
    private func entry(_ key: Key) throws -> Int {
        guard let entry = try decoder.member(key.stringValue) else { throw missing(key) }
        return entry
    }

    /// Returns the entry of the value of a member; `nil` if it is missing or null.
    @inline(__always)
    private func entryIfPresent(_ key: Key) throws -> Int? {
        guard let entry = try decoder.member(key.stringValue), !decoder.document[entry].isNull else { return nil }
        return entry
    }

    @inline(never)
    private func missing(_ key: Key) -> DecodingError {
        .keyNotFound(
            key,
            DecodingError.Context(
                codingPath: codingPath,
                debugDescription: "No value associated with key \(key) (\"\(key.stringValue)\")."))
    }

    @inline(__always)
    private func read<Value>(_ key: Key, _ body: (Int) throws(JSONMisfit) -> Value) throws -> Value {
        try decoder.read(try entry(key), at: key, body)
    }

    @inline(__always)
    private func readIfPresent<Value>(_ key: Key, _ body: (Int) throws(JSONMisfit) -> Value) throws -> Value? {
        guard let entry = try entryIfPresent(key) else { return nil }
        return try decoder.read(entry, at: key, body)
    }

    @inline(__always)
    private func integer<Value: FixedWidthInteger>(_ key: Key) throws -> Value {
        try read(key) { entry throws(JSONMisfit) in try decoder.document.integer(entry) }
    }

    @inline(__always)
    private func integerIfPresent<Value: FixedWidthInteger>(_ key: Key) throws -> Value? {
        try readIfPresent(key) { entry throws(JSONMisfit) in try decoder.document.integer(entry) }
    }

    func decodeNil(forKey key: Key) throws -> Bool { decoder.document[try entry(key)].isNull }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
        try read(key) { entry throws(JSONMisfit) in try decoder.document.bool(entry) }
    }
    func decode(_ type: String.Type, forKey key: Key) throws -> String {
        try read(key) { entry throws(JSONMisfit) in try decoder.document.string(entry) }
    }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
        try read(key) { entry throws(JSONMisfit) in try decoder.document.float(entry) }
    }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
        try read(key) { entry throws(JSONMisfit) in try decoder.document.float(entry) }
    }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(key) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try integer(key) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try integer(key) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try integer(key) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try integer(key) }
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try integer(key) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try integer(key) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(key) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(key) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(key) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(key) }
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try integer(key) }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoder.value(try entry(key), as: type, at: key)
    }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try readIfPresent(key) { entry throws(JSONMisfit) in try decoder.document.bool(entry) }
    }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try readIfPresent(key) { entry throws(JSONMisfit) in try decoder.document.string(entry) }
    }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try readIfPresent(key) { entry throws(JSONMisfit) in try decoder.document.float(entry) }
    }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try readIfPresent(key) { entry throws(JSONMisfit) in try decoder.document.float(entry) }
    }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: Int128.Type, forKey key: Key) throws -> Int128? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: UInt128.Type, forKey key: Key) throws -> UInt128? { try integerIfPresent(key) }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        guard let entry = try entryIfPresent(key) else { return nil }
        return try decoder.value(entry, as: type, at: key)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try decoder.nestedDecoder(of: try entry(key), at: key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder.decoder(of: try entry(key), at: key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder {
        let key = JSONPathKey.super
        return try decoder.decoder(of: decoder.member(key.stringValue) ?? decoder.document.missing, at: key)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder {
        try decoder.decoder(of: decoder.member(key.stringValue) ?? decoder.document.missing, at: key)
    }
}
