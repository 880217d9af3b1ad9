import Errand
#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A document and the type that it is decoded as, by `FastJSONDecoder` and by `JSONDecoder`.
struct JSONModel: Sendable {
    let name: String
    let size: Int
    let ours: @Sendable () throws -> Void
    let theirs: @Sendable () throws -> Void
    /// Whether both decoders get the same value.
    let isEqual: @Sendable () throws -> Bool

    init<Value: Decodable & Equatable & SendableMetatype>(
        _ name: String, _ data: Data, _ type: Value.Type, datesAreTexts: Bool = false, keysAreSnakeCase: Bool = false
    ) {
        var fast = FastJSONDecoder()
        if datesAreTexts { fast.dateDecodingStrategy = .iso8601 }
        if keysAreSnakeCase { fast.keyDecodingStrategy = .convertFromSnakeCase }
        let decoder = fast
        @Sendable func decode() throws -> Value { try decoder.decode(type, from: data) }
        @Sendable func decodeByFoundation() throws -> Value {
            let decoder = JSONDecoder()
            if datesAreTexts { decoder.dateDecodingStrategy = .iso8601 }
            if keysAreSnakeCase { decoder.keyDecodingStrategy = .convertFromSnakeCase }
            return try decoder.decode(type, from: data)
        }
        self.name = name
        size = data.count
        ours = { _ = try decode() }
        theirs = { _ = try decodeByFoundation() }
        isEqual = { try decode() == decodeByFoundation() }
    }
}
