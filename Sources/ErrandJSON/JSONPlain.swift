/// A type whose values have one entry on the tape each, and are read without a decoder.
///
/// The methods for collections are requirements, so that each type has a copy of them that the compiler has
/// specialized: a loop that asks a witness for every element takes several times as long. They return `nil` where an
/// element does not fit. The collection is then decoded element by element, which reports that with its path.
protocol JSONPlain: Decodable, SendableMetatype {
    static func read(_ entry: Int, in document: JSONDocument) throws(JSONMisfit) -> Self

    static func list(_ entry: Int, in document: JSONDocument) throws -> [Self]?
    static func optionals(_ entry: Int, in document: JSONDocument) throws -> [Self?]?
    static func rows(_ entry: Int, in document: JSONDocument) throws -> [[Self]]?
    static func members(_ entry: Int, in document: JSONDocument) throws -> [String: Self]?
    static func numbered(_ entry: Int, in document: JSONDocument) throws -> [Int: Self]?
}

extension JSONPlain {
    static func list(_ entry: Int, in document: JSONDocument) throws -> [Self]? {
        try document.elements(of: entry) { entry throws(JSONMisfit) in try read(entry, in: document) }
    }

    static func optionals(_ entry: Int, in document: JSONDocument) throws -> [Self?]? {
        try document.elements(of: entry) { entry throws(JSONMisfit) in
            document[entry].isNull ? nil : try read(entry, in: document)
        }
    }

    static func rows(_ entry: Int, in document: JSONDocument) throws -> [[Self]]? {
        var rows: [[Self]] = []
        rows.reserveCapacity(document[entry].length)
        let end = document[entry].place
        var index = entry + 1
        while index < end {
            guard document[index].kind == .array, let row = try list(index, in: document) else { return nil }
            rows.append(row)
            index = document[index].place
        }
        return rows
    }

    @_semantics("optimize.sil.specialize.generic.never")
    static func members(_ entry: Int, in document: JSONDocument) throws -> [String: Self]? {
        var members = [String: Self](minimumCapacity: document[entry].length)
        let end = document[entry].place
        for key in stride(from: entry + 1, to: end, by: 2) {
            try document.step()
            do throws(JSONMisfit) {
                let name = try document.string(key)
                let value = try read(key + 1, in: document)
                // The first of several members with the same key counts.
                if let first = members.updateValue(value, forKey: name) { members[name] = first }
            } catch {
                return nil
            }
        }
        return members
    }

    @_semantics("optimize.sil.specialize.generic.never")
    static func numbered(_ entry: Int, in document: JSONDocument) throws -> [Int: Self]? {
        // A strategy applies to these keys.
        guard !document.changesKeys else { return nil }
        var members = [Int: Self](minimumCapacity: document[entry].length)
        let end = document[entry].place
        for key in stride(from: entry + 1, to: end, by: 2) {
            try document.step()
            do throws(JSONMisfit) {
                let value = try read(key + 1, in: document)
                // Which one counts of several members with the same number, the initializer decides.
                guard let number = Int(try document.string(key)), members.updateValue(value, forKey: number) == nil
                else { return nil }
            } catch {
                return nil
            }
        }
        return members
    }
}

extension JSONDocument {
    /// These take about as long as a step elsewhere.
    private static var elementsBetweenSteps: Int { 64 }

    /// Reads an array of values that have one entry each; `nil` if one does not fit.
    @inline(__always)
    fileprivate func elements<Element>(
        of array: Int, _ body: (Int) throws(JSONMisfit) -> Element
    ) throws -> [Element]? {
        let end = array + 1 + self[array].length
        var elements: [Element] = []
        elements.reserveCapacity(end - array - 1)
        for start in stride(from: array + 1, to: end, by: Self.elementsBetweenSteps) {
            try step()
            for index in start..<min(start + Self.elementsBetweenSteps, end) {
                do throws(JSONMisfit) { elements.append(try body(index)) } catch { return nil }
            }
        }
        return elements
    }
}

// The lists of the most frequent types name what reads an element, so that it is a part of the loop.

extension JSONPlain where Self: FixedWidthInteger {
    @inline(__always)
    static func read(_ entry: Int, in document: JSONDocument) throws(JSONMisfit) -> Self { try document.integer(entry) }

    static func list(_ entry: Int, in document: JSONDocument) throws -> [Self]? {
        try document.elements(of: entry) { entry throws(JSONMisfit) in try document.integer(entry) }
    }
}

extension JSONPlain where Self: JSONFloat {
    @inline(__always)
    static func read(_ entry: Int, in document: JSONDocument) throws(JSONMisfit) -> Self { try document.float(entry) }

    static func list(_ entry: Int, in document: JSONDocument) throws -> [Self]? {
        try document.elements(of: entry) { entry throws(JSONMisfit) in try document.float(entry) }
    }
}

extension String: JSONPlain {
    @inline(__always)
    static func read(_ entry: Int, in document: JSONDocument) throws(JSONMisfit) -> String {
        try document.string(entry)
    }

    static func list(_ entry: Int, in document: JSONDocument) throws -> [String]? {
        try document.elements(of: entry) { entry throws(JSONMisfit) in try document.string(entry) }
    }
}

extension Bool: JSONPlain {
    @inline(__always)
    static func read(_ entry: Int, in document: JSONDocument) throws(JSONMisfit) -> Bool { try document.bool(entry) }
}

extension Double: JSONPlain {}
extension Float: JSONPlain {}
extension Int: JSONPlain {}
extension Int8: JSONPlain {}
extension Int16: JSONPlain {}
extension Int32: JSONPlain {}
extension Int64: JSONPlain {}
extension Int128: JSONPlain {}
extension UInt: JSONPlain {}
extension UInt8: JSONPlain {}
extension UInt16: JSONPlain {}
extension UInt32: JSONPlain {}
extension UInt64: JSONPlain {}
extension UInt128: JSONPlain {}
