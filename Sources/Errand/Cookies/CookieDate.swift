#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The dates of cookies (RFC 6265bis, 5.1.1): a time, a day, a month and a year, in nearly any order and between nearly
/// any separators. Servers write them in many ways, and every browser reads all of these.
enum CookieDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    /// Returns the date; `nil` if a part is missing, or if there is no such date.
    static func parse(_ text: some StringProtocol) -> Date? {
        var (time, day, month, year): ([Int]?, Int?, Int?, Int?)
        for token in Substring(text).utf8.split(whereSeparator: isSeparator) {
            if time == nil, let found = Self.time(token) {
                time = found
            } else if day == nil, let found = number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = Self.month(token) {
                month = found
            } else if year == nil, let found = number(token, digits: 2...4) {
                year = fullYear(found)
            }
        }
        guard let time, let day, let month, let year, year >= 1601, time[0] < 24, time[1] < 60, time[2] < 60,
            (1...HTTPDate.daysIn(month: month, of: year)).contains(day)
        else { return nil }
        let days = HTTPDate.daysSince1970(year: year, month: month + 1, day: day)
        return Date(timeIntervalSince1970: Double(((days * 24 + time[0]) * 60 + time[1]) * 60 + time[2]))
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    /// Reads `8:04:19`, and whatever follows it but another digit.
    private static func time(_ token: Substring.UTF8View) -> [Int]? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, isShortNumber(parts[0]), isShortNumber(parts[1]),
            let hour = number(parts[0], digits: 1...2), let minute = number(parts[1], digits: 1...2),
            let second = number(parts[2], digits: 1...2)
        else { return nil }
        return [hour, minute, second]
    }

    private static func isShortNumber(_ text: Substring.UTF8View) -> Bool {
        (1...2).contains(text.count) && text.allSatisfy(FieldParser.isDigit)
    }

    /// Reads the digits at the beginning; `nil` if their number is another.
    private static func number(_ token: Substring.UTF8View, digits: ClosedRange<Int>) -> Int? {
        let number = token.prefix(digits.upperBound + 1).prefix(while: FieldParser.isDigit)
        guard digits.contains(number.count) else { return nil }
        return number.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// Returns the number of the month that the first three letters name; 0 for January.
    private static func month(_ token: Substring.UTF8View) -> Int? {
        let letters = token.prefix(3).map(\.asciiLowercased)
        return months.firstIndex { $0.utf8.elementsEqual(letters) }
    }

    /// A year of two digits lies between 1970 and 2069.
    private static func fullYear(_ year: Int) -> Int {
        switch year {
        case 0..<70: year + 2000
        case 70..<100: year + 1900
        default: year
        }
    }
}
