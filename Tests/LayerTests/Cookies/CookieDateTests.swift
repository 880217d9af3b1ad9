import ErrandTestSupport
import Foundation
import Testing

@testable import Errand

@Suite("The dates of cookies (RFC 6265bis, 5.1.1)") struct CookieDateTests {
    @Test(
        "J1: a date in any form that servers write is read",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            "Sun, 6 Nov 1994 8:49:37", "06 nov 94 08:49:37", "1994 NOVEMBER 6 8:49:37", "08:49:37 6 Nov 1994 +0500",
            "Sun, 06 Nov 08:49:37 1994 GMT", "Sun Nov 06 1994 08:49:37 GMT-0500 (EST)", "6;Nov;94;08:49:37",
            "\t6/Nov/1994!08:49:37", "6th Novembre 1994th 08:49:37pm", "06-Nov-1994 08:49:37 06-Dec-2001 09:00:00",
        ])
    func forms(text: String) {
        #expect(CookieDate.parse(text)?.timeIntervalSince1970 == 784_111_777)
    }

    @Test(
        "J1: a year of two digits lies between 1970 and 2069, and none is before 1601",
        arguments: [("70", 1970), ("99", 1999), ("00", 2000), ("69", 2069), ("1601", 1601), ("9999", 9999)])
    func years(text: String, year: Int) {
        let date = HTTPDate.daysSince1970(year: year, month: 1, day: 1) * 86_400
        #expect(CookieDate.parse("1 Jan \(text) 00:00:00")?.timeIntervalSince1970 == Double(date))
    }

    @Test(
        "J1: what misses a part, or is no date, is none",
        arguments: [
            "", "0", "soon", "06 Nov 1994", "08:49:37", "06 Nov 08:49:37", "Nov 1994 08:49:37", "06 1994 08:49:37",
            "31 Feb 2024 00:00:00", "30 Feb 2024 00:00:00", "29 Feb 2023 00:00:00", "0 Jan 2024 00:00:00",
            "32 Jan 2024 00:00:00", "1 Jan 1600 00:00:00", "1 Jan 2024 24:00:00", "1 Jan 2024 00:60:00",
            "1 Jan 2024 00:00:60", "1 Jan 2024 0:0", "1 Jan 2024 000:00:00", "1 Jan 2024 00: 00:00",
            "1 Jan 12345 00:00:00", "1 Jan 2024 00:00:000", "1 Jan 2024 a0:00:00", "١ Jan 2024 00:00:00",
        ])
    func refused(text: String) {
        #expect(CookieDate.parse(text) == nil)
    }

    @Test("J1: whatever comes, a date is between 1601 and 9999, and is read again from what HTTP writes")
    func fuzz() throws {
        let words = [
            "Sun", "06", "Nov", "1994", "08:49:37", "GMT", ",", " ", "-", ":", "2", "99", "feb", "29", "\u{7F}", "é",
            "00:00:00", "1601", "31", "\0", "12345678901234567890", "+", "\t",
        ]
        var random = SeededRandom(1)
        var read = 0
        for _ in 0..<50_000 {
            let text = (0..<random.int(1...9)).map { _ in words.randomElement(using: &random) ?? "" }
            guard let date = CookieDate.parse(text.joined(separator: random.chance(70) ? " " : "")) else { continue }
            read += 1
            #expect((-11_644_473_600..<253_402_300_800).contains(date.timeIntervalSince1970))
            #expect(CookieDate.parse(HTTPDate.text(date)) == date)
        }
        #expect(read > 100)
    }
}
