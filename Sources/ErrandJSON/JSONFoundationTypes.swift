#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The types that have a form of their own in JSON.
extension JSONValueDecoder {
    func date(_ entry: Int, at key: some CodingKey) throws -> Date {
        try requireValue(Date.self, entry, at: key)
        switch document.options.dateDecodingStrategy.kind {
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
        switch document.options.dataDecodingStrategy.kind {
        case .deferredToData: return try withDecoder(of: entry, at: key) { try Data(from: $0) }
        case .base64:
            if let data = try? Data.read(entry, in: document) { return data }
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
        do throws(JSONMisfit) {
            return try Decimal.read(entry, in: document)
        } catch .fault(let reason) {
            throw document.error(reason, at: entry)
        } catch {
            throw DecodingError.typeMismatch(
                Decimal.self, DecodingError.Context(codingPath: path(to: key), debugDescription: ""))
        }
    }

    private func text(_ entry: Int, at key: some CodingKey) throws -> String {
        try read(entry, at: key) { entry throws(JSONMisfit) in try document.string(entry) }
    }

    @inline(__always)
    private func requireValue(_ type: Any.Type, _ entry: Int, at key: some CodingKey) throws {
        if document[entry].isNull { throw error(.null, type, entry, at: key) }
    }
}
