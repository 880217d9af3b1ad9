/// The elements of an array.
struct JSONUnkeyedContainer: UnkeyedDecodingContainer {
    private let decoder: JSONValueDecoder
    /// The entry of the current element.
    private var entry: Int
    private(set) var currentIndex = 0

    init(_ decoder: JSONValueDecoder) {
        self.decoder = decoder
        entry = decoder.entry + 1
    }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { size }
    var isAtEnd: Bool { currentIndex >= size }

    private var size: Int { decoder.document[decoder.entry].length }

    @inline(__always)
    private mutating func advance() throws {
        currentIndex += 1
        entry = decoder.document.index(after: entry)
        // Most elements are steps by themselves; plain ones are fast.
        if currentIndex & 0xFFF == 0 { try decoder.document.ask() }
    }

    @inline(__always)
    private func require(_ type: Any.Type) throws {
        guard currentIndex < size else { throw end(type, "Unkeyed container is at end.") }
    }

    @inline(never)
    private func end(_ type: Any.Type, _ description: String) -> DecodingError {
        .valueNotFound(
            type,
            DecodingError.Context(
                codingPath: decoder.path(to: JSONPathKey.index(currentIndex)), debugDescription: description))
    }

    @inline(__always)
    private mutating func next<Value>(
        _ type: Any.Type, _ body: (Int, JSONPathKey) throws -> Value
    ) throws -> Value {
        try require(type)
        let value = try body(entry, .index(currentIndex))
        try advance()
        return value
    }

    @inline(__always)
    private mutating func nextIfPresent<Value>(_ body: (Int, JSONPathKey) throws -> Value) throws -> Value? {
        guard currentIndex < size else {
            // As `JSONDecoder` does it.
            currentIndex += 1
            return nil
        }
        let value = decoder.document[entry].isNull ? nil : try body(entry, .index(currentIndex))
        try advance()
        return value
    }

    @inline(__always)
    private mutating func read<Value>(_ body: (JSONDocument, Int) throws(JSONMisfit) -> Value) throws -> Value {
        let decoder = decoder
        return try next(Value.self) { entry, key in
            try decoder.read(entry, at: key) { entry throws(JSONMisfit) in try body(decoder.document, entry) }
        }
    }

    @inline(__always)
    private mutating func readIfPresent<Value>(
        _ body: (JSONDocument, Int) throws(JSONMisfit) -> Value
    ) throws -> Value? {
        let decoder = decoder
        return try nextIfPresent { entry, key in
            try decoder.read(entry, at: key) { entry throws(JSONMisfit) in try body(decoder.document, entry) }
        }
    }

    @inline(__always)
    private mutating func integer<Value: FixedWidthInteger>() throws -> Value {
        try read { document, entry throws(JSONMisfit) in try document.integer(entry) }
    }

    @inline(__always)
    private mutating func integerIfPresent<Value: FixedWidthInteger>() throws -> Value? {
        try readIfPresent { document, entry throws(JSONMisfit) in try document.integer(entry) }
    }

    mutating func decodeNil() throws -> Bool {
        try require(Never.self)
        guard decoder.document[entry].isNull else { return false }
        try advance()
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool {
        try read { document, entry throws(JSONMisfit) in try document.bool(entry) }
    }
    mutating func decode(_ type: String.Type) throws -> String {
        try read { document, entry throws(JSONMisfit) in try document.string(entry) }
    }
    mutating func decode(_ type: Double.Type) throws -> Double {
        try read { document, entry throws(JSONMisfit) in try document.float(entry) }
    }
    mutating func decode(_ type: Float.Type) throws -> Float {
        try read { document, entry throws(JSONMisfit) in try document.float(entry) }
    }
    mutating func decode(_ type: Int.Type) throws -> Int { try integer() }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try integer() }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try integer() }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let decoder = decoder
        return try next(type) { try decoder.value($0, as: type, at: $1) }
    }

    mutating func decodeIfPresent(_ type: Bool.Type) throws -> Bool? {
        try readIfPresent { document, entry throws(JSONMisfit) in try document.bool(entry) }
    }
    mutating func decodeIfPresent(_ type: String.Type) throws -> String? {
        try readIfPresent { document, entry throws(JSONMisfit) in try document.string(entry) }
    }
    mutating func decodeIfPresent(_ type: Double.Type) throws -> Double? {
        try readIfPresent { document, entry throws(JSONMisfit) in try document.float(entry) }
    }
    mutating func decodeIfPresent(_ type: Float.Type) throws -> Float? {
        try readIfPresent { document, entry throws(JSONMisfit) in try document.float(entry) }
    }
    mutating func decodeIfPresent(_ type: Int.Type) throws -> Int? { try integerIfPresent() }
    mutating func decodeIfPresent(_ type: Int8.Type) throws -> Int8? { try integerIfPresent() }
    mutating func decodeIfPresent(_ type: Int16.Type) throws -> Int16? { try integerIfPresent() }
    mutating func decodeIfPresent(_ type: Int32.Type) throws -> Int32? { try integerIfPresent() }
    mutating func decodeIfPresent(_ type: Int64.Type) throws -> Int64? { try integerIfPresent() }
    mutating func decodeIfPresent(_ type: UInt.Type) throws -> UInt? { try integerIfPresent() }
    mutating func decodeIfPresent(_ type: UInt8.Type) throws -> UInt8? { try integerIfPresent() }
    mutating func decodeIfPresent(_ type: UInt16.Type) throws -> UInt16? { try integerIfPresent() }
    mutating func decodeIfPresent(_ type: UInt32.Type) throws -> UInt32? { try integerIfPresent() }
    mutating func decodeIfPresent(_ type: UInt64.Type) throws -> UInt64? { try integerIfPresent() }

    mutating func decodeIfPresent<Value: Decodable>(_ type: Value.Type) throws -> Value? {
        let decoder = decoder
        return try nextIfPresent { try decoder.value($0, as: type, at: $1) }
    }

    mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        let decoder = decoder
        return try next(KeyedDecodingContainer<Key>.self) {
            try decoder.decoder(of: $0, at: $1).container(keyedBy: type)
        }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let decoder = decoder
        return try next((any UnkeyedDecodingContainer).self) {
            try decoder.decoder(of: $0, at: $1).unkeyedContainer()
        }
    }

    mutating func superDecoder() throws -> any Decoder {
        guard currentIndex < size else {
            throw end((any Decoder).self, "Cannot get superDecoder() -- unkeyed container is at end.")
        }
        let decoder = decoder
        return try next((any Decoder).self) { decoder.decoder(of: $0, at: $1) }
    }
}
