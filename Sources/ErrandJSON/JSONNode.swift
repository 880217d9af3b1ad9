#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A value in a document, for code that takes any kind of value: the kind is on the tape, so that no type has to be
/// tried.
///
/// It is for the time of one decoding: it does not keep the bytes of its document.
package struct JSONNode {
    private let document: JSONDocument
    private let entry: Int

    init(_ document: JSONDocument, _ entry: Int) {
        self.document = document
        self.entry = entry
    }

    var kind: JSONEntry.Kind { document[entry].kind }
    package var isNull: Bool { kind == .null }
    package var isArray: Bool { kind == .array }
    package var isObject: Bool { document[entry].isObject }
    /// The number of elements or members.
    var count: Int { document[entry].length }

    /// Returns the text; `nil` if this is none.
    package func text() throws -> String? {
        try reading { () throws(JSONMisfit) in document[entry].isText ? try document.string(entry) : nil }
    }

    /// The bytes of `null`, of a truth value or of a number, as they are in the document; `nil` if this is none.
    package var token: String? {
        switch kind {
        case .null: return "null"
        case .no: return "false"
        case .yes: return "true"
        case .integer, .number:
            let entry = document[entry]
            let bytes = UnsafeBufferPointer(start: document.bytes + entry.place, count: entry.length)
            return String(decoding: bytes, as: UTF8.self)
        case .ascii, .unicode, .escaped, .array, .object, .irregularObject: return nil
        }
    }

    /// Returns the number, if it has no fraction and fits; otherwise `nil`.
    package func integer() -> Int? {
        // Why a number is none is of no interest: it may be another kind of number.
        try? document.integer(entry)
    }

    /// Returns the number, or the one that a text stands for; `nil` if this is neither.
    package func number() throws -> Double? {
        try reading { () throws(JSONMisfit) in
            do throws(JSONMisfit) {
                return try document.float(entry)
            } catch {
                guard case .fault = error else { return nil }
                throw error
            }
        }
    }

    /// Calls the closure with each element of an array, or with so many of the first.
    package func forEachElement(atMost limit: Int = .max, _ body: (JSONNode) throws -> Void) throws {
        guard kind == .array else { return }
        var index = entry + 1
        for _ in 0..<min(count, limit) {
            try document.step()
            try body(JSONNode(document, index))
            index = document.index(after: index)
        }
    }

    /// Calls the closure with the key and the value of each member of an object, in the order of the document.
    package func forEachMember(_ body: (String, JSONNode) throws -> Void) throws {
        guard isObject else { return }
        var index = entry + 1
        for _ in 0..<count {
            try document.step()
            let key = try JSONNode(document, index).text() ?? ""
            try body(key, JSONNode(document, index + 1))
            index = document.index(after: index + 1)
        }
    }

    private func reading<Value>(_ body: () throws(JSONMisfit) -> Value) throws -> Value {
        do throws(JSONMisfit) {
            return try body()
        } catch .fault(let reason) {
            throw document.error(reason, at: entry)
        } catch {
            // Only what the kind allows is read.
            throw document.error(.unrepresentable, at: entry)
        }
    }
}

extension JSONValueDecoder {
    /// The value, for code that takes any kind of value.
    var node: JSONNode { JSONNode(document, entry) }
}

extension FastJSONDecoder {
    /// Calls the closure with the value of a document.
    package func read<Value>(_ data: Data, _ body: (JSONNode) throws -> Value) throws -> Value {
        try decoding(data) { decoder in try body(decoder.node) }
    }
}
