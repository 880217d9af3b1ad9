public import ErrandJSON
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

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
    public static func json(
        keys: FastJSONDecoder.KeyDecodingStrategy = .useDefaultKeys, dates: JSONDates = .iso8601
    ) -> FastJSONDecoder {
        var decoder = FastJSONDecoder()
        decoder.keyDecodingStrategy = keys
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
    public static func json(
        keys: JSONEncoder.KeyEncodingStrategy = .useDefaultKeys, dates: JSONDates = .iso8601
    ) -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = keys
        switch dates.form {
        case .iso8601: encoder.dateEncodingStrategy = .iso8601
        case .seconds: encoder.dateEncodingStrategy = .secondsSince1970
        case .milliseconds: encoder.dateEncodingStrategy = .millisecondsSince1970
        }
        return encoder
    }
}

extension FastJSONDecoder.KeyDecodingStrategy {
    /// Names with underscores in JSON: `releaseDate` is `release_date`. The same as `convertFromSnakeCase`.
    public static var snakeCase: Self { .convertFromSnakeCase }
}

extension JSONEncoder.KeyEncodingStrategy {
    /// Names with underscores in JSON: `releaseDate` is `release_date`. The same as `convertToSnakeCase`.
    public static var snakeCase: Self { .convertToSnakeCase }
}
