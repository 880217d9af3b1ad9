#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The dates of HTTP (RFC 9110, 5.6.7), read and written without a formatter, which would add a dependency on ICU.
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    /// No date is longer, whatever its spaces.
    static let longest = 64
    /// The first and the last second of the years that have four digits.
    private static let writable = -62_167_219_200.0...253_402_300_799

    /// Parses `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`. Returns
    /// `nil` for anything else.
    static func parse(_ text: String, now: Date) -> Date? {
        guard text.utf8.count <= longest else { return nil }
        var parser = FieldParser(text)
        let weekday = parser.word()
        guard weekdays.contains(where: { weekday.hasPrefix($0) }) else { return nil }
        let second = parser.word()
        let isOldest = second.utf8.first.map(FieldParser.isDigit) != true
        let (day, month) = isOldest ? (parser.word(), second) : (second, parser.word())
        let (third, fourth) = (parser.word(), parser.word())
        guard isOldest || parser.word() == "GMT", parser.word().isEmpty else { return nil }
        let (year, time) = isOldest ? (fourth, third) : (third, fourth)
        guard !isOldest || year.utf8.count == 4, let year = Self.year(year, now: now) else { return nil }
        return date(day: day, month: month, year: year, time: time)
    }

    /// Returns the date as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`, without the fraction of a second. A date
    /// whose year has not four digits becomes the nearest that has.
    static func text(_ date: Date) -> String {
        let seconds = Int(min(max(date.timeIntervalSince1970.rounded(.down), writable.lowerBound), writable.upperBound))
        let days = seconds >= 0 ? seconds / 86_400 : (seconds + 1) / 86_400 - 1
        let (year, month, day) = yearMonthDay(daysSince1970: days)
        let time = seconds - days * 86_400
        func digits(_ number: Int, _ count: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: count - text.utf8.count) + text
        }
        // The first day of 1970 was a Thursday.
        let weekday = weekdays[((days + 4) % 7 + 7) % 7]
        let clock = [time / 3600, time / 60 % 60, time % 60].map { digits($0, 2) }.joined(separator: ":")
        return "\(weekday), \(digits(day, 2)) \(months[month - 1]) \(digits(year, 4)) \(clock) GMT"
    }

    private static func number(_ text: Substring) -> Int? {
        text.utf8.allSatisfy(FieldParser.isDigit) ? Int(text) : nil
    }

    /// Returns the full year. A two-digit year that would be more than fifty years ahead belongs to the past century.
    private static func year(_ text: Substring, now: Date) -> Int? {
        guard let value = number(text) else { return nil }
        guard text.utf8.count == 2 else { return text.utf8.count == 4 ? value : nil }
        let thisYear = 1970 + Int(now.timeIntervalSince1970 / 31_556_952)
        let inThisCentury = thisYear / 100 * 100 + value
        return inThisCentury > thisYear + 50 ? inThisCentury - 100 : inThisCentury
    }

    private static func date(day: Substring, month: Substring, year: Int, time: Substring) -> Date? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false)
        guard let day = number(day), let month = months.firstIndex(where: { $0 == month }), clock.count == 3,
            clock.allSatisfy({ $0.utf8.count == 2 }),
            let hour = number(clock[0]), let minute = number(clock[1]), let second = number(clock[2]),
            (1...daysIn(month: month, of: year)).contains(day), hour < 24, minute < 60, second <= 60
        else { return nil }
        let days = daysSince1970(year: year, month: month + 1, day: day)
        return Date(timeIntervalSince1970: Double(((days * 24 + hour) * 60 + minute) * 60 + second))
    }

    /// Returns the number of days of a month, which is 0 for January.
    static func daysIn(month: Int, of year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return month == 1 && isLeap ? 29 : [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month]
    }

    /// Returns the days since 1970 in the Gregorian calendar, counted in eras of 400 years that begin in March, so that
    /// a leap day comes last.
    static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
    /// Undoes `daysSince1970`, for years that are not negative.
    private static func yearMonthDay(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let march = (5 * dayOfYear + 2) / 153
        let month = march < 10 ? march + 3 : march - 9
        let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * march + 2) / 5 + 1)
    }
}

extension FieldParser {
    /// Reads up to the next space, comma or hyphen, which separate the parts of a date; empty at the end.
    fileprivate mutating func word() -> Substring {
        func isSeparator(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x2C || byte == 0x2D }
        skip(while: isSeparator)
        return take { !isSeparator($0) }
    }
}
