public import ErrandJSON
#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// The format of dates in JSON.
///
/// An API with several formats has a list of them:
///
///     $0.decoder = .json(dates: [.iso8601, .day])
///
/// A date is read in the first format that it has, and written in the first of the list.
public struct JSONDates: Sendable, Hashable {
    fileprivate enum Form: Sendable {
        case iso8601, wholeSeconds, day, seconds, milliseconds
    }

    /// The formats, of which there is one at least.
    private let forms: [Form]

    /// ISO 8601 text, with or without fractions of a second: `2026-11-22T10:30:00Z`, `2026-11-22T10:30:00.250Z`.
    ///
    /// A date is encoded with milliseconds if it has a fraction, and with microseconds if milliseconds do not hold it.
    public static let iso8601 = JSONDates(forms: [.iso8601])
    /// The same, but encoded without fractions, for servers that refuse them.
    public static let iso8601WholeSeconds = JSONDates(forms: [.wholeSeconds])
    /// A day: `2026-11-22`. The date is the beginning of that day in UTC.
    public static let day = JSONDates(forms: [.day])
    /// The number of seconds since 1970.
    public static let secondsSince1970 = JSONDates(forms: [.seconds])
    /// The number of milliseconds since 1970.
    public static let millisecondsSince1970 = JSONDates(forms: [.milliseconds])
}

extension JSONDates: ExpressibleByArrayLiteral {
    /// Creates a list of formats. An empty one is `.iso8601`.
    public init(arrayLiteral elements: JSONDates...) {
        let forms = elements.flatMap(\.forms)
        self.init(forms: forms.isEmpty ? [.iso8601] : forms)
    }

    /// How dates are read.
    fileprivate var decoding: FastJSONDecoder.DateDecodingStrategy {
        switch forms {
        case [.iso8601], [.wholeSeconds]: .iso8601WithOptionalFractions
        case [.seconds]: .secondsSince1970
        case [.milliseconds]: .millisecondsSince1970
        default: .custom(date)
        }
    }

    /// How dates are written.
    fileprivate var encoding: JSONEncoder.DateEncodingStrategy {
        switch forms.first {
        case .day: .writing { $0.formatted(Self.dayStyle) }
        case .seconds: .secondsSince1970
        case .milliseconds: .millisecondsSince1970
        case .wholeSeconds: .iso8601
        case .iso8601, nil: .writing(\.iso8601Text)
        }
    }

    private static var dayStyle: Date.ISO8601FormatStyle { .iso8601.year().month().day() }

    private func date(from decoder: any Decoder) throws -> Date {
        let container = try decoder.singleValueContainer()
        // An error here says only that the value is of another type.
        let text = try? container.decode(String.self)
        let number = text == nil ? try? container.decode(Double.self) : nil
        for form in forms {
            if let date = form.date(text: text, number: number) { return date }
        }
        let known = forms.map(\.name).joined(separator: ", ")
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "a date in none of the forms: \(known)")
    }
}

extension JSONEncoder.DateEncodingStrategy {
    /// Dates as that text.
    fileprivate static func writing(_ text: @escaping @Sendable (Date) -> String) -> Self {
        .custom { date, encoder in
            var container = encoder.singleValueContainer()
            try container.encode(text(date))
        }
    }
}

extension Date {
    /// The date as ISO 8601 text with as many digits of its fraction as it has, at most six.
    fileprivate var iso8601Text: String {
        let microseconds = (timeIntervalSince1970 * 1_000_000).rounded()
        let seconds = (microseconds / 1_000_000).rounded(.down)
        let whole = Date(timeIntervalSince1970: seconds).formatted(.iso8601)
        let fraction = Int(exactly: microseconds - seconds * 1_000_000) ?? 0
        guard fraction > 0 else { return whole }
        let digits = String(String(fraction + 1_000_000).dropFirst())
        return "\(whole.dropLast()).\(digits.hasSuffix("000") ? String(digits.prefix(3)) : digits)Z"
    }
}

extension JSONDates.Form {
    fileprivate var name: String {
        switch self {
        case .iso8601, .wholeSeconds: "ISO 8601"
        case .day: "yyyy-MM-dd"
        case .seconds: "seconds since 1970"
        case .milliseconds: "milliseconds since 1970"
        }
    }

    fileprivate func date(text: String?, number: Double?) -> Date? {
        switch self {
        case .iso8601, .wholeSeconds: text.flatMap { Date(iso8601: $0, withFractions: true) }
        case .day: text.flatMap { $0.utf8.count == 10 ? Date(iso8601: $0 + "T00:00:00Z", withFractions: false) : nil }
        case .seconds: number.map { Date(timeIntervalSince1970: $0) }
        case .milliseconds: number.map { Date(timeIntervalSince1970: $0 / 1000) }
        }
    }
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
        decoder.dateDecodingStrategy = dates.decoding
        return decoder
    }
}

extension RequestEncoder where Self == JSONEncoder {
    /// Creates a JSON encoder that sorts the keys, so that equal values have equal bodies.
    ///
    ///     $0.encoder = .json(keys: .snakeCase, dates: .iso8601)
    public static func json(
        keys: JSONEncoder.KeyEncodingStrategy = .useDefaultKeys, dates: JSONDates = .iso8601
    ) -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        encoder.keyEncodingStrategy = keys
        encoder.dateEncodingStrategy = dates.encoding
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
