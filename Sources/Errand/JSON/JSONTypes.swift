#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension JSONValueDecoder {
    /// Decodes a value in this one.
    ///
    /// The types that are read without their initializers come first, the frequent ones before the others. A comparison
    /// of types costs about a nanosecond.
    func value<Value: Decodable>(_ entry: Int, as type: Value.Type, at key: some CodingKey) throws -> Value {
        if type == String.self {
            return cast(try read(entry, at: key) { entry throws(JSONMisfit) in try document.string(entry) })
        }
        if type == Int.self { return cast(try readInteger(entry, at: key) as Int) }
        if type == Double.self { return cast(try readFloat(entry, at: key) as Double) }
        // Where an element does not fit, the initializer of the array finds the same, and reports it with its path.
        if document[entry].kind == .array {
            if type == [String].self, let strings = try strings(entry) { return cast(strings) }
            if type == [Double].self, let numbers = try doubles(entry) { return cast(numbers) }
            if type == [[Double]].self, let rows = try rows(entry) { return cast(rows) }
            if type == [Int].self, let numbers = try integers(entry) { return cast(numbers) }
        }
        if type == Date.self { return cast(try date(entry, at: key)) }
        if type == URL.self { return cast(try url(entry, at: key)) }
        if type == Data.self { return cast(try data(entry, at: key)) }
        if type == Decimal.self { return cast(try decimal(entry, at: key)) }
        if document.changesKeys, let dictionary = stringKeyed(type) {
            return try self.dictionary(dictionary, entry, at: key)
        }
        return try withDecoder(of: entry, at: key) { try Value(from: $0) }
    }

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

    /// Reads an array of values that have one entry each; `nil` if it has others.
    @inline(__always)
    private func array<Element>(_ entry: Int, _ body: (Int) throws(JSONMisfit) -> Element) throws -> [Element]? {
        let end = entry + 1 + document[entry].length
        var elements: [Element] = []
        elements.reserveCapacity(end - entry - 1)
        for start in stride(from: entry + 1, to: end, by: Self.elementsBetweenSteps) {
            try document.step()
            for index in start..<min(start + Self.elementsBetweenSteps, end) {
                do throws(JSONMisfit) { elements.append(try body(index)) } catch { return nil }
            }
        }
        return elements
    }

    /// These take about as long as a step elsewhere.
    private static var elementsBetweenSteps: Int { 64 }

    private func strings(_ entry: Int) throws -> [String]? {
        try array(entry) { entry throws(JSONMisfit) in try document.string(entry) }
    }

    private func doubles(_ entry: Int) throws -> [Double]? {
        try array(entry) { entry throws(JSONMisfit) in try document.float(entry) }
    }

    private func integers(_ entry: Int) throws -> [Int]? {
        try array(entry) { entry throws(JSONMisfit) in try document.integer(entry) }
    }

    private func rows(_ entry: Int) throws -> [[Double]]? {
        let document = document
        var rows: [[Double]] = []
        rows.reserveCapacity(document[entry].length)
        var index = entry + 1
        while index < document[entry].place {
            guard document[index].kind == .array, let row = try doubles(index) else { return nil }
            rows.append(row)
            index = document[index].place
        }
        return rows
    }
}
