#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A collection of plain values, by its type.
///
/// A table finds the reader in the time of one lookup. To ask a type for a conformance takes several times as long, and
/// scans every conformance of the program for each type that has none.
struct JSONPlainCollection {
    private enum Shape { case list, optionals, rows, members, numbered }

    private let element: any JSONPlain.Type
    private let shape: Shape

    private static let all: [ObjectIdentifier: JSONPlainCollection] = {
        var all: [ObjectIdentifier: JSONPlainCollection] = [:]
        func add<Element: JSONPlain>(_ type: Element.Type) {
            all[ObjectIdentifier([Element].self)] = JSONPlainCollection(element: type, shape: .list)
            all[ObjectIdentifier([Element?].self)] = JSONPlainCollection(element: type, shape: .optionals)
            all[ObjectIdentifier([[Element]].self)] = JSONPlainCollection(element: type, shape: .rows)
            all[ObjectIdentifier([String: Element].self)] = JSONPlainCollection(element: type, shape: .members)
            all[ObjectIdentifier([Int: Element].self)] = JSONPlainCollection(element: type, shape: .numbered)
        }
        let types: [any JSONPlain.Type] = [
            Bool.self, String.self, Double.self, Float.self, Int.self, Int8.self, Int16.self, Int32.self, Int64.self,
            Int128.self, UInt.self, UInt8.self, UInt16.self, UInt32.self, UInt64.self, UInt128.self, Decimal.self,
            URL.self, UUID.self, Data.self,
        ]
        for type in types { add(type) }
        return all
    }()

    /// Returns the collection of a type; `nil` for any other type.
    @inline(__always)
    static func of(_ type: Any.Type) -> JSONPlainCollection? { all[ObjectIdentifier(type)] }

    /// Whether an entry is that of an array or an object, as the type demands.
    func fits(_ entry: JSONEntry) -> Bool {
        switch shape {
        case .list, .optionals, .rows: entry.kind == .array
        case .members, .numbered: entry.isObject
        }
    }

    /// Reads a collection of the type that this one is of; `nil` if an element does not fit.
    func read<Value>(_ entry: Int, in document: JSONDocument) throws -> Value? {
        try read(entry, in: document, of: element)
    }

    private func read<Element: JSONPlain, Value>(
        _ entry: Int, in document: JSONDocument, of element: Element.Type
    ) throws -> Value? {
        switch shape {
        case .list: try Element.list(entry, in: document).map { unsafeBitCast($0, to: Value.self) }
        case .optionals: try Element.optionals(entry, in: document).map { unsafeBitCast($0, to: Value.self) }
        case .rows: try Element.rows(entry, in: document).map { unsafeBitCast($0, to: Value.self) }
        case .members: try Element.members(entry, in: document).map { unsafeBitCast($0, to: Value.self) }
        case .numbered: try Element.numbered(entry, in: document).map { unsafeBitCast($0, to: Value.self) }
        }
    }
}
