#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A parser for the three date formats of HTTP (RFC 9110, 5.6.7). It uses no formatter, which would add a dependency on
/// ICU.
enum HTTPDate {
    /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`. Returns
    /// `nil` for anything else.
    static func parse(_ text: String, now: Date) -> Date? {
        let parts = text.split { $0 == " " || $0 == "," || $0 == "-" }
        guard let weekday = parts.first, isWeekday(weekday) else { return nil }
        switch parts.count {
        case 6 where parts[5] == "GMT":
            guard let year = year(parts[3], now: now) else { return nil }
            return date(day: parts[1], month: parts[2], year: year, time: parts[4])
        case 5:
            guard parts[4].count == 4, let year = number(parts[4]) else { return nil }
            return date(day: parts[2], month: parts[1], year: year, time: parts[3])
        default: return nil
        }
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

    private static func isWeekday(_ text: Substring) -> Bool {
        weekdays.contains { text.hasPrefix($0) }
    }

    private static func number(_ text: Substring) -> Int? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int(text)
    }

    /// Returns the full year. A two-digit year that would be more than fifty years ahead belongs to the past century.
    private static func year(_ text: Substring, now: Date) -> Int? {
        guard let value = number(text) else { return nil }
        guard text.count == 2 else { return text.count == 4 ? value : nil }
        let thisYear = 1970 + Int(now.timeIntervalSince1970 / 31_556_952)
        let inThisCentury = thisYear / 100 * 100 + value
        return inThisCentury > thisYear + 50 ? inThisCentury - 100 : inThisCentury
    }

    private static func date(day: Substring, month: Substring, year: Int, time: Substring) -> Date? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false)
        guard let day = number(day), let month = months.firstIndex(of: String(month)), clock.count == 3,
            clock.allSatisfy({ $0.count == 2 }),
            let hour = number(clock[0]), let minute = number(clock[1]), let second = number(clock[2]),
            (1...daysIn(month: month, of: year)).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        let days = daysSince1970(year: year, month: month + 1, day: day)
        return Date(timeIntervalSince1970: Double(((days * 24 + hour) * 60 + minute) * 60 + second))
    }

    private static func daysIn(month: Int, of year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 1 && isLeap ? 29 : [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month]
    }

    /// Returns the days since 1970 in the Gregorian calendar, counted in eras of 400 years that begin in March, so that
    /// a leap day comes last.
    private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = shifted / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
