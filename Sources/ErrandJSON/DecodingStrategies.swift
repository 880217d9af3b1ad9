#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FastJSONDecoder {
    /// The conversion of keys in JSON before they are compared with those of a model.
    ///
    /// The keys of a dictionary are never converted.
    public enum KeyDecodingStrategy: Sendable {
        /// The keys as they are.
        case useDefaultKeys
        /// `release_date` is `releaseDate`. Underscores at the beginning and at the end stay.
        case convertFromSnakeCase
        /// The key that a closure returns for the path to a member.
        case custom(@Sendable (_ codingPath: [any CodingKey]) -> any CodingKey)
    }

    /// The format of dates.
    public enum DateDecodingStrategy: Sendable {
        /// What `Date` itself decodes: a number of seconds since 2001.
        case deferredToDate
        /// A number of seconds since 1970.
        case secondsSince1970
        /// A number of milliseconds since 1970.
        case millisecondsSince1970
        /// A text like `2026-11-22T10:30:00Z`.
        case iso8601
        /// A text like `2026-11-22T10:30:00Z` or `2026-11-22T10:30:00.250Z`.
        case iso8601WithOptionalFractions
        /// What a closure decodes.
        case custom(@Sendable (_ decoder: any Decoder) throws -> Date)
    }

    /// The format of `Data`.
    public enum DataDecodingStrategy: Sendable {
        /// What `Data` itself decodes: an array of bytes.
        case deferredToData
        /// A text in Base64.
        case base64
        /// What a closure decodes.
        case custom(@Sendable (_ decoder: any Decoder) throws -> Data)
    }

    /// The strings that stand for infinity and for what is not a number.
    public enum NonConformingFloatDecodingStrategy: Sendable {
        /// No strings: numbers are numbers.
        case `throw`
        /// These strings, in place of a number.
        case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
    }
}
