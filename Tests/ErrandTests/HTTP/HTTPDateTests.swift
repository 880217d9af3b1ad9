import Foundation
import Testing

@testable import Errand

@Suite("HTTPDate: the three forms of RFC 9110 (5.6.7)")
struct HTTPDateTests {
    private static let now = Date(timeIntervalSince1970: 1_767_225_600)  // the beginning of 2026

    @Test(
        "C15: each form is read",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
            ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
            ("Fri, 31 Dec 1999 23:59:60 GMT", 946_684_800),
            ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ])
    func reads(text: String, seconds: Double) {
        #expect(HTTPDate.parse(text, now: Self.now)?.timeIntervalSince1970 == seconds)
    }

    @Test(
        "a year of two digits is at most fifty years ahead",
        arguments: [("76", 2076), ("77", 1977), ("25", 2025), ("00", 2000), ("99", 1999)])
    func twoDigits(year: String, expected: Int) throws {
        let date = try #require(HTTPDate.parse("Monday, 15-Jun-\(year) 12:00:00 GMT", now: Self.now))
        #expect(1970 + Int(date.timeIntervalSince1970 / 31_556_952) == expected)
    }

    @Test(
        "a string in none of these forms is nil",
        arguments: [
            "", " ", "0", "soon", "Sun", "Sun,", "1994-11-06T08:49:37Z",
            "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 +0000",
            "Sun, 06 Nov 1994 08:49:37 gmt", "Xyz, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nop 1994 08:49:37 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Thu, 29 Feb 2023 08:49:37 GMT",
            "Thu, 29 Feb 1900 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 06 Nov 1994 -8:49:37 GMT", "Sun, 06 Nov +994 08:49:37 GMT", "Sun, 06 Nov 199 08:49:37 GMT",
            "Sun, 06 Nov 99999999999999999999 08:49:37 GMT", "Sun Nov  6 08:49:37 94", "Sun Nov  6 08:49:37 ١٩٩٤",
            "Sun, 06 Nov 1994 08:49:37 GMT GMT",
        ])
    func refuses(text: String) {
        #expect(HTTPDate.parse(text, now: Self.now) == nil)
    }

    @Test(
        "a date is written in the first form, without its fraction",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (784_111_777.9, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
            (-0.5, "Wed, 31 Dec 1969 23:59:59 GMT"), (-86_400, "Wed, 31 Dec 1969 00:00:00 GMT"),
            (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"), (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"), (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (-62_135_596_800, "Mon, 01 Jan 0001 00:00:00 GMT"), (1e300, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (-1e300, "Sat, 01 Jan 0000 00:00:00 GMT"),
        ])
    func writes(seconds: Double, text: String) {
        #expect(HTTPDate.text(Date(timeIntervalSince1970: seconds)) == text)
    }

    @Test("what is written is read again, from the first century to the hundredth")
    func writesAndReads() {
        for day in stride(from: -700_000, through: 2_900_000, by: 97) {
            let date = Date(timeIntervalSince1970: Double(day) * 86_400 + Double((day % 40 + 40) * 1049))
            let text = HTTPDate.text(date)
            #expect(HTTPDate.parse(text, now: Self.now) == date)
        }
    }
}
