#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The types that have a form of their own in JSON.
extension JSONValueDecoder {
    func date(_ entry: Int, at key: some CodingKey) throws -> Date {
        try requireValue(Date.self, entry, at: key)
        switch document.options.dateDecodingStrategy {
        case .deferredToDate: return Date(timeIntervalSinceReferenceDate: try readFloat(entry, at: key))
        case .secondsSince1970: return Date(timeIntervalSince1970: try readFloat(entry, at: key))
        case .millisecondsSince1970:
            let milliseconds: Double = try readFloat(entry, at: key)
            return Date(timeIntervalSince1970: milliseconds / 1000)
        case .iso8601:
            guard let date = Date(iso8601: try text(entry, at: key), withFractions: false) else {
                throw corrupted("Expected date string to be ISO8601-formatted.", at: key)
            }
            return date
        case .iso8601WithOptionalFractions:
            guard let date = Date(iso8601: try text(entry, at: key), withFractions: true) else {
                throw corrupted("a text that is no date by ISO 8601", at: key)
            }
            return date
        case .custom(let decode): return try withDecoder(of: entry, at: key) { try decode($0) }
        }
    }

    func data(_ entry: Int, at key: some CodingKey) throws -> Data {
        try requireValue(Data.self, entry, at: key)
        switch document.options.dataDecodingStrategy {
        case .deferredToData: return try withDecoder(of: entry, at: key) { try Data(from: $0) }
        case .base64:
            guard let data = Data(base64Encoded: try text(entry, at: key)) else {
                throw corrupted("Encountered Data is not valid Base64.", at: key)
            }
            return data
        case .custom(let decode): return try withDecoder(of: entry, at: key) { try decode($0) }
        }
    }

    func url(_ entry: Int, at key: some CodingKey) throws -> URL {
        try requireValue(URL.self, entry, at: key)
        guard let url = URL(string: try text(entry, at: key)) else { throw corrupted("Invalid URL string.", at: key) }
        return url
    }

    func decimal(_ entry: Int, at key: some CodingKey) throws -> Decimal {
        try requireValue(Decimal.self, entry, at: key)
        let value = document[entry]
        guard value.kind == .integer || value.kind == .number else {
            throw DecodingError.typeMismatch(
                Decimal.self, DecodingError.Context(codingPath: path(to: key), debugDescription: ""))
        }
        let bytes = document.bytes(of: value)
        guard JSONNumber(bytes) != nil else { throw document.error(.malformedNumber, at: entry) }
        guard let decimal = Decimal(string: String(decoding: bytes, as: UTF8.self)) else {
            throw document.error(.unrepresentable, at: entry)
        }
        return decimal
    }

    /// Returns the type as that of a dictionary whose keys are strings; `nil` for any other.
    @inline(never)
    func stringKeyed(_ type: any Decodable.Type) -> (any StringKeyed.Type)? {
        let id = ObjectIdentifier(type)
        // Asking for a conformance is slow.
        guard document.stringKeyedTypes[id] ?? true else { return nil }
        let dictionary = type as? any StringKeyed.Type
        if dictionary == nil { document.stringKeyedTypes[id] = false }
        return dictionary
    }

    /// Decodes a dictionary to whose keys no key strategy applies.
    @inline(never)
    func dictionary<Value>(_ type: any StringKeyed.Type, _ entry: Int, at key: some CodingKey) throws -> Value {
        if document[entry].isNull { throw error(.null, [String: Any].self, entry, at: key) }
        try requireObject(entry, at: key)
        let dictionary = try withDecoder(of: entry, at: key) { try type.init(membersOf: $0) }
        // It is an instance of that type.
        guard let value = dictionary as? Value else { throw error(.otherType, Value.self, entry, at: key) }
        return value
    }

    private func text(_ entry: Int, at key: some CodingKey) throws -> String {
        try read(entry, at: key) { entry throws(JSONMisfit) in try document.string(entry) }
    }

    @inline(__always)
    private func requireValue(_ type: Any.Type, _ entry: Int, at key: some CodingKey) throws {
        if document[entry].isNull { throw error(.null, type, entry, at: key) }
    }
}

/// A dictionary whose keys are strings.
protocol StringKeyed {
    init(membersOf decoder: JSONValueDecoder) throws
}

extension Dictionary: StringKeyed where Key == String, Value: Decodable {
    init(membersOf decoder: JSONValueDecoder) throws {
        self.init(minimumCapacity: decoder.document[decoder.entry].length)
        let document = decoder.document
        var index = decoder.entry + 1
        while index < document[decoder.entry].place {
            try document.step()
            let name = try decoder.read(index, at: JSONPathKey.none) { index throws(JSONMisfit) in
                try document.string(index)
            }
            let value = try decoder.value(index + 1, as: Value.self, at: JSONPathKey.name(name))
            if self[name] == nil { self[name] = value }
            index = document.index(after: index + 1)
        }
    }
}
