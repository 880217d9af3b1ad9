public import ErrandJSON
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The spelling of a model's property names in JSON.
public struct JSONKeys: Sendable, Hashable {
    fileprivate let isSnakeCase: Bool

    /// The names of the model, unchanged.
    public static let asWritten = JSONKeys(isSnakeCase: false)
    /// Names with underscores: `releaseDate` is `release_date`.
    public static let snakeCase = JSONKeys(isSnakeCase: true)
}

/// The format of dates in JSON.
public struct JSONDates: Sendable, Hashable {
    fileprivate enum Form {
        case iso8601, seconds, milliseconds
    }

    fileprivate let form: Form

    /// ISO 8601 text, with or without fractions of a second: `2026-11-22T10:30:00Z`. Encoded without fractions.
    public static let iso8601 = JSONDates(form: .iso8601)
    /// The number of seconds since 1970.
    public static let secondsSince1970 = JSONDates(form: .seconds)
    /// The number of milliseconds since 1970.
    public static let millisecondsSince1970 = JSONDates(form: .milliseconds)
}

extension ResponseDecoder where Self == FastJSONDecoder {
    /// Creates a JSON decoder.
    ///
    ///     $0.decoder = .json(keys: .snakeCase, dates: .iso8601)
    public static func json(keys: JSONKeys = .asWritten, dates: JSONDates = .iso8601) -> FastJSONDecoder {
        var decoder = FastJSONDecoder()
        if keys.isSnakeCase { decoder.keyDecodingStrategy = .convertFromSnakeCase }
        decoder.dateDecodingStrategy =
            switch dates.form {
            case .iso8601: .iso8601WithOptionalFractions
            case .seconds: .secondsSince1970
            case .milliseconds: .millisecondsSince1970
            }
        return decoder
    }
}

extension RequestEncoder where Self == JSONEncoder {
    /// Creates a JSON encoder.
    ///
    ///     $0.encoder = .json(keys: .snakeCase, dates: .iso8601)
    public static func json(keys: JSONKeys = .asWritten, dates: JSONDates = .iso8601) -> JSONEncoder {
        let encoder = JSONEncoder()
        if keys.isSnakeCase { encoder.keyEncodingStrategy = .convertToSnakeCase }
        switch dates.form {
        case .iso8601: encoder.dateEncodingStrategy = .iso8601
        case .seconds: encoder.dateEncodingStrategy = .secondsSince1970
        case .milliseconds: encoder.dateEncodingStrategy = .millisecondsSince1970
        }
        return encoder
    }
}
