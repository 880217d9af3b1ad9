#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension JSONValueDecoder {
    /// Decodes a value in this one.
    ///
    /// The types that are read without their initializers come first, the frequent ones before the others. A comparison
    /// of types costs a nanosecond or two, so most models and enumerations are distinguished from these types by their
    /// size.
    func value<Value: Decodable>(_ entry: Int, as type: Value.Type, at key: some CodingKey) throws -> Value {
        if type == String.self {
            return cast(try read(entry, at: key) { entry throws(JSONMisfit) in try document.string(entry) })
        }
        if type == Int.self { return cast(try readInteger(entry, at: key) as Int) }
        if type == Double.self { return cast(try readFloat(entry, at: key) as Double) }
        let kind = document[entry].kind
        if kind == .array {
            if type == [String].self { return try list(of: String.self, entry, as: type, at: key) }
            if type == [Double].self { return try list(of: Double.self, entry, as: type, at: key) }
            if type == [[Double]].self { return try rows(entry, as: type, at: key) }
            if type == [Int].self { return try list(of: Int.self, entry, as: type, at: key) }
        }
        let size = MemoryLayout<Value>.size
        if size < MemoryLayout<Int>.size {
            if kind.isPlain { return try plain(entry, as: type, at: key) }
        } else if size <= Self.largestKnown {
            if Self.isFoundationType(type) { return try foundationValue(entry, as: type, at: key) }
            if kind.isPlain { return try plain(entry, as: type, at: key) }
            if size == MemoryLayout<Int>.size, kind.isContainer || document.changesKeys,
                !document.isModel(type, of: kind)
            {
                return try collection(entry, as: type, at: key)
            }
        }
        if isRoot(for: key) { return try withSelf { try Value(from: $0) } }
        return try withDecoder(of: entry, at: key) { try Value(from: $0) }
    }

    /// No type that is read without its initializer is larger, and a collection is as large as a pointer.
    private static var largestKnown: Int { 24 }

    /// Returns a value as the type that it has been found to be.
    @inline(__always)
    private func cast<Value, Other>(_ value: Value) -> Other { unsafeBitCast(value, to: Other.self) }

    @inline(__always)
    private func readInteger<Value: FixedWidthInteger>(_ entry: Int, at key: some CodingKey) throws -> Value {
        try read(entry, at: key) { entry throws(JSONMisfit) in try document.integer(entry) }
    }

    @inline(__always)
    func readFloat<Value: JSONFloat>(_ entry: Int, at key: some CodingKey) throws -> Value {
        try read(entry, at: key) { entry throws(JSONMisfit) in try document.float(entry) }
    }

    // A value within values needs the stack of all functions that lead to it, and a build that is not optimized keeps a
    // place for each step of a function. So what is read without going deeper is apart from `value`. These functions
    // return no optional, since one of a type that is not known is slow.

    @inline(never)
    private func list<Element: JSONPlain, Value: Decodable>(
        of element: Element.Type, _ entry: Int, as type: Value.Type, at key: some CodingKey
    ) throws -> Value {
        if let elements = try Element.list(entry, in: document) { return cast(elements) }
        return try collection(entry, as: type, at: key)
    }

    @inline(never)
    private func rows<Value: Decodable>(_ entry: Int, as type: Value.Type, at key: some CodingKey) throws -> Value {
        if let rows = try Double.rows(entry, in: document) { return cast(rows) }
        return try collection(entry, as: type, at: key)
    }

    @inline(__always)
    private static func isFoundationType(_ type: Any.Type) -> Bool {
        type == Date.self || type == URL.self || type == Data.self || type == Decimal.self || type == UUID.self
    }

    @inline(never)
    private func foundationValue<Value: Decodable>(
        _ entry: Int, as type: Value.Type, at key: some CodingKey
    ) throws -> Value {
        if type == Date.self { return cast(try date(entry, at: key)) }
        if type == URL.self { return cast(try url(entry, at: key)) }
        if type == Data.self { return cast(try data(entry, at: key)) }
        if type == Decimal.self { return cast(try decimal(entry, at: key)) }
        // A text that is not written as usual is left to the initializer.
        if type == UUID.self, let uuid = try? UUID.read(entry, in: document) { return cast(uuid) }
        return try model(entry, as: type, at: key)
    }

    /// Decodes a value by its initializer.
    @inline(never)
    private func model<Value: Decodable>(_ entry: Int, as type: Value.Type, at key: some CodingKey) throws -> Value {
        try withDecoder(of: entry, at: key) { try Value(from: $0) }
    }

    /// Decodes what may be a collection. A collection of plain values that has others is decoded element by element,
    /// which reports them with their paths.
    @inline(never)
    private func collection<Value: Decodable>(
        _ entry: Int, as type: Value.Type, at key: some CodingKey
    ) throws -> Value {
        guard let collection = JSONPlainCollection.of(type), collection.fits(document[entry]) else {
            return try collectionOrModel(entry, as: type, at: key)
        }
        return try collection.read(entry, in: document) ?? collectionOrModel(entry, as: type, at: key)
    }

    @inline(never)
    private func collectionOrModel<Value: Decodable>(
        _ entry: Int, as type: Value.Type, at key: some CodingKey
    ) throws -> Value {
        if let collection = document.collection(type, for: document[entry]) {
            return try self.collection(collection, entry, at: key)
        }
        if JSONPlainCollection.of(type) == nil { document.rememberModel(type, of: document[entry].kind) }
        return try model(entry, as: type, at: key)
    }

    /// Decodes a number or truth value. Where the type does not fit, its initializer reports it.
    @inline(never)
    private func plain<Value: Decodable>(_ entry: Int, as type: Value.Type, at key: some CodingKey) throws -> Value {
        if type == Bool.self, let value = try? Bool.read(entry, in: document) { return cast(value) }
        if type == Float.self, let value = try? Float.read(entry, in: document) { return cast(value) }
        if type == Int64.self, let value = try? Int64.read(entry, in: document) { return cast(value) }
        if type == Int32.self, let value = try? Int32.read(entry, in: document) { return cast(value) }
        if type == UInt.self, let value = try? UInt.read(entry, in: document) { return cast(value) }
        if type == UInt64.self, let value = try? UInt64.read(entry, in: document) { return cast(value) }
        if type == UInt32.self, let value = try? UInt32.read(entry, in: document) { return cast(value) }
        if type == UInt8.self, let value = try? UInt8.read(entry, in: document) { return cast(value) }
        return try model(entry, as: type, at: key)
    }
}
