extension JSONValueDecoder: SingleValueDecodingContainer {
    @inline(__always)
    private func integer<Value: FixedWidthInteger>() throws -> Value {
        try read(entry, at: JSONPathKey.none) { entry throws(JSONMisfit) in try document.integer(entry) }
    }

    func decodeNil() -> Bool { document[entry].isNull }

    func decode(_ type: Bool.Type) throws -> Bool {
        try read(entry, at: JSONPathKey.none) { entry throws(JSONMisfit) in try document.bool(entry) }
    }
    func decode(_ type: String.Type) throws -> String {
        try read(entry, at: JSONPathKey.none) { entry throws(JSONMisfit) in try document.string(entry) }
    }
    func decode(_ type: Double.Type) throws -> Double {
        try read(entry, at: JSONPathKey.none) { entry throws(JSONMisfit) in try document.float(entry) }
    }
    func decode(_ type: Float.Type) throws -> Float {
        try read(entry, at: JSONPathKey.none) { entry throws(JSONMisfit) in try document.float(entry) }
    }
    func decode(_ type: Int.Type) throws -> Int { try integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: Int128.Type) throws -> Int128 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
    func decode(_ type: UInt128.Type) throws -> UInt128 { try integer() }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try value(entry, as: type, at: JSONPathKey.none)
    }
}
