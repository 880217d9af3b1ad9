#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension FastJSONDecoder {
    /// The conversion of keys in JSON before they are compared with those of a model.
    ///
    /// The keys of a dictionary are never converted.
    public struct KeyDecodingStrategy: Sendable {
        package enum Kind: Sendable {
            case useDefaultKeys, convertFromSnakeCase
            case custom(@Sendable (_ codingPath: [any CodingKey]) -> any CodingKey)
        }

        package let kind: Kind

        /// The keys as they are.
        public static let useDefaultKeys = KeyDecodingStrategy(kind: .useDefaultKeys)
        /// `release_date` is `releaseDate`. Underscores at the beginning and at the end stay.
        public static let convertFromSnakeCase = KeyDecodingStrategy(kind: .convertFromSnakeCase)
        /// The key that a closure returns for the path to a member.
        public static func custom(
            _ convert: @escaping @Sendable (_ codingPath: [any CodingKey]) -> any CodingKey
        ) -> KeyDecodingStrategy {
            KeyDecodingStrategy(kind: .custom(convert))
        }
    }

    /// The format of dates.
    public struct DateDecodingStrategy: Sendable {
        package enum Kind: Sendable {
            case deferredToDate, secondsSince1970, millisecondsSince1970, iso8601, iso8601WithOptionalFractions
            case custom(@Sendable (_ decoder: any Decoder) throws -> Date)
        }

        package let kind: Kind

        /// What `Date` itself decodes: a number of seconds since 2001.
        public static let deferredToDate = DateDecodingStrategy(kind: .deferredToDate)
        /// A number of seconds since 1970.
        public static let secondsSince1970 = DateDecodingStrategy(kind: .secondsSince1970)
        /// A number of milliseconds since 1970.
        public static let millisecondsSince1970 = DateDecodingStrategy(kind: .millisecondsSince1970)
        /// A text like `2026-11-22T10:30:00Z`.
        public static let iso8601 = DateDecodingStrategy(kind: .iso8601)
        /// A text like `2026-11-22T10:30:00Z` or `2026-11-22T10:30:00.250Z`.
        public static let iso8601WithOptionalFractions = DateDecodingStrategy(kind: .iso8601WithOptionalFractions)
        /// What a closure decodes.
        public static func custom(
            _ decode: @escaping @Sendable (_ decoder: any Decoder) throws -> Date
        ) -> DateDecodingStrategy {
            DateDecodingStrategy(kind: .custom(decode))
        }
    }

    /// The format of `Data`.
    public struct DataDecodingStrategy: Sendable {
        package enum Kind: Sendable {
            case deferredToData, base64
            case custom(@Sendable (_ decoder: any Decoder) throws -> Data)
        }

        package let kind: Kind

        /// What `Data` itself decodes: an array of bytes.
        public static let deferredToData = DataDecodingStrategy(kind: .deferredToData)
        /// A text in Base64.
        public static let base64 = DataDecodingStrategy(kind: .base64)
        /// What a closure decodes.
        public static func custom(
            _ decode: @escaping @Sendable (_ decoder: any Decoder) throws -> Data
        ) -> DataDecodingStrategy {
            DataDecodingStrategy(kind: .custom(decode))
        }
    }

    /// The strings that stand for infinity and for what is not a number.
    public struct NonConformingFloatDecodingStrategy: Sendable {
        package enum Kind: Sendable {
            case `throw`
            case convertFromString(positiveInfinity: String, negativeInfinity: String, nan: String)
        }

        package let kind: Kind

        /// No strings: numbers are numbers.
        public static let `throw` = NonConformingFloatDecodingStrategy(kind: .throw)
        /// These strings, in place of a number.
        public static func convertFromString(
            positiveInfinity: String, negativeInfinity: String, nan: String
        ) -> NonConformingFloatDecodingStrategy {
            NonConformingFloatDecodingStrategy(
                kind: .convertFromString(
                    positiveInfinity: positiveInfinity, negativeInfinity: negativeInfinity, nan: nan))
        }
    }
}
